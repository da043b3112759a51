"""SGLang: tables out of its wheel.

The class name in a module's ``EntryClass`` is the architecture. Quantisation methods are a dict
that grows under platform conditions (``if is_npu(): ....update({...})``); the condition is kept.
The command line moved twice in 2026: ``add_argument`` calls in server_args.py (0.5.9), annotated
fields there (0.5.15), annotated fields in a package of their own (0.5.23).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from seatrial.facts.extract.conditions import on_cuda, platforms_in
from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.flags import add_argparse, add_flag, shown
from seatrial.facts.extract.logs import SGLANG, add_signatures
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.metrics import add_metrics
from seatrial.facts.extract.pyast import Item, Module, bound_name, statements, text_of
from seatrial.facts.extract.quantmethods import add_method
from seatrial.facts.extract.routes import add_routes

NAME = "sglang"
VERSION = 2

_MODELS = "sglang/srt/models/*.py"
_QUANT = "sglang/srt/layers/quantization/__init__.py"
_CHOICES = "sglang/srt/arg_groups/choices.py"
_ARGS = "sglang/srt/server_args.py"
_ATTENTION = "sglang/srt/layers/attention/attention_registry.py"
_ENTRY = re.compile(
    r"^[ \t]*EntryClass\s*(?::[^=\n]+)?=\s*(?P<names>\[[^\]]*\]|\([^)]*\)|[\w.]+)", re.MULTILINE
)
_SPEC = "sglang/srt/speculative/spec_info.py"


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: architectures, methods, dtypes and requirements."""
    source = findings.source
    models = source.glob(_MODELS)
    quant = source.glob("sglang/srt/layers/quantization/*.py")
    source.fetch([*models, *quant, _CHOICES, _ARGS, _ATTENTION, _SPEC])
    findings.step(
        "architecture",
        lambda: architectures(findings, models),
        floor=Floor(80, ("LlamaForCausalLM", "Qwen2ForCausalLM", "MixtralForCausalLM")),
        looked_at=[_MODELS],
    )
    findings.step(
        "quantization",
        lambda: quantization(findings),
        floor=Floor(10, ("fp8", "awq")),
        looked_at=[_QUANT],
    )
    findings.step(
        "kv_cache_dtype",
        lambda: field_choices(findings, "kv_cache_dtype", "kv_cache_dtype"),
        floor=Floor(3, ("auto", "fp8_e5m2")),
        looked_at=[_ARGS, "sglang/srt/arg_groups/fields/model.py"],
    )
    findings.step("requires", lambda: add_metadata(findings), floor=Floor(5))
    if deep:
        deeper(findings)


def deeper(findings: Findings) -> None:
    """Backends and methods that are named in lists of choices, registries and enums."""
    for predicate, names, floor in (
        ("structured_output_backend", ("GRAMMAR_BACKEND_CHOICES",), Floor(2, ("xgrammar",))),
        ("kv_connector", ("DISAGG_TRANSFER_BACKEND_CHOICES",), Floor(2, ("mooncake",))),
        ("weight_format", ("LOAD_FORMAT_CHOICES",), Floor(4, ("safetensors",))),
    ):
        _listed(findings, predicate, names, floor)
    findings.step(
        "attention_backend",
        lambda: attention_backends(findings),
        floor=Floor(5, ("triton",)),
        looked_at=[_ATTENTION],
    )
    findings.step(
        "speculative_method",
        lambda: speculative(findings),
        floor=Floor(3, ("EAGLE",)),
        looked_at=[_SPEC],
    )
    server = findings.source.glob("sglang/srt/entrypoints/*.py", "sglang/srt/utils/common.py")
    findings.step(
        "route",
        lambda: add_routes(findings, server),
        floor=Floor(20, ("/v1/chat/completions", "/health")),
        looked_at=["sglang/srt/entrypoints/http_server.py"],
    )
    findings.step("log_signature", lambda: add_signatures(findings, SGLANG), floor=Floor(2))
    collectors = findings.source.glob("sglang/srt/observability/*.py", "sglang/srt/metrics/*.py")
    findings.step(
        "metric",
        lambda: add_metrics(findings, collectors, "sglang:"),
        floor=Floor(30, ("sglang:num_running_reqs",)),
        looked_at=collectors[:2],
    )
    findings.step(
        "flag",
        lambda: flags(findings),
        floor=Floor(150, ("--tp-size", "--port")),
        looked_at=[_ARGS],
    )


