"""Rows in, a table out: the one place where privacy, order and gaps are settled for all readers.

A reader calls ``add`` once per request and ``bad`` once per row that it refuses. Names of people
and sessions go in as they are and come out as numbers: what is kept meanwhile is a keyed hash
(the key is random, made per load and never stored). A text leaves as its length and as dense
numbers for its pieces; the text itself is dropped here.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from seatrial.trace.category import Categories
from seatrial.trace.closing import close
from seatrial.trace.table import BadRow, Ints, RequestTable, SourceFile

MAX_TOKENS = 1 << 40
SHOWN_BAD_ROWS = 10
PIECE_CHARS = 256
CHARS_PER_TOKEN = 4
LIMIT = 1 << 62

TokenCounter = Callable[[str], int]


def tokens(value: object) -> int:
    """A token count: a whole number from 0 to 2^40, or the text of one.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, str):
        text = value.strip()[:40]
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
    """Collects the rows of one trace; ``build`` sorts them by arrival and closes it.

    Args:
        format_id: of the reader.
        count: tokens of a text, where a tokenizer was given; else they are estimated at
            ``CHARS_PER_TOKEN`` characters each and the column is marked as an estimate.
    """

    def __init__(self, format_id: str, count: TokenCounter | None = None) -> None:
        self.format = format_id
        self.n = 0
        self.notes: list[str] = []
        self.missing: list[str] = []
        self.estimated: list[str] = []
        self.grain_ns: int | None = None
        self.block_tokens: int | None = None
        self.next_block = 0  # for formats whose block ids are local to a file
        self.bad_count = 0
        self.ints: dict[str, array[int]] = {}
        self.features: dict[str, bytearray] = {}
        self.categories: dict[str, Categories] = {}
        self.offsets = array("q", [0])
        self.hashes = array("q")
        self.has_blocks = False
        self.chunk_offsets = array("q", [0])
        self.chunk_ids = array("q")
        self.bad_rows: list[BadRow] = []
        self.files: list[SourceFile] = []
        self._count = count
        self._key = os.urandom(32)
        self._dense: dict[bytes, int] = {}
        self._prefix: dict[tuple[int, int], int] = {}
        self._file = ("", 0, 0)

    def begin_file(self, name: str) -> None:
        """What follows comes from the file with this base name."""
        self._file = (name, self.n, self.bad_count)

    def end_file(self, sha256: str) -> None:
        """The file is read to its end."""
        name, n, bad = self._file
        self.files.append(
            SourceFile(name=name, sha256=sha256, rows=self.n - n, bad=self.bad_count - bad)
        )

    def bad(self, line: int, why: str, *, file: str | None = None) -> None:
        """Refuse a row. ``why`` carries nothing of the row's content."""
        self.bad_count += 1
        if len(self.bad_rows) < SHOWN_BAD_ROWS:
            self.bad_rows.append(BadRow(file=file or self._file[0], line=line, why=why))

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
        think_ns: int | None = None,
        session_ns: int | None = None,
        prompt: str | None = None,
        answer: str | None = None,
        features: Iterable[str] = (),
        labels: dict[str, object] | None = None,
        blocks: Sequence[int] | Ints | None = None,
        chunks: Sequence[int] | None = None,
    ) -> None:
        """One request.

        Args:
            prompt, answer: texts; used for lengths where no counts are given, and the prompt for
                prefix pieces of ``PIECE_CHARS`` where no ``blocks`` are. Not kept.
            blocks: prefix-chained ids (see ``chain`` for content ids).
            chunks: content ids of the same pieces, not chained.

        Raises:
            ValueError: a number that no trace can hold; nothing was added.
        """
        if prompt is not None and blocks is None:
            self.block_tokens = self.block_tokens or PIECE_CHARS // CHARS_PER_TOKEN
            chunks = self._pieces(prompt)
            blocks = self.chain(chunks)
        n = self.n
        values = {
            "arrival": arrival_ns,
            "input": self._length("input tokens", input_tokens, prompt),
            "output": self._length("output tokens", output_tokens, answer),
            "turn": turn,
            "ttft": ttft_ns,
            "e2e": e2e_ns,
            "think": think_ns,
            "session_ns": session_ns,
            "input_chars": None if prompt is None else len(prompt),
            "output_chars": None if answer is None else len(answer),
        }
        for value in values.values():
            if value is not None and not 0 <= value < LIMIT:
                raise ValueError("a number that is negative or absurd")
        if blocks is not None:
            self._blocks(blocks)
        for name, value in values.items():
            if value is not None:
                self._put(name, n, value)
        if session is not None and session != "":
            self._put("session", n, self._code("session", session))
        for name, category in (labels or {}).items():
            if category is not None and category != "":
                self._put(f"label/{name}", n, self._code(name, category))
        for feature in features:
            column = self.features.setdefault(feature, bytearray())
            column.extend(bytes(n - len(column)))
            column.append(1)
        self.chunk_ids.extend(chunks or ())
        self.chunk_offsets.append(len(self.chunk_ids))
        self.offsets.append(len(self.hashes))
        self.n = n + 1

    def carries(self, *features: str) -> None:
        """The source would show these features: their absence in a row is a finding, not a gap."""
        for feature in features:
            self.features.setdefault(feature, bytearray())

    def chain(self, content: Iterable[int], scope: int = 0) -> list[int]:
        """Prefix-chained ids of content ids: equal only where everything before is equal too."""
        parent = -1 - scope
        out = []
        for block in content:
            parent = self._prefix.setdefault((parent, block), len(self._prefix))
            out.append(parent)
        return out

    def dense(self, data: bytes) -> int:
        """A number for these bytes, the same for the same bytes in this trace only."""
        digest = hashlib.blake2b(data, digest_size=16, key=self._key).digest()
        return self._dense.setdefault(digest, len(self._dense))

    def build(self) -> RequestTable:
        """The table: rows in order of arrival, the first at 0."""
        return close(self)

    def _blocks(self, blocks: Sequence[int] | Ints) -> None:
        self.has_blocks = True
        if isinstance(blocks, np.ndarray):
            self.hashes.frombytes(np.ascontiguousarray(blocks, dtype=np.int64).tobytes())
            return
        before = len(self.hashes)
        try:
            self.hashes.extend(blocks)
        except (OverflowError, TypeError):
            del self.hashes[before:]
            raise ValueError("block ids: not 64-bit integers") from None

    def _pieces(self, text: str) -> list[int]:
        whole = len(text) - len(text) % PIECE_CHARS
        return [
            self.dense(text[i : i + PIECE_CHARS].encode("utf-8", "surrogatepass"))
            for i in range(0, whole, PIECE_CHARS)
        ]

    def _length(self, column: str, given: int | None, text: str | None) -> int | None:
        if given is not None or text is None:
            return given
        if self._count is not None:
            return self._count(text)
        if column not in self.estimated:
            self.estimated.append(column)
        return -(-len(text) // CHARS_PER_TOKEN)

    def _put(self, name: str, n: int, value: int) -> None:
        column = self.ints.get(name)
        if column is None:
            column = self.ints[name] = array("q")
        if len(column) < n:
            column.extend(array("q", [-1]) * (n - len(column)))
        column.append(value)

    def _code(self, name: str, value: object) -> int:
        found = self.categories.get(name)
        if found is None:
            found = self.categories[name] = Categories(name, self._key)
        return found.code(value)
