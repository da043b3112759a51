"""The roll-back trigger against two readings of a live engine's /metrics.

Between the two readings the histograms' counts grow; their difference is the distribution of that
window, and a quantile is read from it as PromQL's ``histogram_quantile`` does (linear inside a
bucket). A counter that went back means a restart in between: then the window is void.

Where an engine exports no such histogram, requests of our own can stand in (``evaluate_probe``): a
percentile's limit is exceeded when more requests lie above it than chance allows (exact binomial,
one-sided 5 %), not when one of twenty does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec
import numpy as np

from seatrial.decide.record import Rollback, Trigger
from seatrial.decide.requests import LATENCY_COLUMNS, Columns, latency_ms, latency_value
from seatrial.decide.slo import CONFIDENCE
from seatrial.decide.trigger import HISTOGRAMS, MEAN_TPOT, WAITING
from seatrial.stats.interval import proportion_interval
from seatrial.stats.mean import mean_interval
from seatrial.stats.percentile import QS

SCHEMA = "seatrial/watch/1"
State = Literal["quiet", "fired", "unknown"]


class SeriesLike(Protocol):
    """One value of one series; ``telemetry.prometheus.Series`` is one."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def value(self) -> float: ...


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """One trigger as it stands: its value in the window, and how many requests it rests on."""

    trigger: Trigger
    role: Literal["trigger", "warning"]
    state: State
    value: float | None
    n: int | None
    says: str


class Watch(msgspec.Struct, frozen=True, kw_only=True):
    """``watch --json``"""

    schema: str
    candidate: str
    engine: str
    window_s: float
    state: State
    watched: list[Watched]
    previous: str | None


Samples = Sequence[Sequence[SeriesLike]]


def evaluate(engine: str, rollback: Rollback, samples: Samples) -> list[Watched]:
    """Each trigger against readings in order of time, at least two."""
    found = [] if rollback.trigger is None else [_watched(engine, rollback.trigger, samples, True)]
    return found + [_watched(engine, w, samples, False) for w in rollback.warnings]


def evaluate_probe(rollback: Rollback, columns: Columns) -> list[Watched]:
    """Each trigger against requests that were sent for it; what they cannot tell is unknown."""
    triggers = [(rollback.trigger, True)] if rollback.trigger else []
    triggers += [(w, False) for w in rollback.warnings]
    return [_probed(trigger, columns, is_trigger) for trigger, is_trigger in triggers]


def _probed(trigger: Trigger, columns: Columns, is_trigger: bool) -> Watched:
    name, _, key = trigger.metric.partition(".")
    values = latency_ms(columns, name) if name in LATENCY_COLUMNS else np.empty(0)
    value, state, says = None, "unknown", f"{trigger.metric} is not what single requests can show"
    if values.size and key in QS:
        above = int((values > trigger.threshold).sum())
        found = proportion_interval(above, values.size, CONFIDENCE)
        state = "fired" if found.low > 1 - QS[key] else "quiet"
        value = latency_value(values, key)
        says = (
            f"{above} of {values.size} requests above {trigger.threshold:.4g} ms,"
            f" {1 - QS[key]:.1%} are allowed"
        )
    elif values.size > 1 and key == "mean" and np.isfinite(values).all():
        mean = mean_interval(values, CONFIDENCE)
        state, value = ("fired" if mean.low > trigger.threshold else "quiet"), mean.best
        says = f"mean {mean.best:.4g} ms (at least {mean.low:.4g}), limit {trigger.threshold:.4g}"
    return Watched(
        trigger=trigger,
        role="trigger" if is_trigger else "warning",
        state=state,  # type: ignore[arg-type]
        value=value if value is not None and np.isfinite(value) else None,
        n=int(values.size),
        says=says,
    )


def verdict(watched: Sequence[Watched]) -> State:
    """The state of the trigger itself; a warning does not make it fire."""
    return watched[0].state if watched and watched[0].role == "trigger" else "unknown"