def flags(findings: Findings) -> None:
    """``add_argument`` calls (to 0.5.14), or annotated fields with an ``Arg(...)`` (since)."""
    add_argparse(findings, _ARGS)
    paths = [*findings.source.glob("sglang/srt/arg_groups/fields/*.py"), _ARGS]
    for path in paths:
        module = findings.source.module(path)
        for place in module.classes.values() if module else ():
            for node in statements(place.body):
                if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    _flag(findings, module, node)


def _flag(findings: Findings, module: Module | None, node: ast.AnnAssign) -> None:
    """One field ``name: A[type, "help" or Arg(...)] = default``; other fields are no flags."""
    annotation = node.annotation
    if (
        module is None
        or not isinstance(node.target, ast.Name)
        or not isinstance(annotation, ast.Subscript)
        or text_of(annotation.value).rpartition(".")[2] not in ("A", "Annotated")
        or not isinstance(annotation.slice, ast.Tuple)
        or len(annotation.slice.elts) < 2
    ):
        return
    detail: dict[str, Any] = {}
    value = None if node.value is None else shown(module, node.value, detail)
    subject = "--" + node.target.id.replace("_", "-")
    if choices := [c for c, _ in module.choices(annotation.slice.elts[0])]:
        detail["choices"] = choices
    aliases: list[str] = []
    about = annotation.slice.elts[1]
    for keyword in about.keywords if isinstance(about, ast.Call) else ():
        listed = keyword.value.elts if isinstance(keyword.value, (ast.List, ast.Tuple)) else []
        strings = [str(e.value) for e in listed if isinstance(e, ast.Constant)]
        if keyword.arg == "aliases":
            aliases = strings
        elif keyword.arg == "choices" and strings:
            detail["choices"] = strings
    add_flag(findings, module.path, node.lineno, [subject, *aliases], value, detail)


def architectures(findings: Findings, paths: list[str]) -> None:
    """``EntryClass = X`` or ``[X, Y]`` in every model file.

    Parsing three hundred model files takes ten seconds, their one statement is found in a tenth
    of one; the text is searched for it, and its names are cut out of it.
    """
    for path in paths:
        text = findings.source.text(path)
        for hit in _ENTRY.finditer(text):
            listed = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), hit["names"])
            for name in re.finditer(r"[A-Za-z_][\w.]*", listed):
                findings.add(
                    "architecture",
                    name[0].rpartition(".")[2],
                    "native",
                    path,
                    text.count("\n", 0, hit.start("names") + name.start()) + 1,
                    detail={"module": path.rpartition("/")[2].removesuffix(".py")},
                )
    if findings.source.glob("sglang/srt/models/transformers.py"):
        findings.add(
            "architecture",
            "*",
            "fallback",
            "sglang/srt/models/transformers.py",
            None,
            state="conditional",
            condition="an architecture without a class here, if Transformers implements it and "
            "its class works with the Transformers backend; the log says so",
        )


def quantization(findings: Findings) -> None:
    """Base dict, conditional updates, and names that are only choices on the command line."""
    module = findings.source.module(_QUANT)
    if module is None:
        raise Missing(_QUANT)
    registered: dict[str, list[str]] = {}
    for item, test in _methods(module):
        holds = True if test is None else on_cuda(module, test)
        if holds is False and test is not None:
            for platform in platforms_in(test):
                registered.setdefault(item.key, []).append(platform)
                add_method(findings, module, item, layer=platform, condition=f"on {platform}")
        else:
            registered.setdefault(item.key, []).append("cuda")
            add_method(
                findings, module, item, condition=text_of(test) if holds is None and test else None
            )
    if not registered:
        raise Missing("no dict of methods in " + _QUANT)
    _choices_without_class(findings, registered)


def _choices_without_class(findings: Findings, registered: dict[str, list[str]]) -> None:
    """Names that the command line accepts and CUDA's registry does not have.

    The registry and the command line disagree: both are kept, the registry weighs more.
    """
    for path, name, line in _choices(findings, ("QUANTIZATION_CHOICES",)):
        where = registered.get(name, [])
        if "cuda" not in where and name not in ("unquant",):
            told = {"choice": "--quantization accepts the name", "registered_on": where}
            findings.add("quantization", name, "absent", _QUANT, None, detail=told)
            findings.add("quantization", name, "choice", path, line, kind="cli")


def _methods(module: Module) -> Iterator[tuple[Item, ast.expr | None]]:
    """Entries of the base dict and of its updates, with the test that stands above them."""
    for node, condition in _guarded(module.tree.body, None):
        target, value = bound_name(node), getattr(node, "value", None)
        if target == "BASE_QUANTIZATION_METHODS" and isinstance(value, ast.Dict):
            for item in module.entries(value):
                yield item, condition
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if text_of(call.func) == "BASE_QUANTIZATION_METHODS.update" and call.args:
                for item in module.entries(call.args[0]):
                    yield item, condition


