"""LMDeploy: its two engines apart, as layers ``turbomind`` and ``pytorch``.

TurboMind's architectures are the keywords of one ``dict(...)`` call; the PyTorch engine's are
keys of repeated ``MODULE_MAP.update({...})``. Weight formats were classes in
turbomind/deploy until 0.13 and are classes with a ``name`` since 0.14.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.flags import add_argparse, flag_choices
from seatrial.facts.extract.logs import LMDEPLOY, add_signatures
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.metrics import add_metrics
from seatrial.facts.extract.pyast import Item, Module, statements, text_of
from seatrial.facts.extract.routes import add_routes

NAME = "lmdeploy"
VERSION = 2

_TURBOMIND = "lmdeploy/turbomind/supported_models.py"
_PYTORCH = "lmdeploy/pytorch/models/module_map.py"
_CLI = "lmdeploy/cli/utils.py"
_MESSAGES = "lmdeploy/messages.py"
_FORMATS = "lmdeploy/turbomind/weight_format.py"
_DISAGG = "lmdeploy/pytorch/disagg/config.py"
_CONNECTORS = "lmdeploy/pytorch/kv_connector/factory.py"


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: architectures, formats and requirements."""
    source = findings.source
    source.fetch([_TURBOMIND, _PYTORCH, _CLI, _MESSAGES, _FORMATS, _DISAGG, _CONNECTORS])
    findings.step(
        "architecture",
        lambda: architectures(findings),
        floor=Floor(30, ("LlamaForCausalLM", "Qwen2ForCausalLM")),
        looked_at=[_TURBOMIND, _PYTORCH],
    )
    findings.step(
        "quantization",
        lambda: formats(findings),
        floor=Floor(2, ("awq",)),
        looked_at=[_CLI, _FORMATS],
    )
    findings.step(
        "kv_cache_dtype",
        lambda: kv_policies(findings),
        floor=Floor(2),
        looked_at=[_MESSAGES, _CLI],
    )
    findings.step("requires", lambda: add_metadata(findings), floor=Floor(5, ("torch",)))
    if deep:
        deeper(findings)


def deeper(findings: Findings) -> None:
    """Connectors of PD disaggregation and speculative methods, both of the PyTorch engine."""
    if findings.source.has(_DISAGG):
        findings.step("kv_connector", lambda: connectors(findings), looked_at=[_DISAGG])
    if paths := findings.source.glob("lmdeploy/pytorch/spec_decode/proposers/*.py"):
        findings.step(
            "speculative_method", lambda: speculative(findings, paths), looked_at=paths[:1]
        )
    surface(findings)


def surface(findings: Findings) -> None:
    """Flags, routes, metrics."""
    source = findings.source
    cli = [_CLI, *source.glob("lmdeploy/cli/serve.py")]
    server = source.glob("lmdeploy/serve/openai/*.py", "lmdeploy/serve/anthropic/*.py")
    metrics = source.glob("lmdeploy/metrics/*.py")
    source.fetch([*cli, *server, *metrics])

    def flags() -> None:
        for path in cli:
            add_argparse(findings, path, callers=cli[1:])

    findings.step(
        "flag",
        flags,
        floor=Floor(30, ("--model-format", "--quant-policy")),
        looked_at=cli,
    )
    findings.step(
        "route",
        lambda: add_routes(findings, server),
        floor=Floor(6, ("/v1/chat/completions", "/health")),
        looked_at=["lmdeploy/serve/openai/"],
    )
    findings.step("log_signature", lambda: add_signatures(findings, LMDEPLOY))
    if metrics:  # there were none before 0.10
        findings.step(
            "metric",
            lambda: add_metrics(findings, metrics, "lmdeploy:"),
            floor=Floor(8, ("lmdeploy:num_requests_running",)),
            looked_at=metrics[:1],
        )


def architectures(findings: Findings) -> None:
    """Both engines' tables, and the PyTorch engine's removed ones."""
    module = findings.need(_TURBOMIND)
    for item in module.entries(_assigned(module, "SUPPORTED_ARCHS")):
        findings.add(
            "architecture",
            item.key,
            "native",
            _TURBOMIND,
            item.line,
            layer="turbomind",
            detail={"module": str(item.value)},
        )
    module = findings.need(_PYTORCH)
    for item in _updates(module, "MODULE_MAP"):
        findings.add("architecture", item.key, "native", _PYTORCH, item.line, layer="pytorch")
    removed = module.assigned.get("REMOVED_MODEL_MAP")
    for item in module.entries(removed) if removed is not None else ():
        findings.add(
            "architecture",
            item.key,
            "removed",
            _PYTORCH,
            item.line,
            layer="pytorch",
            detail={"name": str(item.value)},
        )


