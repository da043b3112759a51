"""Ollama: Go tables out of its source tree.

Since 0.30 it runs GGUF through llama.cpp's own server at a pinned build, and safetensors through
its MLX runner; from 0.6 to 0.24 many families ran on its own Go engine. So "does it run X" has
three answers, kept as layers: ``llama.cpp`` (import by conversion), ``mlx`` and ``go``.
"""

from __future__ import annotations

import json
import re

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.logs import OLLAMA, add_signatures
from seatrial.facts.extract.textscan import Text

NAME = "ollama"
VERSION = 2

_CONVERT = "convert/convert.go"
_ROUTES = "server/routes.go"
_ENV = "envconfig/config.go"
_GGML = ("fs/ggml/ggml.go", "llm/ggml.go")
_PRESETS = ("llama/server/CMakePresets.json", "CMakePresets.json")


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: architectures and the engines it is built on."""
    source = findings.source
    mlx = [n for n in source.glob("x/*.go") if "/models/" in n and not n.endswith("_test.go")]
    own = [n for n in source.glob("model/models/*.go") if not n.endswith("_test.go")]
    source.fetch([_CONVERT, _ROUTES, _ENV, *_GGML, *_PRESETS, *mlx, *own])
    findings.step(
        "architecture",
        lambda: architectures(findings, mlx, own),
        floor=Floor(15, ("LlamaForCausalLM",)),
        looked_at=[_CONVERT, "x/models/", "model/models/"],
    )
    findings.step("kv_cache_dtype", lambda: kv_types(findings), floor=Floor(3, ("f16", "q8_0")))
    if pins := [n for n in ("LLAMA_CPP_VERSION", "MLX_VERSION") if source.has(n)]:
        findings.step("requires", lambda: _pins(findings, pins))
    if deep:
        findings.step("route", lambda: routes(findings), floor=Floor(15, ("/api/generate",)))
        findings.step("flag", lambda: settings(findings), floor=Floor(8, ("OLLAMA_NUM_PARALLEL",)))
        findings.step("cuda_targets", lambda: targets(findings), floor=Floor(1))
        if source.has("llm/llama_server.go"):
            findings.step("log_signature", lambda: add_signatures(findings, OLLAMA))


def _text(findings: Findings, path: str) -> Text:
    if not findings.source.has(path):
        raise Missing(path)
    return Text(path, findings.source.text(path))


def architectures(findings: Findings, mlx: list[str], own: list[str]) -> None:
    """Cases of the converter's switch; what the MLX runner and the Go engine register."""
    text = _text(findings, _CONVERT)
    inside = text.block(r"switch p\.Architectures\[0\] \{")
    for hit in text.find(r"case (?P<names>[^:]*):", *(inside or (0, 0))):
        for name in re.finditer(r'"([^"]+)"', hit["names"]):
            line = hit.line_of("names") + hit["names"].count("\n", 0, name.start())
            findings.add(
                "architecture",
                name[1],
                "native",
                _CONVERT,
                line,
                condition="safetensors are imported by conversion to GGUF",
                layer="llama.cpp",
            )
    for paths, layer, pattern in (
        (mlx, "mlx", r'base\.Register\("([^"]+)"'),
        (own, "go", r'model\.Register\("([^"]+)"'),
    ):
        for path in paths:
            for hit in Text(path, findings.source.text(path)).find(pattern):
                findings.add("architecture", hit[1], "native", path, hit.line, layer=layer)


def kv_types(findings: Findings) -> None:
    """What ``OLLAMA_KV_CACHE_TYPE`` may be: the tests inside ``SupportsKVCacheType``."""
    for path in (p for p in _GGML if findings.source.has(p)):
        text = _text(findings, path)
        inside = text.block(r"\) SupportsKVCacheType\(cacheType string\) bool \{")
        for hit in text.find(r'"(\w+)"', *(inside or (0, 0))):
            findings.add("kv_cache_dtype", hit[1], "native", path, hit.line)
        if inside:
            return
    raise Missing("SupportsKVCacheType")


