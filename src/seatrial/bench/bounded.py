"""A load that ends: deadlines for its requests and an end of the run, stated and judged.

The numbers are ``loadgen.limits.bounds``; here they enter the plan, are said before the load
starts, and what they cut is told afterwards.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import msgspec
import numpy as np

from seatrial.bench.cell import Finding
from seatrial.core.units import NS_PER_S
from seatrial.loadgen import limits
from seatrial.loadgen.plan import Load
from seatrial.loadgen.records import Records
from seatrial.loadgen.run import Planned
from seatrial.trace.table import RequestTable


@dataclass(frozen=True, slots=True)
class Bounded:
    """A plan and a load with their bounds; ``asked`` is whether the run's end was asked for."""

    plan: Planned
    load: Load
    bounds: dict[str, float]
    asked: bool

    @property
    def says(self) -> str:
        """One line for before the load."""
        request_s, run_s = self.bounds["request_s"], self.bounds["run_s"]
        return f"ends after at most {_time(run_s)}; a request is given up after {_time(request_s)}"

    def findings(self, records: Records) -> list[Finding]:
        """What the bounds cut."""
        late = records.error_kind.count("deadline")
        found = []
        if late:
            found.append(
                Finding(
                    id="deadline",
                    level="warning",
                    says=f"{late} requests were still being answered at their deadline"
                    f" ({_time(self.bounds['request_s'])}) and count as timed out",
                )
            )
        unsent = self.plan.n - records.n
        in_flight = records.counts()["in_flight"]
        if not self.asked and (unsent or in_flight):
            found.append(
                Finding(
                    id="run-cut",
                    level="warning",
                    says=f"the run was ended at its bound of {_time(self.bounds['run_s'])}:"
                    f" {in_flight} requests were in flight, {unsent} were not sent any more",
                )
            )
        return found


def bounded(
    plan: Planned,
    load: Load,
    table: RequestTable,
    timeout_s: float | None = None,
    single_s: float | None = None,
) -> Bounded:
    """Give a plan its bounds."""
    outputs = plan.output_tokens
    if table.output_tokens is not None and not (outputs > 0).any():
        outputs = table.output_tokens  # a file's own bodies: their limits, though none is forced
    turns = 1
    if (plan.session >= 0).any():
        turns = int(np.unique(plan.session[plan.session >= 0], return_counts=True)[1].max())
    found = limits.bounds(
        load, plan.scheduled_ns, plan.input_tokens, outputs,
        turns=turns, timeout_s=timeout_s, single_s=single_s,
    )  # fmt: skip
    longest = float(found.deadline_ns.max()) / NS_PER_S if plan.n else 0.0
    return Bounded(
        plan=dataclasses.replace(plan, deadline_ns=found.deadline_ns),
        load=msgspec.structs.replace(load, duration_ns=found.run_ns),
        bounds={"request_s": longest, "run_s": found.run_ns / NS_PER_S},
        asked=load.duration_ns > 0,
    )


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"