def _updates(module: Module, name: str) -> list[Item]:
    """Entries of ``name.update({...})`` calls and of the dict itself, by first mention."""
    found: dict[str, Item] = {}
    for node in statements(module.tree.body):
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and text_of(call.func) == f"{name}.update" and call.args:
            for item in module.entries(call.args[0]):
                found.setdefault(item.key, item)
    return list(found.values())


def formats(findings: Findings) -> None:
    """Choices of ``--model-format``, and weight-format classes where there are such."""
    module = findings.need(_CLI)
    for text, line in flag_choices(module, "--model-format"):
        predicate = "weight_format" if text == "hf" else "quantization"
        findings.add(predicate, text, "native", _CLI, line, layer="turbomind", kind="cli")
    formats_file = findings.source.module(_FORMATS)
    for cls in formats_file.classes.values() if formats_file else ():
        for node in statements(cls.body):
            value = node.value if isinstance(node, ast.Assign) else None
            is_name = isinstance(node, ast.Assign) and text_of(node.targets[0]) == "name"
            if is_name and isinstance(value, ast.Constant) and value.value != "trivial":
                findings.add(
                    "quantization",
                    str(value.value),
                    "native",
                    _FORMATS,
                    node.lineno,
                    layer="turbomind",
                    detail={"class": cls.name},
                )


def kv_policies(findings: Findings) -> None:
    """Members of ``QuantPolicy``; before it, the choices of ``--quant-policy``."""
    module = findings.need(_MESSAGES)
    place = module.classes.get("QuantPolicy")
    if place is not None:
        for member in statements(place.body):
            if isinstance(member, ast.Assign) and isinstance(member.value, ast.Constant):
                findings.add(
                    "kv_cache_dtype",
                    text_of(member.targets[0]).lower(),
                    member.value.value,
                    _MESSAGES,
                    member.lineno,
                    detail={"flag": "--quant-policy"},
                )
        return
    for text, line in flag_choices(findings.need(_CLI), "--quant-policy"):
        findings.add(
            "kv_cache_dtype",
            _POLICY.get(text, f"quant_policy_{text}"),
            int(text) if text.isdigit() else text,
            _CLI,
            line,
            kind="cli",
            detail={"flag": "--quant-policy"},
        )


_POLICY = {"0": "none", "4": "int4", "8": "int8"}
"""What the numbers mean, as the flag's own help says: 0 no quantisation, 4 and 8 bits."""


def connectors(findings: Findings) -> None:
    """Members of ``MigrationBackend``, and classes registered in the connector factory."""
    module = findings.need(_DISAGG)
    place = module.classes.get("MigrationBackend")
    for node in statements(place.body) if place else ():
        if isinstance(node, ast.Assign):
            findings.add(
                "kv_connector",
                text_of(node.targets[0]),
                "native",
                _DISAGG,
                node.lineno,
                layer="pytorch",
            )
    factory = findings.source.module(_CONNECTORS)
    for text in ast.walk(factory.tree) if factory else ():
        if isinstance(text, ast.Constant) and str(text.value).endswith("Connector"):
            findings.add(
                "kv_connector",
                str(text.value),
                "native",
                _CONNECTORS,
                text.lineno,
                layer="pytorch",
            )


def speculative(findings: Findings, paths: list[str]) -> None:
    """``@SPEC_PROPOSERS.register_module(name="...")``."""
    findings.source.fetch(paths)
    for path in paths:
        module = findings.source.module(path)
        for place in module.classes.values() if module else ():
            for decorator in place.decorator_list:
                if not isinstance(decorator, ast.Call):
                    continue
                for keyword in decorator.keywords:
                    if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                        findings.add(
                            "speculative_method",
                            str(keyword.value.value),
                            "native",
                            path,
                            decorator.lineno,
                            layer="pytorch",
                        )


def _assigned(module: Module, name: str) -> ast.expr:
    node = module.assigned.get(name)
    if node is None:
        raise Missing(f"no {name} in {module.path}")
    return node