def _pins(findings: Findings, paths: list[str]) -> None:
    """The llama.cpp build and MLX commit it is built on."""
    for path in paths:
        name = {"LLAMA_CPP_VERSION": "llama.cpp", "MLX_VERSION": "mlx"}[path]
        findings.add("requires", name, findings.source.text(path).strip()[:64], path, 1)


def routes(findings: Findings) -> None:
    """``r.GET("/api/tags", ...)``."""
    text = _text(findings, _ROUTES)
    for hit in text.find(r'\br\.(GET|POST|DELETE|HEAD|PUT|PATCH|Any)\(\s*"(/[^"]*)"'):
        findings.add("route", hit[2], [hit[1].upper()], _ROUTES, hit.line)


_DECLARED = re.compile(
    r"=\s*(?P<kind>Bool|BoolWithDefault|String|Uint|Uint64)"
    r'\("(?P<name>(?:OLLAMA|LLAMA)_\w+)"(?:,\s*(?P<default>[^)]*))?\)'
)


def settings(findings: Findings) -> None:
    """Environment variables: those listed for ``ollama serve --help``, and all declared ones.

    The default stands in the declaration: ``Bool`` is off, ``String`` empty, ``Uint`` says its
    number. Of the others (``Host()``, ``BoolWithDefault``) it is computed.
    """
    text = _text(findings, _ENV)
    declared = {m["name"]: m for m in _DECLARED.finditer(text.code)}
    lines = {m["name"]: text.line(m.start()) for m in declared.values()}
    for hit in text.find(r'"((?:OLLAMA|LLAMA)_\w+)":\s*\{'):
        lines[hit[1]] = hit.line
    for name, line in lines.items():
        value, computed = _declared_default(declared.get(name))
        findings.add(
            "flag",
            name,
            value,
            _ENV,
            line,
            state="unresolved" if computed else "extracted",
            kind="cli",
            detail={"env": True, "default_text": computed},
        )


def _declared_default(found: re.Match[str] | None) -> tuple[object, str | None]:
    """(value, None), or (None, why it is not known)."""
    if found is None:
        return None, "computed by its own function"
    if found["kind"] == "Bool":
        return False, None
    if found["kind"] == "String":
        return "", None
    raw = (found["default"] or "").strip()
    return (int(raw), None) if raw.isdigit() else (None, raw or found["kind"])


def targets(findings: Findings) -> None:
    """``CMAKE_CUDA_ARCHITECTURES`` and ``AMDGPU_TARGETS`` of each CMake preset."""
    path = next((p for p in _PRESETS if findings.source.has(p)), None)
    if path is None:
        raise Missing(_PRESETS[0])
    raw = findings.source.text(path)
    try:
        presets = json.loads(raw).get("configurePresets", [])
    except (ValueError, AttributeError) as error:
        raise Missing(f"{path}: {error}") from error
    text = Text(path, raw)
    for preset in presets:
        variables = preset.get("cacheVariables") or {}
        name = str(preset.get("name", ""))
        found = next(text.find(rf'"name":\s*"{re.escape(name)}"'), None)
        line = found.line if found else None
        if archs := variables.get("CMAKE_CUDA_ARCHITECTURES"):
            words = re.findall(r"(\d+)[a-z]?(-real|-virtual)?", str(archs))
            findings.add(
                "cuda_targets",
                name,
                sorted({int(n) for n, kind in words if kind != "-virtual"}),
                path,
                line,
                condition=f"preset {name}",
                detail={"ptx": sorted({int(n) for n, kind in words if kind != "-real"})},
            )
        if amd := variables.get("AMDGPU_TARGETS"):
            targets = sorted({t.partition(":")[0] for t in str(amd).split(";")})
            findings.add("platform", f"amd:{name}", targets, path, line)
