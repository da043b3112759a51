"""The table of requests: what every reader makes and every later stage takes.

Columns, not rows: a trace of 50 million requests is eight bytes a cell. What a source does not
carry is ``None`` for the whole column (and its name stands in ``missing``), or -1 for one row;
it is never 0 and never a guess. No prompt text is in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a trace: base name (never a path), SHA-256, rows read and rows refused."""

    name: str
    sha256: str
    rows: int
    bad: int


class BadRow(msgspec.Struct, frozen=True, kw_only=True):
    """One refused row: file, 1-based line, and why. Carries no content of the row."""

    file: str
    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Blocks:
    """Prefix blocks per request in compressed rows: request i has hashes[offsets[i]:offsets[i+1]].

    Hashes are chained: an equal hash means an equal prefix up to and including that block.
    """

    offsets: Ints  # (n + 1,)
    hashes: Ints  # (offsets[n],)
    block_tokens: int


@dataclass(frozen=True, slots=True)
class RequestTable:
    """A trace in memory. All arrays have length ``n``; arrival order is ascending.

    Attributes:
        format: id of the reader, e.g. ``azure-csv``.
        arrival_ns: from the first arrival (which is 0); None where the source has no times.
        epoch_ns: moment of the first arrival, ns since 1970 UTC; None where times are relative.
        grain_ns: smallest step that the time stamps resolve (3_000_000_000 for Mooncake batches).
        input_tokens, output_tokens: -1 where one row lacks it.
        session, turn: dense session number and 0-based turn; -1 where none.
        features: name (``stream``, ``tools``, ``schema``, ``images``, ...) -> bool per request.
        label: name (``model``, ``adapter``, ``client``, ``outcome``) -> keyed-hash or plain
            category code per request, with ``labels[name]`` the categories.
        ttft_ns, e2e_ns: logged latency where the source has it, -1 where a row lacks it.
        think_ns: logged pause of the client before the request, -1 where a row lacks it.
        session_ns: time from the session's first request, where that is all the source knows
            (``arrival_ns`` is then None: how sessions lie to each other is not in the log).
        input_chars, output_chars: lengths of texts whose tokens were not counted by the source.
        chunks: content ids, not chained: equal content at any place (for chunk reuse).
        estimated: names of columns that were estimated from text, not read.
        missing: what the source does not carry, in the words of the fingerprint.
    """

    format: str
    n: int
    arrival_ns: Ints | None
    grain_ns: int | None
    input_tokens: Ints | None
    output_tokens: Ints | None
    session: Ints | None = None
    turn: Ints | None = None
    blocks: Blocks | None = None
    ttft_ns: Ints | None = None
    e2e_ns: Ints | None = None
    epoch_ns: int | None = None
    think_ns: Ints | None = None
    session_ns: Ints | None = None
    input_chars: Ints | None = None
    output_chars: Ints | None = None
    chunks: Blocks | None = None
    estimated: tuple[str, ...] = ()
    features: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    label: dict[str, Ints] = field(default_factory=dict)
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    files: tuple[SourceFile, ...] = ()
    bad_rows: tuple[BadRow, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
