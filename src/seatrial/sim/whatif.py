"""Which variable matters for this traffic: change one at a time, simulate, compare.

The baseline is the engine as it was measured (or as its settings say). Each variant changes one
thing that engines differ in: granularity of scheduling (request, iteration), memory (paged,
reserved), prompt handling (chunked, first), token budget, places, block size, prefix cache. The
answer is a page: effect of each on TTFT, TPOT and throughput, the largest named first. All of it
is predicted; it says what is worth measuring.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence

import msgspec

from seatrial.core.errors import UsageError
from seatrial.fit.cost import StepCost
from seatrial.sim.bottleneck import STEP_BY_STEP, Bottleneck, bottleneck, reasons
from seatrial.sim.fast import simulate
from seatrial.sim.kvpool import KvPool
from seatrial.sim.load import Load, from_table
from seatrial.sim.metrics import METRICS, of_result
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.prefix import cached_tokens
from seatrial.sim.result import Predicted
from seatrial.trace.table import RequestTable

SCHEMA = "seatrial/whatif/1"
Changed = tuple[Load, Policy, Limits]
_SAME = 0.02
_FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)
_BUDGETS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """One thing changed; ``effect`` is metric -> variant / baseline. ``refused``: why it cannot
    be simulated, empty otherwise."""

    variable: str
    value: str
    predicted: Predicted | None
    effect: dict[str, float]
    refused: str = ""


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity changed over a range; the baseline's value stands among ``points``.

    ``points``: (value, metric -> ms, tokens per second); what cannot be simulated is left out.
    """

    variable: str
    unit: str
    baseline: float
    points: list[tuple[float, dict[str, float]]]


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """whatif --json. ``basis``: calibrated or prior; ``ranking``: variables by largest effect;
    ``why``: variable -> what in this traffic makes it matter or not."""

    schema: str
    basis: str
    baseline: Predicted
    limits: Limits
    cost: StepCost
    variants: list[Variant]
    ranking: list[tuple[str, float]]
    says: list[str]
    bottleneck: Bottleneck
    why: dict[str, str]
    curves: list[Curve]
    kv_pool: KvPool | None = None


def whatif(
    table: RequestTable,
    *,
    cost: StepCost,
    limits: Limits,
    policy: Policy,
    basis: str,
    cached: bool = False,
    pool: KvPool | None = None,
) -> WhatIf:
    """Simulate the baseline and every variant.

    Args:
        pool: where the size of the KV cache comes from, to be shown.
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
    found, _ = bottleneck(load, policy, limits, cost)
    why = reasons(found)
    return WhatIf(
        schema=SCHEMA,
        basis=basis,
        baseline=baseline,
        limits=limits,
        cost=cost,
        variants=variants,
        ranking=ranking,
        says=_says(variants, ranking, basis),
        bottleneck=found,
        why={name: why[name] for name, _ in ranking if name in why},
        curves=curves(load, policy, limits, cost),
        kv_pool=pool,
    )


def curves(load: Load, policy: Policy, limits: Limits, cost: StepCost) -> list[Curve]:
    """Traffic, places and token budget over a range, on the first ``STEP_BY_STEP`` requests."""
    part = load.part(slice(0, STEP_BY_STEP))
    share = limits.blocks * limits.block_tokens if limits.reserve_tokens else 0

    def at_places(n: int) -> Changed:
        budget = max(limits.token_budget, n)
        reserve = share // n if share else 0
        return (
            part,
            policy,
            msgspec.structs.replace(
                limits, max_seqs=n, token_budget=budget, reserve_tokens=reserve
            ),
        )

    def at_budget(n: int) -> Changed:
        return part, policy, msgspec.structs.replace(limits, token_budget=n)

    places = sorted({max(int(limits.max_seqs * f), 1) for f in _FACTORS})
    budgets = sorted({max(int(limits.token_budget * f), limits.max_seqs) for f in _BUDGETS})
    return [
        Curve(
            variable="traffic",
            unit="x",
            baseline=1.0,
            points=_points([(f, (part.scaled(f), policy, limits)) for f in _FACTORS], cost),
        ),
        Curve(
            variable="places",
            unit="",
            baseline=limits.max_seqs,
            points=_points([(n, at_places(n)) for n in places], cost),
        ),
        Curve(
            variable="token budget",
            unit="tokens",
            baseline=limits.token_budget,
            points=_points([(n, at_budget(n)) for n in budgets], cost),
        ),
    ]


def _points(
    asked: Sequence[tuple[float, Changed]], cost: StepCost
) -> list[tuple[float, dict[str, float]]]:
    found = []
    for value, (load, policy, limits) in asked:
        with contextlib.suppress(UsageError):  # a request too long for its place, say
            found.append((float(value), of_result(simulate(load, policy, limits, cost))))
    return [
        (value, {m: x for m in METRICS if math.isfinite(x := metrics[m])})
        for value, metrics in found
    ]


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
