"""The cell of an engine that did not start or died: a result too, with no number in it."""

from __future__ import annotations

from seatrial.bench import Cell, ClientReport, Counts, Finding, Summary
from seatrial.bench.cell import SCHEMA
from seatrial.core.errors import EngineError
from seatrial.core.provenance import provenance

_NOTHING = Summary(mean=None, p50=None, p90=None, p95=None, p99=None, n=0)


def failed_cell(candidate: str, start: int, error: EngineError) -> Cell:
    """A cell that says what failed; nothing was offered, so nothing is counted."""
    return Cell(
        schema=SCHEMA,
        candidate=candidate,
        start=start,
        valid=False,
        invalid_because=[f"engine failed: {error.what}"],
        requests=Counts(
            offered=0, completed=0, failed=0, cancelled=0, timed_out=0, cut=0, in_flight=0
        ),
        ttft_ms=_NOTHING,
        itl_ms=_NOTHING,
        tpot_ms=_NOTHING,
        e2e_ms=_NOTHING,
        output_tokens=0,
        output_tokens_per_s=None,
        duration_s=0.0,
        goodput=None,
        failure_rate=None,
        resources={},
        effective={},
        client=ClientReport(
            cpu_s=0.0,
            cpu_s_per_million_tokens=None,
            lateness_ms={"p99": None},
            loop_lag_ms={"p99": None},
            cpu_share=0.0,
        ),
        findings=[
            Finding(id="engine-failed", level="failure", says=error.what, evidence=str(error))
        ],
        cold_start_s={},
        comparability={},
        provenance=provenance(),
    )
