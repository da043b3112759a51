"""The share of memory that SGLang takes for weights and cache where no flag names it.

By tensor parallelism at first, then by what is reserved for activations and graphs: a figure per
class of memory, later ``512 MiB + 1.5 MiB per token of a chunk + 2 MiB per sequence of a graph +
TP x PP / 8 GiB``. Towers take a part of what is left (server_args.py of the wheels that the facts
name; arg_groups/memory_hook.py from 0.5.19 on).
"""

from __future__ import annotations

from typing import Any

from seatrial.gate.case import Case

MIB = 1 << 20


def static_share(case: Case) -> float | None:
    """The default of this release on this device; null where no release's rule is known. Where
    more is reserved than there is the share is 0: start-up finds no memory."""
    fact = case.known.get("default", "mem_fraction_static") if case.engine == "sglang" else None
    gpu = case.target.gpu
    if fact is None or gpu is None:
        return None
    memory, rule = gpu.memory_bytes // MIB, fact.detail
    ranks = case.tp * case.pp
    if "by_tp" in rule:
        if memory > rule.get("up_to_mib", memory):
            return float(rule["above"])
        return float(next(share for least, share in rule["by_tp"] if ranks >= least))
    reserved = _reserved(case, rule, memory, ranks)
    share = max(round((memory - reserved) / memory, 3), 0.0)
    return share * _beside_towers(case, rule)


def _reserved(case: Case, rule: dict[str, Any], memory: int, ranks: int) -> float:
    """MiB that are kept for activations and graphs."""
    if "classes" in rule:  # [below so many GiB, GiB, GiB per rank]
        _, fixed, each = next(c for c in rule["classes"] if memory < c[0] * 1024)
        found = (fixed + each * ranks) * 1024
        found += 2048 if case.speculative else 0
        return float(found + (4096 if case.set.attention_dp > 1 else 0))
    _, chunk, few, many = next(c for c in rule["chunks"] if memory < c[0] * 1024)
    stated = case.args.get("chunked_prefill_size")
    chunk = stated if isinstance(stated, int) and stated > 0 else chunk
    graph = few if case.tp < 4 else many
    for name in ("cuda_graph_max_bs", "max_running_requests"):
        own = case.args.get(name)
        graph = min(graph, own) if isinstance(own, int) and own > 0 else graph
    found = 512 + max(chunk, 2048) * 1.5 + graph * 2 + ranks / 8 * 1024
    if case.set.attention_dp > 1:
        found += graph * case.set.attention_dp * (4.5 if graph > 300 else 3)
    if memory > 60 * 1024:
        found = max(found, 10 * 1024)
    return float(found + (2048 if case.speculative not in (None, "ngram") else 0))


def _beside_towers(case: Case, rule: dict[str, Any]) -> float:
    """The part that a model with a tower leaves: a tenth less, later by the tower's size."""
    model = case.loaded
    if model is None or not model.vision or "towers" not in rule:
        return 1.0
    if rule["towers"] != "by size":
        return float(rule["towers"])
    layers, _, hidden = (model.trait("tower") or "24x1024").partition("x")
    ratio = int(layers) * int(hidden) ** 2 / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1 - 0.1 * (ratio - 1)))
