"""What a candidate costs: money per token that met its SLO, and what it takes to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from seatrial.decide.coldstart import cold_start_s
from seatrial.decide.record import Cost, Operating
from seatrial.stats.interval import Interval
from seatrial.stats.mean import mean_interval


def cost_of(
    candidate: str,
    usd_per_hour: float | None,
    rates: Sequence[float],
    goodputs: Sequence[float],
) -> Cost | None:
    """USD per million output tokens delivered within every SLO, over starts.

    The interval is that of the good token rate turned over. None without a price, with fewer than
    two starts, or where the rate's interval reaches 0.
    """
    good = [rate * share for rate, share in zip(rates, goodputs, strict=True)]
    if usd_per_hour is None or len(good) < 2 or not all(g == g for g in good):
        return None
    rate = mean_interval(good)
    if rate.low <= 0:
        return None  # nothing bounds what a good token costs
    low, best, high = (usd_per_hour / 3600 / r * 1e6 for r in (rate.high, rate.best, rate.low))
    cost = Interval(
        low=low,
        best=best,
        high=high,
        n=rate.n,
        confidence=rate.confidence,
        method="price over the interval of good tokens/s",
    )
    return Cost(
        candidate=candidate,
        usd_per_hour=usd_per_hour,
        good_output_tokens_per_s=rate,
        usd_per_million_output_tokens=cost,
    )


def operating_of(
    candidate: str,
    resources: Sequence[Mapping[str, Any]],
    cold_starts: Sequence[Mapping[str, float | None]],
    platform: Mapping[str, Any],
    lifecycle: Mapping[str, Any],
) -> Operating:
    """Memory, size and times of one candidate; the worst over its starts.

    Args:
        resources, cold_starts: of its valid cells.
        platform: ``weights_bytes``, ``image_bytes`` where known (else from ``resources``).
        lifecycle: the keys of DESIGN's ``lifecycle`` where it was run.
    """
    drain = lifecycle.get("drain") or {}
    return Operating(
        candidate=candidate,
        weights_bytes=_known(platform, resources, "weights_bytes"),
        image_bytes=_known(platform, resources, "image_bytes"),
        rss_peak_bytes=_worst(r.get("rss_peak_bytes") for r in resources),
        gpu_mem_peak_bytes=_worst(r.get("gpu_mem_peak_bytes") for r in resources),
        cold_start_s=_worst(cold_start_s(c) for c in [*cold_starts, lifecycle.get("cold_start_s")]),
        recovery_s=lifecycle.get("recovery_s"),
        drain_lost=drain.get("cut"),
        upgrade_s=(lifecycle.get("upgrade") or {}).get("s"),
        rollback_s=(lifecycle.get("rollback") or {}).get("s"),
    )


def _known(
    platform: Mapping[str, Any], resources: Sequence[Mapping[str, Any]], key: str
) -> int | None:
    found = [source.get(key) for source in (platform, *resources)]
    return next((int(value) for value in found if value is not None), None)


def _worst(values: Any) -> float | None:
    known = [float(value) for value in values if value is not None]
    return max(known) if known else None


def prefer(
    names: Sequence[str], costs: Mapping[str, Cost], ops: Mapping[str, Operating]
) -> list[str]:
    """Equivalent candidates in order of cost, then operations; with why, see ``WHY``.

    Within ``SLACK`` two figures count as the same and the next one decides: cost per token,
    accelerator memory, resident memory, weights, cold start; at last the name, so that the order
    never depends on chance.
    """
    left, ordered = list(names), []
    while left:
        best = _first(left, costs, ops)
        ordered.append(best)
        left.remove(best)
    return ordered


SLACK = 0.03


def _figures(name: str, costs: Mapping[str, Cost], ops: Mapping[str, Operating]) -> list[float]:
    mine = ops.get(name)
    cost = costs.get(name)
    found = [
        cost.usd_per_million_output_tokens.best if cost else None,
        mine.gpu_mem_peak_bytes if mine else None,
        mine.rss_peak_bytes if mine else None,
        mine.weights_bytes if mine else None,
        mine.cold_start_s if mine else None,
    ]
    return [float("inf") if value is None else float(value) for value in found]


def _first(left: Sequence[str], costs: Mapping[str, Cost], ops: Mapping[str, Operating]) -> str:
    group = sorted(left)
    table = {name: _figures(name, costs, ops) for name in group}
    for place in range(5):
        least = min(table[name][place] for name in group)
        group = [name for name in group if table[name][place] <= least * (1 + SLACK)]
    return group[0]
