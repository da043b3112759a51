"""When to go back: a number that can be watched, and how.

The trigger is the SLO that binds, at its limit. The warning before it is what the trial itself
makes surprising: the one-sided 95 % prediction bound for the next start of the chosen candidate
(from the starts measured, on the log scale). Where no SLO is asked for, the bound is the trigger.
Metric names are the engine's own; an engine that exports no such metric says so instead of being
given one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seatrial.decide.record import Trigger
from seatrial.plan.record import Objective
from seatrial.stats.mean import prediction_bound
from seatrial.stats.percentile import QS

WINDOW = "10m"
HISTOGRAMS: dict[tuple[str, str], str] = {
    ("vllm", "ttft_ms"): "vllm:time_to_first_token_seconds",
    ("vllm", "itl_ms"): "vllm:inter_token_latency_seconds",
    ("vllm", "tpot_ms"): "vllm:request_time_per_output_token_seconds",
    ("vllm", "e2e_ms"): "vllm:e2e_request_latency_seconds",
    ("sglang", "ttft_ms"): "sglang:time_to_first_token_seconds",
    ("sglang", "itl_ms"): "sglang:inter_token_latency_seconds",
    ("sglang", "e2e_ms"): "sglang:e2e_request_latency_seconds",
    ("tensorrt-llm", "ttft_ms"): "trtllm_time_to_first_token_seconds",
    ("tensorrt-llm", "tpot_ms"): "trtllm_time_per_output_token_seconds",
    ("tensorrt-llm", "e2e_ms"): "trtllm_e2e_request_latency_seconds",
    ("lmdeploy", "ttft_ms"): "lmdeploy:time_to_first_token_seconds",
    ("lmdeploy", "itl_ms"): "lmdeploy:iter_token_latency",
    ("lmdeploy", "tpot_ms"): "lmdeploy:time_per_output_token_seconds",
    ("lmdeploy", "e2e_ms"): "lmdeploy:e2e_request_latency_seconds",
}
WAITING: dict[str, str] = {
    "vllm": "vllm:num_requests_waiting",
    "sglang": "sglang:num_queue_reqs",
    "tensorrt-llm": "trtllm_num_requests_waiting",
    "lmdeploy": "lmdeploy:num_requests_waiting",
    "llama.cpp": "llamacpp:requests_deferred",
    "tgi": "tgi_queue_size",
}
MEAN_TPOT: dict[str, tuple[str, str]] = {
    "llama.cpp": ("llamacpp:tokens_predicted_seconds_total", "llamacpp:tokens_predicted_total"),
}


def expression(engine: str, metric: str) -> str | None:
    """PromQL for one of our metrics (``ttft_ms.p95``) in ms; None where the engine has no such."""
    name, _, key = metric.partition(".")
    histogram = HISTOGRAMS.get((engine, name))
    if histogram and key in QS:
        rate = f"sum by (le) (rate({histogram}_bucket[{WINDOW}]))"
        return f"1000 * histogram_quantile({QS[key]:g}, {rate})"
    if histogram and key == "mean":
        parts = (f"sum(rate({histogram}_{part}[{WINDOW}]))" for part in ("sum", "count"))
        return "1000 * " + " / ".join(parts)
    if name == "tpot_ms" and key == "mean" and engine in MEAN_TPOT:
        return "1000 * " + " / ".join(f"sum(rate({c}[{WINDOW}]))" for c in MEAN_TPOT[engine])
    return None


def triggers(
    engine: str, link: Objective, values: Sequence[float], mean_tpot_ms: Sequence[float]
) -> tuple[Trigger | None, list[Trigger]]:
    """The trigger and its warnings for a candidate, from its per-start values of ``link``.

    Args:
        values: the link's metric per start, in its unit.
        mean_tpot_ms: mean TPOT per start, for engines that export no histogram.
    """
    bound = _bound(values, upper=not link.higher_is_better)
    found: list[Trigger] = []
    if link.limit is not None:
        found.append(_trigger(engine, link, link.limit, "the SLO itself"))
    if bound is not None and not _beyond(bound, link):
        why = f"beyond what {len(values)} starts of the trial make likely (95 % prediction bound)"
        found.append(_trigger(engine, link, bound, why))
    warnings = found[1:]
    tpot = _bound(mean_tpot_ms, upper=True)
    if engine in MEAN_TPOT and tpot is not None and not link.metric.startswith("tpot_ms.mean"):
        mean = Objective(metric="tpot_ms.mean", log=True, higher_is_better=False)
        warnings.append(_trigger(engine, mean, tpot, "slower decoding than any start is likely to"))
    if engine in WAITING:
        warnings.append(_waiting(WAITING[engine]))
    return (found[0] if found else None), warnings


def _waiting(gauge: str) -> Trigger:
    return Trigger(
        metric="waiting_requests",
        threshold=0.0,
        unit="requests",
        window=WINDOW,
        promql=f"min_over_time(sum({gauge})[{WINDOW}:30s]) > 0",
        says="requests wait for a place without a break: the load is above what was measured",
    )


def _trigger(engine: str, link: Objective, threshold: float, why: str) -> Trigger:
    name, _, key = link.metric.partition(".")
    unit = "ms" if name.endswith("_ms") else "share" if name == "goodput" else "tokens/s"
    watched = expression(engine, link.metric)
    sign = "<" if link.higher_is_better else ">"
    says = f"{name}{' ' + key if key else ''} {sign} {threshold:.4g} {unit} over {WINDOW}: {why}"
    if watched is None:
        says += f"; {engine} exports no metric for it, watch it at the client or the gateway"
    return Trigger(
        metric=link.metric,
        threshold=threshold,
        unit=unit,
        window=WINDOW,
        promql=f"{watched} {sign} {threshold:.6g}" if watched else None,
        says=says,
    )


def _bound(values: Sequence[float], *, upper: bool) -> float | None:
    x = np.asarray(values, dtype=np.float64)
    if x.size < 2 or not np.isfinite(x).all() or (x <= 0).any():
        return None
    sign = 1.0 if upper else -1.0
    bound = float(np.exp(sign * prediction_bound(sign * np.log(x))))
    return bound if np.isfinite(bound) else None


def _beyond(bound: float, link: Objective) -> bool:
    """Whether the SLO comes before the bound, so that the bound warns of nothing."""
    if link.limit is None:
        return False
    return bound >= link.limit if not link.higher_is_better else bound <= link.limit