def _guarded(
    body: list[ast.stmt], test: ast.expr | None
) -> Iterator[tuple[ast.stmt, ast.expr | None]]:
    """Statements with the tests above them, joined by ``and``."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _guarded(node.body, _both(test, node.test))
            yield from _guarded(node.orelse, _both(test, ast.UnaryOp(ast.Not(), node.test)))
        else:
            yield node, test


def _both(left: ast.expr | None, right: ast.expr) -> ast.expr:
    return right if left is None else ast.BoolOp(ast.And(), [left, right])


def _choices(findings: Findings, names: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    """Strings of a list assigned to one of ``names``: (file, string, line)."""
    for path in (_CHOICES, _ARGS):
        module = findings.source.module(path)
        for name in names:
            node = module.assigned.get(name) if module else None
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                for element in node.elts:
                    if isinstance(element, ast.Constant) and isinstance(element.value, str):
                        yield path, element.value, element.lineno
                return


def _listed(findings: Findings, predicate: str, names: tuple[str, ...], floor: Floor) -> None:
    def read() -> None:
        for path, name, line in _choices(findings, names):
            findings.add(predicate, name, "native", path, line, kind="cli")

    findings.step(predicate, read, floor=floor, looked_at=[_CHOICES, _ARGS])


def field_choices(findings: Findings, field: str, predicate: str) -> None:
    """The choices of one command-line field, in whichever of the three shapes it has."""
    paths = [*findings.source.glob("sglang/srt/arg_groups/fields/*.py"), _ARGS]
    findings.source.fetch(paths)
    for path in paths:
        module = findings.source.module(path)
        for node in ast.walk(module.tree) if module else ():
            for element in _choice_nodes(node, field):
                if isinstance(element, ast.Constant):
                    findings.add(
                        predicate, str(element.value), "native", path, element.lineno, kind="cli"
                    )
        if predicate in findings.rows:
            return


def _choice_nodes(node: ast.AST, field: str) -> list[ast.expr]:
    """The ``choices=[...]`` of an annotated field or an ``add_argument`` call."""
    call: ast.AST | None = None
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if node.target.id == field:
            call = node.annotation
    elif isinstance(node, ast.Call) and text_of(node.func).endswith("add_argument"):
        names = [a.value for a in node.args if isinstance(a, ast.Constant)]
        if "--" + field.replace("_", "-") in names:
            call = node
    for inner in ast.walk(call) if call is not None else ():
        if (
            isinstance(inner, ast.keyword)
            and inner.arg == "choices"
            and isinstance(inner.value, (ast.List, ast.Tuple))
        ):
            return inner.value.elts
    return []


def attention_backends(findings: Findings) -> None:
    """``@register_attention_backend("name")`` decorators; names that are only choices."""
    module = findings.source.module(_ATTENTION)
    if module is None:
        raise Missing(_ATTENTION)
    for node in ast.walk(module.tree):
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if (
                isinstance(decorator, ast.Call)
                and text_of(decorator.func) == "register_attention_backend"
                and isinstance(decorator.args[0], ast.Constant)
            ):
                findings.add(
                    "attention_backend",
                    str(decorator.args[0].value),
                    "native",
                    _ATTENTION,
                    decorator.lineno,
                )
    registered = {row[0] for row in findings.rows.get("attention_backend", [])}
    for path, name, line in _choices(findings, ("ATTENTION_BACKEND_CHOICES",)):
        if name not in registered:
            findings.add("attention_backend", name, "choice", path, line, kind="cli")


def speculative(findings: Findings) -> None:
    """Members of the enum of algorithms."""
    module = findings.source.module(_SPEC)
    place = module.classes.get("SpeculativeAlgorithm") if module else None
    if place is None:
        raise Missing(f"SpeculativeAlgorithm in {_SPEC}")
    for node in statements(place.body):
        name = bound_name(node)
        if name and name.isupper() and name != "NONE":
            findings.add("speculative_method", name, "native", _SPEC, node.lineno)
    for call in ast.walk(module.tree) if module else ():  # a registry, in 0.5.6
        if (
            isinstance(call, ast.Call)
            and text_of(call.func) == "register_speculative_algorithm"
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and call.args[0].value != "NONE"
        ):
            name = str(call.args[0].value)
            findings.add("speculative_method", name, "native", _SPEC, call.lineno)
