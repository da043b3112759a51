"""Rows in, a table out: the one place where privacy, order and gaps are settled for all readers.

A reader calls ``add`` once per request and ``bad`` once per row that it refuses. Names of people
and sessions go in as they are and come out as numbers: what is kept is a keyed hash (the key is
random, made per load and never stored), and even that is replaced by a dense number in the end.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from seatrial.trace.table import BadRow, Blocks, Ints, RequestTable, SourceFile

MAX_TOKENS = 1 << 40
SHOWN_BAD_ROWS = 10
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+ -]{0,99}\Z", re.ASCII)
_SECRET = re.compile(
    r"(?i)(^|[^a-z])(sk|pk|rk|ghp|gho|hf|xox[abp]|akia|bearer|key|token)[-_ ]?[a-z0-9_-]{12,}"
)
_PRIVATE = ("client",)


def tokens(value: object) -> int:
    """A token count: a whole number from 0 to 2^40, or the text of one.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, str):
        text = value.strip()
        number: object = int(text) if text.isascii() and text.isdigit() else float(text)
    else:
        number = value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError("a token count that is no whole number")
    if not 0 <= number <= MAX_TOKENS:
        raise ValueError("a token count that is negative or absurd")
    return number


class Rows:
    """Collects the rows of one trace; ``build`` sorts them by arrival and closes it."""

    def __init__(self, format_id: str) -> None:
        self.format = format_id
        self.n = 0
        self.notes: list[str] = []
        self.missing: list[str] = []
        self.grain_ns: int | None = None
        self.block_tokens: int | None = None
        self.bad_count = 0
        self._key = os.urandom(32)
        self._ints: dict[str, array[int]] = {}
        self._features: dict[str, bytearray] = {}
        self._codes: dict[str, dict[object, int]] = {}
        self._offsets = array("q", [0])
        self._hashes = array("q")
        self._has_blocks = False
        self._prefix: dict[tuple[int, int], int] = {}
        self._chunks: array[int] | None = None
        self._bad: list[BadRow] = []
        self._files: list[SourceFile] = []
        self._file = ("", 0, 0)

    def begin_file(self, name: str) -> None:
        """What follows comes from the file with this base name."""
        self._file = (name, self.n, self.bad_count)

    def end_file(self, sha256: str) -> None:
        """The file is read to its end."""
        name, n, bad = self._file
        self._files.append(
            SourceFile(name=name, sha256=sha256, rows=self.n - n, bad=self.bad_count - bad)
        )

    def bad(self, line: int, why: str, *, file: str | None = None) -> None:
        """Refuse a row. ``why`` carries nothing of the row's content."""
        self.bad_count += 1
        if len(self._bad) < SHOWN_BAD_ROWS:
            self._bad.append(BadRow(file=file or self._file[0], line=line, why=why))

    def add(
        self,
        *,
        arrival_ns: int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        session: object = None,
        turn: int | None = None,
        ttft_ns: int | None = None,
        e2e_ns: int | None = None,
        features: Iterable[str] = (),
        labels: dict[str, object] | None = None,
        blocks: Sequence[int] | None = None,
    ) -> None:
        """One request. ``blocks`` are prefix-chained ids (see ``chain`` for content ids)."""
        n = self.n
        for name, value in (
            ("arrival", arrival_ns),
            ("input", input_tokens),
            ("output", output_tokens),
            ("turn", turn),
            ("ttft", ttft_ns),
            ("e2e", e2e_ns),
        ):
            if value is not None:
                self._put(name, n, value)
        if session is not None and session != "":
            self._put("session", n, self._code("session", session))
        for name, category in (labels or {}).items():
            if category is not None and category != "":
                self._put(f"label/{name}", n, self._code(name, category))
        for feature in features:
            column = self._features.setdefault(feature, bytearray())
            column.extend(bytes(n - len(column)))
            column.append(1)
        if blocks is not None:
            self._hashes.extend(blocks)
            self._has_blocks = True
        self._offsets.append(len(self._hashes))
        self.n = n + 1

    def carries(self, *features: str) -> None:
        """The source would show these features: their absence in a row is a finding, not a gap."""
        for feature in features:
            self._features.setdefault(feature, bytearray())

    def chain(self, content: Iterable[int], scope: int = 0) -> list[int]:
        """Prefix-chained ids of content ids: equal only where everything before is equal too."""
        parent = -1 - scope
        out = []
        for block in content:
            parent = self._prefix.setdefault((parent, block), len(self._prefix))
            out.append(parent)
        return out

    def text_blocks(self, text: str, chars: int) -> list[int]:
        """Chained ids of a text cut into pieces of ``chars``; only keyed hashes are kept."""
        pieces = (text[i : i + chars] for i in range(0, len(text), chars))
        return self.chain(self._hash(piece.encode("utf-8", "surrogatepass")) for piece in pieces)

    def _hash(self, data: bytes) -> int:
        digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little", signed=True)

    def _put(self, name: str, n: int, value: int) -> None:
        column = self._ints.get(name)
        if column is None:
            column = self._ints[name] = array("q")
        if len(column) < n:
            column.extend(array("q", [-1]) * (n - len(column)))
        column.append(value)

    def _code(self, name: str, value: object) -> int:
        codes = self._codes.setdefault(name, {})
        text = value if isinstance(value, str) else repr(value)
        if name in _PRIVATE or name == "session" or not _plain(text):
            return codes.setdefault(self._hash(text.encode("utf-8", "surrogatepass")), len(codes))
        return codes.setdefault(text, len(codes))

    def build(self) -> RequestTable:
        """The table: rows in order of arrival, the first at 0."""
        arrival = self._column("arrival")
        order: NDArray[np.intp] | None = None
        if arrival is not None:
            keep = np.flatnonzero(arrival >= 0)
            if lost := self.n - len(keep):
                self.bad_count += lost
                self.notes.append(f"{lost} rows without a time were left out")
            order = keep[np.argsort(arrival[keep], kind="stable")]
            arrival = arrival[order]
            arrival = arrival - arrival[0] if len(arrival) else arrival
        session = self._ordered("session", order)
        turn = self._ordered("turn", order)
        if turn is None and session is not None:
            turn = turns_of(session)
        return RequestTable(
            format=self.format,
            n=self.n if order is None else len(order),
            arrival_ns=arrival,
            grain_ns=self.grain_ns,
            input_tokens=self._ordered("input", order),
            output_tokens=self._ordered("output", order),
            session=session,
            turn=turn,
            blocks=self._blocks(order),
            ttft_ns=self._ordered("ttft", order),
            e2e_ns=self._ordered("e2e", order),
            features=self._feature_columns(order),
            label={
                name.removeprefix("label/"): column
                for name in self._ints
                if name.startswith("label/") and (column := self._ordered(name, order)) is not None
            },
            labels={
                name: _names(name, codes)
                for name, codes in self._codes.items()
                if name != "session"
            },
            files=tuple(self._files),
            bad_rows=tuple(self._bad),
            missing=tuple(dict.fromkeys([*self._gaps(), *self.missing])),
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _column(self, name: str) -> Ints | None:
        column = self._ints.get(name)
        if column is None:
            return None
        out = np.full(self.n, -1, dtype=np.int64)
        out[: len(column)] = np.frombuffer(column, dtype=np.int64)
        return out

    def _ordered(self, name: str, order: NDArray[np.intp] | None) -> Ints | None:
        column = self._column(name)
        return column if column is None or order is None else column[order]

    def _feature_columns(self, order: NDArray[np.intp] | None) -> dict[str, NDArray[np.bool_]]:
        out = {}
        for name, marks in self._features.items():
            column = np.zeros(self.n, dtype=np.bool_)
            column[: len(marks)] = np.frombuffer(bytes(marks), dtype=np.bool_)
            out[name] = column if order is None else column[order]
        return out

    def _blocks(self, order: NDArray[np.intp] | None) -> Blocks | None:
        if not self._has_blocks:
            return None
        offsets = np.frombuffer(self._offsets, dtype=np.int64).copy()
        hashes = np.frombuffer(self._hashes, dtype=np.int64).copy()
        blocks = Blocks(offsets=offsets, hashes=hashes, block_tokens=self.block_tokens or 1)
        return blocks if order is None else take_blocks(blocks, order)

    def _gaps(self) -> list[str]:
        have = self._ints
        labels = {
            "label/model": "model",
            "label/client": "clients",
            "label/outcome": "outcomes",
        }
        columns = {
            "arrival": "arrival times",
            "input": "input tokens",
            "output": "output tokens",
            "session": "sessions",
            "ttft": "TTFT",
            "e2e": "latency",
            **labels,
        }
        gaps = [words for name, words in columns.items() if name not in have]
        if not self._has_blocks:
            gaps.append("prefix blocks")
        if not self._features:
            gaps.append("request features")
        return gaps


def turns_of(session: Ints) -> Ints:
    """0-based turn of each request within its session, in the order given; -1 without session."""
    order = np.argsort(session, kind="stable")
    grouped = session[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]]) if len(grouped) else order
    sizes = np.diff(np.r_[starts, len(grouped)])
    turn = np.empty(len(session), dtype=np.int64)
    turn[order] = np.arange(len(session)) - np.repeat(starts, sizes)
    turn[session < 0] = -1
    return turn


def take_blocks(blocks: Blocks, order: NDArray[np.integer]) -> Blocks:
    """The blocks of the requests named by ``order``, in that order."""
    if len(order) == len(blocks.offsets) - 1 and bool(np.all(order == np.arange(len(order)))):
        return blocks
    sizes = np.diff(blocks.offsets)[order]
    offsets = np.zeros(len(order) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    source = np.repeat(blocks.offsets[:-1][order] - offsets[:-1], sizes) + np.arange(offsets[-1])
    return Blocks(offsets=offsets, hashes=blocks.hashes[source], block_tokens=blocks.block_tokens)


def _plain(text: str) -> bool:
    return bool(_PLAIN.match(text)) and not _SECRET.search(text)


def _names(name: str, codes: dict[object, int]) -> tuple[str, ...]:
    """Categories for people: plain where harmless, else a number in order of appearance."""
    return tuple(
        key if isinstance(key, str) else f"{name}-{number}" for key, number in codes.items()
    )
