"""TGI (text-generation-inference): Python and Rust tables out of its source tree.

Model types are the values ``type`` of one enum of dicts; whatever is not among them runs through
Transformers. Choices of the launcher are Rust enums, spelled in kebab-case unless renamed.
"""

from __future__ import annotations

import ast
import re

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.logs import TGI, add_signatures
from seatrial.facts.extract.pyast import Unresolved, statements
from seatrial.facts.extract.textscan import Text

NAME = "tgi"
VERSION = 2

_MODELS = "server/text_generation_server/models/__init__.py"
_LAUNCHER = "launcher/src/main.rs"
_SERVER = "router/src/server.rs"
_DOCKER = "Dockerfile"


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: model types and quantisation."""
    source = findings.source
    rust = [
        n
        for n in source.glob("router/src/*.rs", "backends/v2/*.rs", "backends/v3/*.rs")
        if "/tests/" not in n
    ]
    source.fetch([_MODELS, _LAUNCHER, _SERVER, _DOCKER, *rust])
    findings.step(
        "architecture",
        lambda: model_types(findings),
        floor=Floor(20, ("llama", "mistral")),
        looked_at=[_MODELS],
    )
    findings.step(
        "quantization",
        lambda: choices(findings, "Quantization", "quantization"),
        floor=Floor(6, ("awq", "gptq", "fp8")),
        looked_at=[_LAUNCHER],
    )
    findings.step(
        "kv_cache_dtype",
        lambda: choices(findings, "KVCacheDtype", "kv_cache_dtype"),
        floor=Floor(1),
        looked_at=[_LAUNCHER],
    )
    if deep:
        findings.step("route", lambda: routes(findings), floor=Floor(8, ("/generate",)))
        findings.step("metric", lambda: metrics(findings, rust), floor=Floor(15))
        findings.step("flag", lambda: flags(findings), floor=Floor(30, ("--max-input-tokens",)))
        findings.step("cuda_targets", lambda: targets(findings), floor=Floor(1))
        findings.step("log_signature", lambda: add_signatures(findings, TGI))


def model_types(findings: Findings) -> None:
    """``class ModelType(enum.Enum)``: members are dicts with ``type`` and ``name``."""
    module = findings.source.module(_MODELS)
    place = module.classes.get("ModelType") if module else None
    if module is None or place is None:
        raise Missing(f"ModelType in {_MODELS}")
    for node in statements(place.body):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        try:
            fields = {i.key: i for i in module.entries(node.value)}
        except Unresolved:
            continue
        if "type" in fields:
            findings.add(
                "architecture",
                str(fields["type"].value),
                "native",
                _MODELS,
                node.lineno,
                detail={
                    "name": str(fields["name"].value) if "name" in fields else None,
                    "multimodal": fields["multimodal"].value if "multimodal" in fields else None,
                    "is": "config.json model_type",
                },
            )
    findings.add(
        "architecture",
        "*",
        "fallback",
        _MODELS,
        None,
        state="conditional",
        condition="any other model type runs through Transformers, without the optimised kernels",
    )


def _rust(findings: Findings, path: str) -> Text:
    if not findings.source.has(path):
        raise Missing(path)
    return Text(path, findings.source.text(path))


def choices(findings: Findings, enum: str, predicate: str) -> None:
    """Variants of a Rust enum as the command line spells them."""
    text = _rust(findings, _LAUNCHER)
    inside = text.block(rf"enum {enum} \{{")
    if inside is None:
        raise Missing(f"enum {enum} in {_LAUNCHER}")
    pattern = r"(?P<attributes>(?:#\[[^\]]*\]\s*)*)(?P<name>[A-Z]\w*)\s*,"
    for hit in text.find(pattern, *inside):
        renamed = re.search(r'(?:name|rename)\s*=\s*"([^"]+)"', hit["attributes"])
        subject = renamed[1] if renamed else kebab(hit["name"])
        findings.add(predicate, subject, "native", _LAUNCHER, hit.line_of("name"), kind="cli")


def kebab(name: str) -> str:
    """``BitsandbytesNf4`` -> bitsandbytes-nf4."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def routes(findings: Findings) -> None:
    """``.route("/generate", post(generate))``; those of a cargo feature are conditional."""
    text = _rust(findings, _SERVER)
    features = [
        (h[1], text.block(re.escape(text.code[h.start : h.end])))
        for h in text.find(r'#\[cfg\(feature = "(\w+)"\)\]\s*\{')
    ]
    for hit in text.find(r'\.route\(\s*"(/[^"]*)"\s*,\s*(get|post|put|delete)\('):
        inside = [f for f, b in features if b is not None and b[0] <= hit.start < b[1]]
        findings.add(
            "route",
            hit[1],
            [hit[2].upper()],
            _SERVER,
            hit.line,
            state="conditional" if inside else "extracted",
            condition=f"built with the feature {inside[0]}" if inside else None,
        )


def metrics(findings: Findings, paths: list[str]) -> None:
    """``metrics::counter!("tgi_request_count")``."""
    for path in paths:
        text = Text(path, findings.source.text(path))
        for hit in text.find(r'metrics::(?:describe_)?(counter|gauge|histogram)!\(\s*"(tgi_\w+)"'):
            findings.add("metric", hit[2], hit[1], path, hit.line)


def flags(findings: Findings) -> None:
    """Fields of the launcher's ``struct Args`` with a ``#[clap(... long ...)]`` attribute."""
    text = _rust(findings, _LAUNCHER)
    inside = text.block(r"struct Args \{")
    if inside is None:
        raise Missing(f"struct Args in {_LAUNCHER}")
    pattern = r"#\[clap\((?P<clap>[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub )?(?P<name>[a-z]\w*)"
    pattern += r"\s*:\s*(?P<type>[\w<>:]+)"
    for hit in text.find(pattern, *inside):
        if not re.search(r"\blong\b", hit["clap"]):
            continue
        named = re.search(r'long\s*=\s*"([^"]+)"', hit["clap"])
        default = re.search(r'default_value(?:_t)?\s*=\s*("[^"]*"|[^,)\s]+)', hit["clap"])
        off = False if hit["type"] == "bool" else None  # clap: a switch is off, an Option none
        value = _default(default[1]) if default else off
        findings.add(
            "flag",
            "--" + (named[1] if named else hit["name"].replace("_", "-")),
            value,
            _LAUNCHER,
            hit.line_of("name"),
            kind="cli",
            detail={"env": bool(re.search(r"\benv\b", hit["clap"]))},
        )


def _default(text: str) -> object:
    plain = text.strip('"')
    if re.fullmatch(r"-?\d+", plain):
        return int(plain)
    if re.fullmatch(r"-?\d+\.\d+", plain):
        return float(plain)
    return {"true": True, "false": False}.get(plain, plain)


def targets(findings: Findings) -> None:
    """``ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"`` of the image; a ``RUN`` is one kernel's."""
    text = _rust(findings, _DOCKER)
    for hit in text.find(r'^ENV TORCH_CUDA_ARCH_LIST="?([0-9.;+PTX ]+)"?'):
        words = re.split(r"[; ]+", hit[1].strip())
        numbers = [int(w.partition("+")[0].replace(".", "")) for w in words if w]
        ptx = [int(w.partition("+")[0].replace(".", "")) for w in words if w.endswith("+PTX")]
        findings.add(
            "cuda_targets",
            "image",
            numbers,
            _DOCKER,
            hit.line,
            condition="the official image",
            detail={"ptx": ptx},
        )
