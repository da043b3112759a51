"""Which variable matters for this traffic: change one at a time, simulate, compare.

The baseline is the engine as it was measured (or as its settings say). Each variant changes one
thing that engines differ in: granularity of scheduling (request, iteration), memory (paged,
reserved), prompt handling (chunked, first), token budget, places, block size, prefix cache. The
answer is a page: effect of each on TTFT, TPOT and throughput, the largest named first. All of it
is predicted; it says what is worth measuring.
"""

from __future__ import annotations

import msgspec

from seatrial.core.errors import UsageError
from seatrial.fit.cost import StepCost
from seatrial.sim.fast import simulate
from seatrial.sim.load import Load, from_table
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.prefix import cached_tokens
from seatrial.sim.result import Predicted
from seatrial.trace.table import RequestTable

SCHEMA = "seatrial/whatif/1"
_SAME = 0.02


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One thing changed; ``effect`` is metric -> variant / baseline. ``refused``: why it cannot
    be simulated, empty otherwise."""

    variable: str
    value: str
    predicted: Predicted | None
    effect: dict[str, float]
    refused: str = ""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """whatif --json. ``basis``: calibrated or prior; ``ranking``: variables by largest effect."""

    schema: str
    basis: str
    baseline: Predicted
    limits: Limits
    cost: StepCost
    variants: list[Variant]
    ranking: list[tuple[str, float]]
    says: list[str]


def whatif(
    table: RequestTable,
    *,
    cost: StepCost,
    limits: Limits,
    policy: Policy,
    basis: str,
    cached: bool = False,
) -> WhatIf:
    """Simulate the baseline and every variant.

    Args:
        cached: the baseline has a prefix cache (unbounded) where the trace carries blocks.
    """
    hits = cached_tokens(table, None) if cached else None
    load = from_table(table, cached=hits)
    baseline = simulate(load, policy, limits, cost).predicted()
    variants = [
        _run(variable, value, changed, baseline, cost)
        for variable, value, changed in _variants(table, load, limits, policy, cached=cached)
    ]
    ranking = _ranking(variants)
    return WhatIf(
        schema=SCHEMA,
        basis=basis,
        baseline=baseline,
        limits=limits,
        cost=cost,
        variants=variants,
        ranking=ranking,
        says=_says(variants, ranking, basis),
    )


Changed = tuple[Load, Policy, Limits]


def _variants(
    table: RequestTable, load: Load, limits: Limits, policy: Policy, *, cached: bool
) -> list[tuple[str, str, Changed]]:
    longest = int((load.input + load.output).max())
    reserve = limits.reserve_tokens or longest
    found: list[tuple[str, str, Changed]] = []

    def add(
        variable: str,
        value: str,
        *,
        other: Policy | None = None,
        served: Load | None = None,
        **change: int,
    ) -> None:
        changed = msgspec.structs.replace(limits, **change)
        found.append((variable, value, (served or load, other or policy, changed)))

    for name, other in POLICIES.items():
        if name != policy.name:
            need = reserve if name == "request-level" else limits.reserve_tokens
            add("scheduling", name, other=other, reserve_tokens=need)
    if limits.reserve_tokens:
        add("memory", "paged", reserve_tokens=0)
    else:
        add("memory", f"reserved, {reserve} tokens each", reserve_tokens=reserve)
    for factor in (0.25, 4.0):
        budget = max(int(limits.token_budget * factor), limits.max_seqs)
        add("token budget", str(budget), token_budget=budget)
    for factor in (0.5, 2.0):
        seqs = max(int(limits.max_seqs * factor), 1)
        share = limits.blocks * limits.block_tokens // seqs if limits.reserve_tokens else 0
        text = f"{seqs}, {share} tokens each" if share else str(seqs)
        budget = max(limits.token_budget, seqs)
        add("places", text, max_seqs=seqs, token_budget=budget, reserve_tokens=share)
    for block in (1, 64, 256):
        blocks = limits.blocks * limits.block_tokens // block
        if block != limits.block_tokens and blocks:
            add("block size", str(block), block_tokens=block, blocks=blocks)
    for capacity in (0, 1000, 100_000):
        hits = cached_tokens(table, capacity) if table.blocks is not None else None
        if hits is not None and (capacity or cached):
            text = f"{capacity} blocks" if capacity else "none"
            add("prefix cache", text, served=from_table(table, cached=hits))
    return found


def _run(
    variable: str, value: str, changed: Changed, baseline: Predicted, cost: StepCost
) -> Variant:
    load, policy, limits = changed
    try:
        predicted = simulate(load, policy, limits, cost).predicted()
    except UsageError as error:
        return Variant(
            variable=variable, value=value, predicted=None, effect={}, refused=error.what
        )
    return Variant(
        variable=variable, value=value, predicted=predicted, effect=_effect(predicted, baseline)
    )


def _effect(predicted: Predicted, baseline: Predicted) -> dict[str, float]:
    effect = {}
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        mine, base = getattr(predicted, name), getattr(baseline, name)
        for statistic in ("p50", "p99"):
            if base.get(statistic):
                effect[f"{name}.{statistic}"] = mine[statistic] / base[statistic]
    if baseline.output_tokens_per_s:
        effect["output_tokens_per_s"] = predicted.output_tokens_per_s / baseline.output_tokens_per_s
    return effect


def _ranking(variants: list[Variant]) -> list[tuple[str, float]]:
    largest: dict[str, float] = {}
    for variant in variants:
        ratios = [max(r, 1 / r) for r in variant.effect.values() if r > 0]
        largest[variant.variable] = max([largest.get(variant.variable, 1.0), *ratios])
    return sorted(largest.items(), key=lambda pair: -pair[1])


def _says(variants: list[Variant], ranking: list[tuple[str, float]], basis: str) -> list[str]:
    lines = []
    for variable, _ in ranking:
        mine = [variant for variant in variants if variant.variable == variable and variant.effect]
        moved = [
            (max(abs(ratio - 1), abs(1 / ratio - 1)), variant, metric, ratio)
            for variant in mine
            for metric, ratio in variant.effect.items()
            if ratio > 0
        ]
        if not moved:
            continue
        size, variant, metric, ratio = max(moved, key=lambda item: item[0])
        if size < _SAME:
            lines.append(f"{variable}: no effect above {_SAME:.0%} on this traffic")
        else:
            lines.append(
                f"{variable}: {variant.value} makes {metric} {ratio:.2f} times the baseline's"
            )
    lines.append(
        "predicted by simulation, cost law " + basis + "; it says what is worth measuring, "
        "it chooses nothing"
    )
    return lines
