"""The records of a run: one row per offered request, in columns, and as Parquet.

Columns are those of DESIGN 4.4. Times are ns of the machine's monotonic clock; -1 in memory and
null in Parquet mean that it did not come to that. ``event_ns`` holds one time per event with
content: every other definition of a latency can be computed from it later.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seatrial.loadgen.coded import Coded, Coder
from seatrial.loadgen.outcome import COMPLETED, STATUSES, Outcome

Ints = NDArray[np.int64]
_AT_ONCE = 50_000  # requests

INT_COLUMNS = (
    "index",
    "scheduled_ns",
    "sent_ns",
    "connect_ns",
    "first_byte_ns",
    "first_token_ns",
    "first_text_ns",
    "first_reasoning_ns",
    "last_token_ns",
    "done_ns",
    "http_status",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
)


@dataclass(slots=True)
class Records:
    """All requests of a run in columns; ``ints[name]`` has one int64 per request, -1 for none.

    Attributes:
        status: index into ``STATUSES``.
        event_offsets, event_ns: event times of request i are event_ns[offsets[i]:offsets[i+1]].
        usage_given: whether the server counted the tokens.
        input_estimated: ``input_tokens`` is what was planned, since the server gave no count.
        start_ns: the run's start on the same clock.
    """

    ints: dict[str, Ints]
    status: NDArray[np.int8]
    event_offsets: Ints
    event_ns: Ints
    usage_given: NDArray[np.bool_]
    input_estimated: NDArray[np.bool_]
    error_kind: Coded[str | None]
    error: Coded[str | None]
    finish_reason: Coded[str | None]
    findings: Coded[tuple[str, ...]]
    text: dict[int, str]
    start_ns: int
    plan: dict[str, Ints] = field(default_factory=dict)
    cell_findings: Counter[str] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """Offered requests."""
        return len(self.status)

    def is_status(self, name: str) -> NDArray[np.bool_]:
        """Which requests ended so."""
        found: NDArray[np.bool_] = self.status == STATUSES.index(name)
        return found

    @property
    def completed(self) -> NDArray[np.bool_]:
        """Which requests completed."""
        return self.is_status(COMPLETED)

    def counts(self) -> dict[str, int]:
        """Requests by status; their sum is ``n``."""
        numbers = np.bincount(self.status, minlength=len(STATUSES))
        return {name: int(numbers[i]) for i, name in enumerate(STATUSES)}


class Builder:
    """Takes outcomes one at a time, so that no more than one is held as objects."""

    def __init__(self) -> None:
        self._ints = {name: array("q") for name in INT_COLUMNS}
        self._status = array("b")
        self._events = array("q")
        self._offsets = array("q", [0])
        self._usage = array("b")
        self._error_kind = Coder[str | None]()
        self._error = Coder[str | None]()
        self._finish = Coder[str | None]()
        self._findings = Coder[tuple[str, ...]]()
        self._text: dict[int, str] = {}

    def add(self, outcome: Outcome, events: bytes = b"") -> None:
        """Enter one request; ``events`` are event times that lie beside it, as ``pack`` has it."""
        for name, column in self._ints.items():
            value = getattr(outcome, name)
            column.append(-1 if value is None else value)
        self._status.append(STATUSES.index(outcome.status))
        self._usage.append(outcome.output_tokens is not None)
        self._events.extend(outcome.event_ns)
        self._events.frombytes(events)
        self._offsets.append(len(self._events))
        self._error_kind.add(outcome.error_kind)
        self._error.add(outcome.error)
        self._finish.add(outcome.finish_reason)
        self._findings.add(tuple(outcome.findings))
        if outcome.text:
            self._text[len(self._status) - 1] = outcome.text

    def build(self, start_ns: int) -> Records:
        """The records in order of the plan; the builder is empty afterwards."""
        order = np.argsort(_ints(self._ints["index"]), kind="stable")
        lengths = np.diff(_ints(self._offsets))[order]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        rank = {int(old): new for new, old in enumerate(order)} if self._text else {}
        events = _gathered(_ints(self._events), _ints(self._offsets)[:-1][order], offsets)
        self._events = array("q")
        # one column at a time: two copies of all of them would double the peak
        return Records(
            ints={name: _ints(self._ints.pop(name))[order] for name in INT_COLUMNS},
            status=_bytes(self._status)[order],
            event_offsets=offsets,
            event_ns=events,
            usage_given=_bytes(self._usage)[order].astype(bool),
            input_estimated=np.zeros(len(order), bool),
            error_kind=self._error_kind.build(order),
            error=self._error.build(order),
            finish_reason=self._finish.build(order),
            findings=self._findings.build(order),
            text={rank[old]: text for old, text in self._text.items()},
            start_ns=start_ns,
        )


def _ints(column: array[int]) -> Ints:
    return np.frombuffer(column, np.int64) if len(column) else np.empty(0, np.int64)


def _gathered(events: Ints, starts: Ints, offsets: Ints) -> Ints:
    """The events of each request from where they lie to where they belong, in parts."""
    out = np.empty(len(events), np.int64)
    for first in range(0, len(starts), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        low, high = offsets[first], offsets[min(first + _AT_ONCE, len(starts))]
        lengths = np.diff(offsets[first : first + _AT_ONCE + 1])
        shift = np.repeat(starts[part] - offsets[:-1][part], lengths)
        out[low:high] = events[shift + np.arange(low, high)]
    return out


def _bytes(column: array[int]) -> NDArray[np.int8]:
    return np.frombuffer(column, np.int8) if len(column) else np.empty(0, np.int8)


def build(outcomes: Iterable[Outcome], start_ns: int) -> Records:
    """Records of outcomes that are already in memory."""
    builder = Builder()
    for outcome in outcomes:
        builder.add(outcome)
    return builder.build(start_ns)


def settle_tokens(records: Records, asked: Ints | None) -> None:
    """Fill in what the server did not count, and mark counts that cannot be right.

    Without usage an event counts as one token, marked as estimated. Usage above the limit that
    was asked for is wrong by definition (``wrong_usage``): then events count instead.
    """
    made = records.ints["output_tokens"].copy()
    events = np.diff(records.event_offsets)
    missing = made < 0
    made[missing & (events > 0)] = events[missing & (events > 0)]
    mark(records, missing & records.completed, "no_usage")
    if asked is not None:
        wrong = (asked > 0) & (made > asked) & ~missing
        made[wrong] = events[wrong]
        mark(records, wrong, "wrong_usage")
        short = (asked > 0) & records.completed & (made != asked) & ~wrong
        mark(records, short, "output_length_differs")
    records.ints["output_tokens"] = made
    for found, number in records.findings.counts():
        for name in found:
            records.cell_findings[name] += number


def mark(records: Records, rows: NDArray[np.bool_], finding: str) -> None:
    """Add a finding to these requests."""
    records.findings.change(rows, lambda found: (*found, finding))


def estimate_inputs(records: Records) -> None:
    """Where the server gave no count of a prompt, what was planned stands for it, and is marked."""
    planned = records.plan["planned_input_tokens"][records.ints["index"]]
    missing = (records.ints["input_tokens"] < 0) & (planned >= 0)
    records.ints["input_tokens"] = np.where(missing, planned, records.ints["input_tokens"])
    records.input_estimated = missing


def count_texts(records: Records, count: Callable[[str], int], *, most: int = 2000) -> int:
    """Count the tokens of answers without usage: the whole text, once, without special tokens.

    Never per event: a tokenizer that adds a BOS to each would double the count. Returns how many
    answers were counted; they carry the finding ``no_usage`` and now ``tokens_from_text``.
    """
    counted = 0
    for i, text in list(records.text.items())[:most]:
        if records.usage_given[i] or not text:
            continue
        records.ints["output_tokens"][i] = count(text)
        records.findings[i] = (*records.findings[i], "tokens_from_text")
        records.cell_findings["tokens_from_text"] += 1
        counted += 1
    return counted


def write_parquet(records: Records, path: Path, *, rows_at_once: int = 20_000) -> None:
    """Write the records; each batch of rows becomes a row group."""
    import duckdb

    scratch = path.with_name(f".{path.name}.duckdb")  # on disk: a million rows are not in memory
    try:
        with duckdb.connect(scratch) as db:
            db.execute("SET memory_limit = '256MB'")
            db.execute("SET threads = 1")
            db.execute(_TABLE)
            _keep_texts(db, records)
            for start in range(0, max(records.n, 1), rows_at_once):
                _insert(db, records, start, min(start + rows_at_once, records.n))
            quoted = str(path).replace("'", "''")
            db.execute(f"COPY requests TO '{quoted}' (FORMAT parquet, COMPRESSION zstd)")
    finally:
        for left in path.parent.glob(f"{scratch.name}*"):
            left.unlink()


_NULLABLE = [name for name in INT_COLUMNS if name != "index"]
_PLAN = ("session", "turn", "planned_input_tokens", "planned_output_tokens")
_TABLE = (
    "CREATE TABLE requests (request_id BIGINT, status VARCHAR, "
    + ", ".join(f"{name} BIGINT" for name in (*_NULLABLE, *_PLAN))
    + ", usage_given BOOLEAN, input_estimated BOOLEAN, error_kind VARCHAR, error VARCHAR,"
    " finish_reason VARCHAR, findings VARCHAR, event_ns BIGINT[])"
)


_TEXTS = ("error_kind", "error", "finish_reason", "findings")


def _keep_texts(db: object, records: Records) -> None:
    """The few texts by code: a table for each column of them."""
    import duckdb

    assert isinstance(db, duckdb.DuckDBPyConnection)
    for name in _TEXTS:
        values = getattr(records, name).values
        rows = [(i, " ".join(v) if isinstance(v, tuple) else v) for i, v in enumerate(values)]
        db.execute(f"CREATE TEMP TABLE t_{name} (code BIGINT, text VARCHAR)")
        kept = [(code, text) for code, text in rows if text]
        if kept:
            db.executemany(f"INSERT INTO t_{name} VALUES (?, ?)", kept)


def _insert(db: object, records: Records, start: int, stop: int) -> None:
    """One batch of rows into the table."""
    import duckdb

    assert isinstance(db, duckdb.DuckDBPyConnection)
    part = slice(start, stop)
    columns: dict[str, object] = {name: records.ints[name][part] for name in INT_COLUMNS}
    for name in _PLAN:
        plan = records.plan.get(name)
        empty = np.full(stop - start, -1, np.int64)
        columns[name] = empty if plan is None else plan[records.ints["index"][part]]
    columns["status"] = records.status[part].astype(np.int64)
    columns["usage_given"] = records.usage_given[part]
    columns["input_estimated"] = records.input_estimated[part]
    columns["row"] = np.arange(stop - start)
    for name in _TEXTS:
        columns[name] = getattr(records, name).codes[part].astype(np.int64)
    offsets = records.event_offsets[start : stop + 1]
    events = {
        "ns": records.event_ns[offsets[0] : offsets[-1]] if len(offsets) else records.event_ns[:0],
        "row": np.repeat(np.arange(stop - start), np.diff(offsets)),
    }
    db.register("cols", columns)
    db.register("evs", events)
    names = ", ".join(f"'{name}'" for name in STATUSES)
    numbers = ", ".join(f"nullif({name}, -1)" for name in (*_NULLABLE, *_PLAN))
    texts = ", ".join(f"t_{name}.text" for name in _TEXTS)
    joins = " ".join(f"LEFT JOIN t_{name} ON t_{name}.code = cols.{name}" for name in _TEXTS)
    db.execute(
        f'INSERT INTO requests SELECT "index", [{names}][status + 1], {numbers}, usage_given, '
        f"input_estimated, {texts}, coalesce(l.ns, []) FROM cols LEFT JOIN "
        f"(SELECT row, list(ns) AS ns FROM evs GROUP BY row) l USING (row) {joins} "
        'ORDER BY "index"'
    )
    db.unregister("cols")
    db.unregister("evs")
