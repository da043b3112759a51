"""``workload.fingerprint``: a table in, what it says about the workload out."""

from __future__ import annotations

from collections.abc import Sequence

from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.rows import CHARS_PER_TOKEN
from seatrial.trace.table import Ints
from seatrial.workload import pressure as press
from seatrial.workload.arrivals import arrivals
from seatrial.workload.concurrency import alone, concurrency, logged
from seatrial.workload.lengths import distribution, joint, known
from seatrial.workload.prefix import CAPACITIES, prefix
from seatrial.workload.profile import (
    SCHEMA,
    Arrivals,
    Distribution,
    File,
    Fingerprint,
    Refused,
    RowCount,
)
from seatrial.workload.sessions import drift, milliseconds, sessions, skew

__all__ = ["Fingerprint", "fingerprint"]


def fingerprint(
    table: RequestTable,
    *,
    reference: press.Reference | None = None,
    capacities: Sequence[int] = CAPACITIES,
) -> Fingerprint:
    """What the trace says about its workload.

    Args:
        table: the requests, in order of arrival.
        reference: model and device on which ``pressure`` is reckoned; None: an 8B model in bf16
            on one H100.
        capacities: of the LRU curve, in blocks; the reference's KV memory is added to them.
    """
    inputs = _lengths(table.input_tokens)
    outputs = _lengths(table.output_tokens)
    when = (
        None
        if table.arrival_ns is None
        else arrivals(table.arrival_ns, table.grain_ns, table.epoch_ns)
    )
    reference = reference or press.Reference()
    sums = press.windows_of(table)
    reuse = prefix(table, _with_reference(table, capacities, reference))
    missing, notes = list(table.missing), list(table.notes)
    if table.estimated:
        notes.append(
            f"{' and '.join(table.estimated)} were not in the trace: estimated from the texts at "
            f"{CHARS_PER_TOKEN} characters a token"
        )
    if when is not None:
        notes.extend(_grain_notes(when))
    return Fingerprint(
        schema=SCHEMA,
        format=table.format,
        requests=table.n,
        span_s=None
        if table.arrival_ns is None or table.n == 0
        else float(table.arrival_ns[-1] - table.arrival_ns[0]) / NS_PER_S,
        input_tokens=inputs,
        output_tokens=outputs,
        input_output_ratio=inputs.sum / outputs.sum if inputs and outputs and outputs.sum else None,
        lengths=joint(table),
        arrivals=when,
        prefix=reuse,
        sessions=sessions(table),
        concurrency=concurrency(table),
        concurrency_little=logged(table, when) or alone(sums, when, reference),
        clients=None,
        features={name: float(marks.mean()) for name, marks in table.features.items() if table.n},
        skew={
            name: found
            for name, codes in table.label.items()
            if (found := skew(codes, table.labels[name])) is not None
        },
        input_chars=_lengths(table.input_chars),
        output_chars=_lengths(table.output_chars),
        estimated=list(table.estimated),
        ttft_ms=milliseconds(table.ttft_ns),
        e2e_ms=milliseconds(table.e2e_ns),
        drift=drift(table),
        pressure=press.pressure(sums, when, reuse, reference, press.structured_share(table)),
        missing=missing,
        notes=notes,
        rows=RowCount(
            read=table.n,
            bad=sum(file.bad for file in table.files),
            first_bad=[Refused(file=b.file, line=b.line, why=b.why) for b in table.bad_rows],
        ),
        files=[File(name=f.name, sha256=f.sha256, rows=f.rows, bad=f.bad) for f in table.files],
    )


def _lengths(column: Ints | None) -> Distribution | None:
    values = known(column)
    return None if values is None else distribution(values)


def _with_reference(
    table: RequestTable, capacities: Sequence[int], reference: press.Reference
) -> Sequence[int]:
    if table.blocks is None:
        return capacities
    return sorted({*capacities, press.cache_blocks(reference, table.blocks.block_tokens)})


def _grain_notes(when: Arrivals) -> list[str]:
    notes = []
    if when.cv_interarrival is None:
        notes.append(
            f"time stamps resolve {when.grain_s:g} s and there are {when.rate_per_s:.3g} requests "
            "per second: an inter-arrival CV would be an artefact of the stamps"
        )
    return notes
