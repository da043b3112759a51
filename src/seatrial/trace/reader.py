"""What a reader is: a name, a guess from the first bytes, and a pass over one stream.

A reader never sees a whole trace at once; it sees one member after another and adds rows. A row
that it cannot make sense of goes to ``rows.bad`` with its line and a reason without content. A
file of which no row makes sense is an error of ``trace.load``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

MAX_FIELD = 16 << 20
_BOM = b"\xef\xbb\xbf"
Record = dict[str, Any]


@dataclass(frozen=True)
class Head:
    """The beginning of a stream; each way of looking at it is taken when first asked for.

    Attributes:
        name: base name of the member. folder: name of the folder it lies in.
        data: up to 256 KiB.
    """

    name: str
    folder: str
    data: bytes

    @cached_property
    def first(self) -> bytes:
        """The first byte that is no blank: ``{`` and ``[`` begin JSON."""
        return self.data[:1024].lstrip(_BOM + b" \t\r\n")[:1]

    @cached_property
    def header(self) -> tuple[str, ...]:
        """Names of the columns if the first line looks like CSV, as written."""
        if self.first in (b"{", b"["):
            return ()
        line, _, _ = self.data.removeprefix(_BOM).partition(b"\n")
        return _header(line)

    @cached_property
    def record(self) -> Record:
        """The first JSON object, if the stream begins with one that is whole; else empty."""
        return _first_record(self.data) if self.first in (b"{", b"[") else {}

    @cached_property
    def columns(self) -> frozenset[str]:
        """Names of the columns or of the record's keys, in lower case."""
        return frozenset(name.strip().lower() for name in (self.header or self.record))

    @cached_property
    def lines(self) -> tuple[bytes, ...]:
        """The first 200 lines of text that is no JSON, cut at 4 KiB each: safe to search in."""
        if self.first in (b"{", b"["):
            return ()
        return tuple(line[:4096] for line in self.data.split(b"\n", 200)[:200])


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said beside the paths. ``mapping``: our field -> their column."""

    mapping: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reader:
    """One format.

    Attributes:
        id: what ``--format`` takes. title: one line for ``--help``.
        tested: whether a real sample was at hand; shown in ``--help`` otherwise.
        sniff: 0 (not mine) to 100 (nobody else's) from the beginning of a stream.
        read: adds the rows of one member.
        missing: what no file of this format carries beyond what the columns show.
    """

    id: str
    title: str
    tested: bool
    sniff: Callable[[Head], int]
    read: Callable[[Member, Rows, Options], None]
    missing: tuple[str, ...] = ()


def look(member: Member) -> Head:
    """The head of a member; moves nothing."""
    return Head(member.name, member.folder, member.head())


def _header(line: bytes) -> tuple[str, ...]:
    if not line or b"\0" in line or len(line) > 64 << 10:
        return ()
    try:
        names = next(csv.reader([line.decode("utf-8").strip("\r\n")]), [])
    except (UnicodeDecodeError, csv.Error):
        return ()
    return tuple(name.strip() for name in names)


def _first_record(data: bytes) -> Record:
    import json

    decoder = json.JSONDecoder()
    text = data.decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if text.startswith("["):
        text = text[1:].lstrip()
    try:
        value, _ = decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def json_records(member: Member, rows: Rows) -> Iterator[tuple[int, Record]]:
    """(line, object) of JSON lines; refuses what is no object, line by line."""
    decoder = msgspec.json.Decoder()
    for number, line in member.lines():
        if line is None:
            rows.bad(number, "a line of more than 64 MiB")
            continue
        if number == 1:
            line = line.removeprefix(_BOM)
        if not line.strip():
            continue
        try:
            value = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            rows.bad(number, "not valid JSON")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            rows.bad(number, "not a JSON object")


def csv_records(member: Member, rows: Rows) -> Iterator[tuple[int, Record]]:
    """(line, row by column name) of a CSV with a header; refuses rows of another width."""
    csv.field_size_limit(MAX_FIELD)
    text = io.TextIOWrapper(member.stream, encoding="utf-8-sig", errors="replace", newline="")
    reader = csv.reader(_bounded(text))
    try:
        names = [name.strip() for name in next(reader, [])]
        while True:
            try:
                row = next(reader, None)
            except csv.Error:
                rows.bad(reader.line_num, "not valid CSV")
                continue
            if row is None:
                return
            if not row:
                continue
            if len(row) != len(names):
                rows.bad(reader.line_num, "another number of columns than the header has")
                continue
            yield reader.line_num, dict(zip(names, row, strict=True))
    finally:
        text.detach()


def _bounded(text: io.TextIOWrapper) -> Iterator[str]:
    while line := text.readline(MAX_FIELD):
        yield line


def records(member: Member, rows: Rows) -> Iterator[tuple[int, Record]]:
    """Rows of a CSV or of JSON lines, by how the stream begins."""
    first = member.head().lstrip(_BOM + b" \t\r\n")[:1]
    if first == b"[":
        return json_array(member, rows)
    return json_records(member, rows) if first == b"{" else csv_records(member, rows)


def json_array(member: Member, rows: Rows) -> Iterator[tuple[int, Record]]:
    """(1-based place, object) of one JSON array; what is no object is refused."""
    try:
        values = msgspec.json.decode(member.document().removeprefix(_BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        rows.bad(1, "not valid JSON")
        return
    for place, value in enumerate(values if isinstance(values, list) else [values], 1):
        if isinstance(value, dict):
            yield place, value
        else:
            rows.bad(place, "not a JSON object")
