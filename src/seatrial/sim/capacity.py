"""How many replicas hold the SLO when traffic grows, for candidates that were measured here.

Replicas are equal and requests go round-robin. For every scale of the trace the smallest number of
replicas is sought for which the simulated requests hold the SLO, three times: with every step as
fast and as slow as the calibration's interval allows, and in between. ``low`` and ``high`` are
therefore bounds of the replicas needed, not of the traffic.

basis: ``measured`` (one replica at scale 1, and the cells themselves tell), ``calibrated``
(simulated under a law fitted to cells of this workload on this hardware), ``not_measured`` (no such
cells: no number, only what to run). A capacity never comes from a prior or a public figure.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from msgspec.structs import replace

from seatrial.fit.cost import scaled
from seatrial.fit.regress import Fit
from seatrial.sim.calibrate import calibrate, future_interval
from seatrial.sim.cells import Measured, load_of
from seatrial.sim.fast import simulate
from seatrial.sim.load import Load
from seatrial.sim.metrics import of_observed
from seatrial.sim.result import SimResult, summary
from seatrial.sim.validate import fit_cells
from seatrial.workload.spec import Slo

SCHEMA = "seatrial/capacity/1"
SCALES = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
MOST_REPLICAS = 512
_ALONE_FACTOR = 1.25  # one cell gives no interval: a quarter either way, and it is said


class Replicas(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas needed; None where even ``MOST_REPLICAS`` do not hold the SLO."""

    low: int | None
    best: int | None
    high: int | None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One scale of the traffic.

    ``with_one_failed``: replicas so that the SLO still holds while one is down. ``ramp``: how many
    of the replicas must be kept warm although traffic is low, because it grows by so much within
    one cold start (None without ``operations.cold_start_s``).
    """

    candidate: str
    scale: float
    replicas: Replicas
    with_one_failed: int | None
    ramp: int | None
    usd_per_hour: float | None
    basis: str


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """capacity --json; ``to_run`` is what would have to be measured for the others."""

    schema: str
    points: list[Point]
    says: list[str]
    to_run: list[str]


def capacity(
    cells: list[Measured],
    slo: Slo,
    *,
    scales: tuple[float, ...] = SCALES,
    usd_per_replica_hour: float | None = None,
    cold_start_s: float | None = None,
    not_measured: list[str] | None = None,
) -> Capacity:
    """Capacity of every measured candidate, and of the others that it is not measured."""
    points: list[Point] = []
    says: list[str] = []
    for candidate in sorted({cell.candidate for cell in cells}):
        group = [cell for cell in cells if cell.candidate == candidate]
        law = fit_cells(group)
        factors = step_factors(group)
        says.append(_says(candidate, group, law, factors))
        for scale in scales:
            points.append(
                _point(group, law, factors, slo, scale, usd_per_replica_hour, cold_start_s)
            )
        if points[-1].replicas.best is None:
            says.append(_never(candidate, group[0], law))
    none = Replicas(low=None, best=None, high=None)
    for candidate in not_measured or []:
        points += [
            Point(
                candidate=candidate,
                scale=scale,
                replicas=none,
                with_one_failed=None,
                ramp=None,
                usd_per_hour=None,
                basis="not_measured",
            )
            for scale in scales
        ]
    return Capacity(
        schema=SCHEMA,
        points=points,
        says=says,
        to_run=[f"seatrial run: cells of {name}" for name in not_measured or []],
    )


def step_factors(cells: list[Measured]) -> tuple[float, float]:
    """How much faster and slower the engine's steps may be than the law (90 % interval).

    From TPOT on loads (or starts) that were left out of the fit; the residuals are normalised, so
    they are those of a step's duration.
    """
    span = future_interval(calibrate(cells).errors.get("tpot_ms.mean", []))
    if span is None:
        return 1 / _ALONE_FACTOR, _ALONE_FACTOR
    return min(math.exp(span[0]), 1.0), max(math.exp(span[1]), 1.0)


def _point(
    cells: list[Measured],
    law: Fit,
    factors: tuple[float, float],
    slo: Slo,
    scale: float,
    usd: float | None,
    cold_start_s: float | None,
) -> Point:
    cell = cells[0]
    load = load_of(cell.observed).scaled(scale)
    fast, slow = (replace(law, cost=scaled(law.cost, factor)) for factor in factors)
    best = needed(cell, load, law, slo)
    found = Replicas(
        low=needed(cell, load, fast, slo, most=best),
        best=best,
        high=needed(cell, load, slow, slo, least=best or 1),
    )
    basis = "calibrated"
    if scale == 1.0 and found.best == 1 and all(holds_measured(c, slo) for c in cells):
        found, basis = Replicas(low=1, best=1, high=1), "measured"
    ramp = ramp_share(load, cold_start_s) if cold_start_s else None
    return Point(
        candidate=cell.candidate,
        scale=scale,
        replicas=found,
        with_one_failed=None if found.high is None else found.high + 1,
        ramp=None if ramp is None or best is None else math.ceil(best * ramp),
        usd_per_hour=None if usd is None or best is None else usd * best,
        basis=basis,
    )


def needed(
    cell: Measured,
    load: Load,
    law: Fit,
    slo: Slo,
    *,
    least: int = 1,
    most: int | None = None,
) -> int | None:
    """Smallest number of replicas that holds the SLO: doubled until it does, then bisected."""
    limit = most or MOST_REPLICAS
    bad, good = least - 1, least
    while not holds(cell, load, law, slo, good):
        if good >= limit:
            return most  # at most what the slower law needed, or none
        bad, good = good, min(2 * good, limit)
    while good - bad > 1:
        middle = (bad + good) // 2
        if middle and holds(cell, load, law, slo, middle):
            good = middle
        else:
            bad = middle
    return good


def holds(cell: Measured, load: Load, law: Fit, slo: Slo, replicas: int) -> bool:
    """Whether the simulated requests of all replicas together hold the SLO."""
    parts = [
        simulate(part, cell.policy, cell.limits, law.cost)
        for part in split(load, min(replicas, load.n))
    ]
    return slo_held(parts, slo, overhead=law.overhead)


def split(load: Load, replicas: int) -> list[Load]:
    """Round-robin: request i goes to replica i modulo ``replicas``."""
    return [load.part(slice(i, None, replicas)) for i in range(replicas)]


def slo_held(parts: list[SimResult], slo: Slo, *, overhead: float = 0.0) -> bool:
    """The SLO's latency percentiles and throughput over all parts. What it does not ask for is
    not checked; failures cannot be simulated. ``overhead``: seconds that pass beside the steps, in
    front of every first and last token."""
    beside = {"ttft": overhead, "e2e": overhead}
    wanted = {"ttft": slo.ttft_ms, "tpot": slo.tpot_ms, "e2e": slo.e2e_ms}
    for name, limits in wanted.items():
        if not limits:
            continue
        seconds = np.concatenate([getattr(part, name) for part in parts])
        seconds = seconds + beside.get(name, 0.0)
        if not seconds.size:
            continue
        for statistic, limit in limits.items():
            if _statistic(seconds, statistic) > limit:
                return False
    if slo.output_tokens_per_s is not None:
        tokens = sum(float(part.load.output.sum()) for part in parts)
        start = min(float(part.load.arrival[0]) for part in parts)
        span = max(part.makespan for part in parts) + overhead - start
        if tokens / max(span, 1e-9) < slo.output_tokens_per_s:
            return False
    return True


def _statistic(seconds: np.ndarray, statistic: str) -> float:
    found = summary(seconds)
    if statistic in found:
        return found[statistic]
    share = {"p75": 75.0, "p999": 99.9, "max": 100.0}[statistic]
    return float(np.percentile(seconds, share) * 1000)


def holds_measured(cell: Measured, slo: Slo) -> bool:
    """Whether the measured requests themselves hold the SLO."""
    seen = cell.observed
    long = seen.output > 1
    values = {
        "ttft": (slo.ttft_ms, seen.first - seen.arrival),
        "tpot": (slo.tpot_ms, (seen.last - seen.first)[long] / (seen.output[long] - 1)),
        "e2e": (slo.e2e_ms, seen.last - seen.arrival),
    }
    for limits, seconds in values.values():
        for statistic, limit in (limits or {}).items():
            if seconds.size and _statistic(seconds, statistic) > limit:
                return False
    rate = of_observed(seen)["output_tokens_per_s"]
    return slo.output_tokens_per_s is None or rate >= slo.output_tokens_per_s


def ramp_share(load: Load, window_s: float) -> float:
    """Largest growth of arrivals from one window to the next, as a share of the busiest window.

    With a window of one cold start: the share of the replicas that an autoscaler would have to
    have started before it could see the need.
    """
    windows = np.floor(load.arrival / window_s).astype(np.int64)
    counts = np.bincount(windows) if load.n else np.zeros(1)
    if counts.size < 2:
        return 0.0
    return float(max(np.diff(counts).max(), 0) / counts.max())


def _never(candidate: str, cell: Measured, law: Fit) -> str:
    context = float(cell.observed.input.mean() + cell.observed.output.mean() / 2)
    prompt = float((cell.observed.input - cell.observed.cached).mean())
    ttft = law.cost.seconds(prefill=prompt) + law.overhead
    return (
        f"{candidate}: up to {MOST_REPLICAS} replicas do not hold the SLO at some scale; a mean "
        f"request alone on its replica has TTFT {1e3 * ttft:.0f} ms and "
        f"TPOT {1e3 * law.cost.seconds(decode=1, context=context):.0f} ms"
    )


def _says(candidate: str, cells: list[Measured], law: Fit, factors: tuple[float, float]) -> str:
    text = (
        f"{candidate}: law fitted to {law.rows} steps of {len(cells)} cells, residual "
        f"{law.residual:.0%} a step; steps {factors[0]:.2f} to {factors[1]:.2f} times as long"
    )
    if len(cells) < 2:
        text += " (assumed: one cell gives no interval)"
    return text
