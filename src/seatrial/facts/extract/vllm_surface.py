"""What clients and operators of vLLM meet: flags, routes with their gates, metrics, backends."""

from __future__ import annotations

import ast

from seatrial.facts.extract.findings import Findings, Floor
from seatrial.facts.extract.flags import add_argparse, add_fields
from seatrial.facts.extract.logs import VLLM, add_signatures
from seatrial.facts.extract.metrics import add_metrics
from seatrial.facts.extract.pyast import functions, text_of
from seatrial.facts.extract.routes import add_routes
from seatrial.facts.extract.vllm_places import Places


def surface(findings: Findings, package: str) -> None:
    """What a client and an operator meet: flags, routes, metrics."""
    source = findings.source
    arguments = f"{package}/engine/arg_utils.py"
    server = source.glob(f"{package}/entrypoints/*cli_args.py")
    entry = [
        path
        for path in source.glob(f"{package}/entrypoints/*.py")
        if "/entrypoints/cli/" not in path  # a stand-in server while the engine loads
    ]
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
        lambda: add_routes(findings, entry, gates=gates_of(findings, package)),
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


def gates_of(findings: Findings, package: str) -> dict[str, str]:
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


def connectors(findings: Findings, places: Places) -> None:
    """``KVConnectorFactory.register_connector("Name", "module", "Class")`` calls.

    Before 0.7 the names were a list inside the factory.
    """
    module = findings.need(places.connectors)
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
        elif isinstance(node, ast.Assign) and text_of(node.targets[0]) == "supported_kv_connector":
            for element in getattr(node.value, "elts", []):
                if isinstance(element, ast.Constant):
                    name = str(element.value)
                    findings.add("kv_connector", name, "native", module.path, element.lineno)


def early_speculation(findings: Findings, places: Places) -> None:
    """Before 0.8 no list of methods: the draft classes of the registry, and the n-gram worker."""
    module = findings.need(places.registry)
    node = module.assigned.get("_SPECULATIVE_DECODING_MODELS")
    for item in module.entries(node) if node is not None else ():
        name = item.value[0] if isinstance(item.value, list) else str(item.value)
        findings.add("speculative_method", str(name), "native", module.path, item.line)
    for file, name in (("ngram_worker", "ngram"), ("multi_step_worker", "draft_model")):
        path = f"{places.package}/spec_decode/{file}.py"
        if findings.source.has(path):
            findings.add("speculative_method", name, "native", path, 1)


def lora_ranks(findings: Findings, places: Places) -> None:
    """Ranks that ``--max-lora-rank`` takes: a Literal since 0.11.1, a tuple in a check before."""
    module = findings.need(places.lora)
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
