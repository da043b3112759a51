"""Formats whose rows are flat: one column per field, in CSV or JSON lines.

Most published traces are of this kind and differ only in what they call their columns and in the
unit of time. A ``Flat`` names both; ``Flat.read`` does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from seatrial.trace.reader import Options, Record, records
from seatrial.trace.rows import Rows, tokens
from seatrial.trace.source import Member
from seatrial.trace.timestamp import any_ns, epoch_unit, number_ns

_NOT_LABELS = frozenset(
    ("arrival", "arrival_unit", "input_tokens", "output_tokens", "session", "turn", "ttft", "e2e")
)


@dataclass(frozen=True, slots=True)
class Flat:
    """Names of the columns of one format.

    Attributes:
        time, input, output, session, turn, ttft, e2e: column names; None where it has none.
        unit: unit of ``time`` (s, ms, us, ns); None: ISO text, or an epoch by its magnitude.
        latency_unit: unit of ``ttft`` and ``e2e``.
        labels: our label -> column.
        flags: our feature -> column that is true, 1 or above 0 where the feature is used.
        block_ids: column with prefix block ids; block_tokens tokens in each.
        grain_ns: what the time stamps resolve by definition of the format.
    """

    time: str | None = None
    input: str | None = None
    output: str | None = None
    session: str | None = None
    turn: str | None = None
    ttft: str | None = None
    e2e: str | None = None
    unit: str | None = None
    latency_unit: str = "s"
    labels: dict[str, str] = field(default_factory=dict)
    flags: dict[str, str] = field(default_factory=dict)
    block_ids: str | None = None
    block_tokens: int | None = None
    grain_ns: int | None = None

    def read(self, member: Member, rows: Rows, _options: Options) -> None:
        """Add every row of the member."""
        rows.carries(*self.flags)
        if self.block_tokens is not None:
            rows.block_tokens = self.block_tokens
        if self.grain_ns is not None:
            rows.grain_ns = max(rows.grain_ns or 0, self.grain_ns)
        flat = self
        for line, record in records(member, rows):
            if flat.time is not None and flat.unit is None:
                flat = replace(flat, unit=_unit_of(record.get(flat.time)))
            try:
                flat.add(record, rows)
            except (ValueError, ArithmeticError) as error:
                rows.bad(line, reason(error))

    def add(self, record: Record, rows: Rows) -> None:
        """Add one row.

        Raises:
            ValueError: a field is missing or no number; the text names the field, not its content.
        """
        blocks = None
        if self.block_ids is not None:
            blocks = block_ids(record.get(self.block_ids))
        rows.add(
            arrival_ns=self._time(record),
            input_tokens=_count(record, self.input),
            output_tokens=_count(record, self.output),
            session=_text(record, self.session),
            turn=_count(record, self.turn),
            ttft_ns=_duration(record, self.ttft, self.latency_unit),
            e2e_ns=_duration(record, self.e2e, self.latency_unit),
            features=[name for name, column in self.flags.items() if _true(record.get(column))],
            labels={name: record.get(column) for name, column in self.labels.items()},
            blocks=blocks,
        )

    def _time(self, record: Record) -> int | None:
        if self.time is None:
            return None
        try:
            return any_ns(record.get(self.time), self.unit)
        except (ValueError, OverflowError):
            raise ValueError(f"{self.time}: not a time") from None


def _unit_of(value: object) -> str | None:
    """The unit of a whole file, settled by its first row; None while that row is no number."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return epoch_unit(number) or "s"


def reason(error: Exception) -> str:
    """Why a row was refused, from our own ValueError."""
    return str(error)[:120] if isinstance(error, ValueError) else "a number out of range"


def block_ids(value: object) -> list[int]:
    """A list of block ids as 64-bit integers.

    Raises:
        ValueError: no list of integers.
    """
    if not isinstance(value, list):
        raise ValueError("block ids: not a list")
    for block in value:
        if type(block) is not int or not -(1 << 63) <= block < 1 << 63:
            raise ValueError("block ids: not 64-bit integers")
    return value


def _count(record: Record, column: str | None) -> int | None:
    if column is None:
        return None
    value = record.get(column)
    if value is None or value == "":
        return None
    try:
        return tokens(value)
    except (ValueError, OverflowError, TypeError):
        raise ValueError(f"{column}: not a whole number >= 0") from None


def _text(record: Record, column: str | None) -> object:
    return None if column is None else record.get(column)


def _duration(record: Record, column: str | None, unit: str) -> int | None:
    if column is None:
        return None
    value = record.get(column)
    if value is None or value == "":
        return None
    if not isinstance(value, (int, float, str)):
        raise ValueError(f"{column}: not a duration")
    try:
        return number_ns(value, unit)
    except (ValueError, OverflowError):
        raise ValueError(f"{column}: not a duration") from None


def _true(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in ("true", "t", "yes", "1") or (
            value.strip().isdigit() and int(value[:18]) > 0
        )
    return bool(value)