def _watched(engine: str, trigger: Trigger, samples: Samples, is_trigger: bool) -> Watched:
    value, n = _value(engine, trigger.metric, samples)
    if value is None:
        state: State = "unknown"
        says = _why_unknown(engine, trigger.metric, n)
    else:
        below = trigger.metric in ("goodput", "output_tokens_per_s")
        fired = value < trigger.threshold if below else value > trigger.threshold
        state = "fired" if fired else "quiet"
        says = f"{value:.4g} against {trigger.threshold:.4g} {trigger.unit}"
    return Watched(
        trigger=trigger,
        role="trigger" if is_trigger else "warning",
        state=state,
        value=value,
        n=n,
        says=says,
    )


def _why_unknown(engine: str, metric: str, n: int | None) -> str:
    if n == 0:
        return "no request ended in the window"
    return f"{engine} exports nothing that gives {metric} (or restarted in the window)"


def _value(engine: str, metric: str, samples: Samples) -> tuple[float | None, int | None]:
    """The metric in ms (or requests) over the window, and the number of requests behind it."""
    name, _, key = metric.partition(".")
    first, last = samples[0], samples[-1]
    if metric == "waiting_requests":
        gauges = [_sum(s, WAITING.get(engine, "")) for s in samples]
        known = [g for g in gauges if g is not None]
        return (min(known) if len(known) == len(gauges) else None), None
    histogram = HISTOGRAMS.get((engine, name))
    if histogram and (key in QS or key == "mean"):
        return _from_histogram(histogram, key, first, last)
    if name == "tpot_ms" and key == "mean" and engine in MEAN_TPOT:
        seconds, tokens = (_growth(c, first, last) for c in MEAN_TPOT[engine])
        if seconds is None or tokens is None:
            return None, None
        return (1000 * seconds / tokens if tokens > 0 else None), int(tokens)
    return None, None


def _from_histogram(
    name: str, key: str, first: Iterable[SeriesLike], last: Iterable[SeriesLike]
) -> tuple[float | None, int | None]:
    count = _growth(f"{name}_count", first, last)
    if count is None or count < 0:
        return None, None
    if count == 0:
        return None, 0
    if key == "mean":
        total = _growth(f"{name}_sum", first, last)
        return (None if total is None else 1000 * total / count), int(count)
    before, after = _buckets(first, name), _buckets(last, name)
    grown = {le: after[le] - before.get(le, 0.0) for le in after}
    value = histogram_quantile(QS[key], grown)
    return (None if value is None else 1000 * value), int(count)


def histogram_quantile(q: float, cumulative: Mapping[float, float]) -> float | None:
    """PromQL's rule: the upper bound le -> cumulative count; linear inside the bucket.

    The highest finite bound where the quantile lies beyond it; None for an empty histogram.
    """
    bounds = sorted(cumulative)
    if not bounds or cumulative[bounds[-1]] <= 0 or any(cumulative[b] < 0 for b in bounds):
        return None
    rank = q * cumulative[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        if cumulative[bound] >= rank:
            if math.isinf(bound):
                return low
            inside = cumulative[bound] - below
            share = (rank - below) / inside if inside > 0 else 1.0
            return low + (bound - low) * share
        low, below = bound, cumulative[bound]
    return low


def _buckets(samples: Iterable[SeriesLike], name: str) -> dict[float, float]:
    """Upper bound -> cumulative count, summed over all other labels."""
    found: dict[float, float] = {}
    for series in samples:
        if series.name == f"{name}_bucket" and "le" in series.labels:
            try:
                bound = float(series.labels["le"])
            except ValueError:
                continue
            found[bound] = found.get(bound, 0.0) + series.value
    return found


def _sum(samples: Iterable[SeriesLike], name: str) -> float | None:
    values = [series.value for series in samples if series.name == name]
    return sum(values) if values else None


def _growth(name: str, first: Iterable[SeriesLike], last: Iterable[SeriesLike]) -> float | None:
    """Growth of a counter; None where it is missing or went back (a restart)."""
    before, after = _sum(first, name), _sum(last, name)
    if after is None or (before is not None and after < before):
        return None
    return after - (before or 0.0)
