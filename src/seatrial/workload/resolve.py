"""``workload.resolve_traffic``: from the ``traffic`` section to the requests that are sent.

Whatever is changed on the way is in ``scaling`` (numbers) and, where something had to be assumed,
in ``assumptions`` (words). The order is fixed: slice, rate, lengths, caps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seatrial import trace
from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.trace import RequestTable
from seatrial.workload import transform
from seatrial.workload.load import LoadedWorkload, relative_to
from seatrial.workload.people import translate
from seatrial.workload.spec import Lengths, Synthetic, Traffic
from seatrial.workload.synthetic import synthetic


@dataclass(frozen=True, slots=True)
class ResolvedTraffic:
    """The requests of a workload.

    Attributes:
        table: as they are to be sent.
        scaling: kind (trace, synthetic, people), requests_in, requests, and every factor and cap
            with how many requests it changed.
        assumptions: whole sentences, for the user.
    """

    table: RequestTable
    scaling: dict[str, Any]
    assumptions: list[str]


def resolve_traffic(loaded: LoadedWorkload, *, progress: Progress | None = None) -> ResolvedTraffic:
    """The requests that the workload's ``traffic`` stands for.

    Raises:
        UsageError: there is no ``traffic``, the trace cannot be read, or nothing is left of it.
    """
    traffic = loaded.spec.traffic
    if traffic is None:
        raise UsageError(
            "the workload has no traffic",
            where=loaded.path.name,
            remedy="add traffic: {trace: FILE}, or {synthetic: {...}}, or {people: N}",
        )
    table, scaling, assumptions = _source(loaded, traffic, progress or Silent())
    scaling["requests_in"] = table.n
    table = _sliced(table, traffic, scaling)
    if table.n == 0:
        raise UsageError(
            "no request is left of the traffic",
            where=f"{loaded.path.name}: traffic.slice",
            remedy="widen the slice; it counts seconds from the first arrival",
        )
    table = _scaled(table, traffic, scaling, assumptions)
    scaling["requests"] = table.n
    return ResolvedTraffic(table=table, scaling=scaling, assumptions=assumptions)


def _source(
    loaded: LoadedWorkload, traffic: Traffic, progress: Progress
) -> tuple[RequestTable, dict[str, Any], list[str]]:
    seed = loaded.spec.trial.seed
    wanted = traffic.slice.requests if traffic.slice is not None else None
    if traffic.trace is not None:
        many = [traffic.trace] if isinstance(traffic.trace, str) else traffic.trace
        paths = [relative_to(loaded.path.parent, item) for item in many]
        table = trace.load(paths, format=traffic.format, mapping=traffic.map, progress=progress)
        said = [f"The trace does not carry: {', '.join(table.missing)}."] if table.missing else []
        return table, {"kind": "trace", "format": table.format}, said + list(table.notes)
    if traffic.synthetic is not None:
        table = synthetic(traffic.synthetic, seed=seed, n=wanted)
        return table, {"kind": "synthetic", "seed": seed}, _said(traffic.synthetic)
    assert traffic.people is not None
    estimate = translate(traffic.people)
    habit = estimate.habit
    spec = Synthetic(
        rate_per_s=estimate.rate_per_s,
        input_tokens=Lengths(mean=habit.input_mean, p99=habit.input_p99),
        output_tokens=Lengths(mean=habit.output_mean, p99=habit.output_p99),
    )
    scaling = {
        "kind": "people",
        "seed": seed,
        "people": traffic.people,
        "rate_per_s": estimate.rate_per_s,
        "low_per_s": estimate.low_per_s,
        "high_per_s": estimate.high_per_s,
    }
    return synthetic(spec, seed=seed, n=wanted), scaling, [estimate.assumption]


def _said(spec: Synthetic) -> list[str]:
    said = ["The traffic is described, not recorded: real traffic is burstier and more varied."]
    if spec.rate_per_s is not None:
        said.append(f"Arrivals are Poisson at {spec.rate_per_s:g} requests per second.")
    else:
        said.append(
            f"A closed loop of {spec.concurrency} requests at a time: it cannot show how the "
            "service behaves when requests keep coming while it is slow."
        )
    for name, lengths in (("input", spec.input_tokens), ("output", spec.output_tokens)):
        if isinstance(lengths, Lengths) and lengths.p99 is None:
            said.append(f"Every {name} has the mean length: no p99 was given.")
        elif isinstance(lengths, Lengths):
            said.append(f"Lengths of the {name} are log-normal with that mean and p99.")
    if spec.turns == 1 and spec.shared_prefix_tokens == 0:
        said.append("No two prompts share a prefix.")
    return said


def _sliced(table: RequestTable, traffic: Traffic, scaling: dict[str, Any]) -> RequestTable:
    if traffic.slice is None:
        return table
    part = traffic.slice
    scaling["slice"] = {
        "start_s": part.start_s,
        "requests": part.requests,
        "duration_s": part.duration_s,
    }
    return transform.window(
        table, start_s=part.start_s, requests=part.requests, duration_s=part.duration_s
    )


def _scaled(
    table: RequestTable, traffic: Traffic, scaling: dict[str, Any], assumptions: list[str]
) -> RequestTable:
    scaling["rate_factor"] = traffic.scale
    scaling["input_factor"] = traffic.input_scale
    scaling["output_factor"] = traffic.output_scale
    if traffic.scale != 1.0 and table.arrival_ns is None:
        assumptions.append("The traffic has no arrival times, so its rate was not scaled.")
    table = transform.rate(table, traffic.scale)
    table = transform.lengths(table, inputs=traffic.input_scale, outputs=traffic.output_scale)
    table, changed = transform.cap(
        table, inputs=traffic.max_input_tokens, outputs=traffic.max_output_tokens
    )
    scaling["max_input_tokens"] = traffic.max_input_tokens
    scaling["max_output_tokens"] = traffic.max_output_tokens
    scaling.update(changed)
    if traffic.input_scale != 1.0 or traffic.output_scale != 1.0 or any(changed.values()):
        assumptions.append(_changed(traffic, changed, table))
    return table


def _changed(traffic: Traffic, changed: dict[str, int], table: RequestTable) -> str:
    parts = []
    for name, factor in (("inputs", traffic.input_scale), ("outputs", traffic.output_scale)):
        if factor != 1.0:
            parts.append(f"{name} x {factor:g}")
    for name, limit in (("input", traffic.max_input_tokens), ("output", traffic.max_output_tokens)):
        if number := changed.get(f"{name}_capped"):
            parts.append(f"{number} {name}s cut to {limit} tokens")
    mean = "unknown"
    if table.input_tokens is not None:
        mean = f"{float(np.mean(table.input_tokens)):.0f}"
    return f"The trace's lengths were changed: {', '.join(parts)}; mean input now {mean} tokens."
