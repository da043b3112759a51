"""ServeGen client folders (Alibaba): rates and length distributions per client, no requests.

``chunk-N-trace.csv`` has a row per window of 600 s: start (s), requests per second, CV of the gaps,
family (empty, Gamma, Weibull), shape, scale. ``chunk-N-dataset.json`` maps the start of windows of
21,600 s to fields, each a *text* that holds a Python dict of value -> probability. The text is
taken apart here number by number; nothing of it is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import UsageError
from seatrial.trace.source import STREAM_ERRORS, Member, expand, file_sha256, members
from seatrial.trace.table import Ints, SourceFile

Floats = NDArray[np.float64]
NAME = re.compile(r"chunk-(\d{1,6})-(trace\.csv|dataset\.json)\Z")
MAX_WINDOWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Pmf:
    """Values and their probabilities."""

    values: Floats
    shares: Floats

    @property
    def mean(self) -> float:
        """Mean under the probabilities as they are (they sum to one within rounding)."""
        return float(np.dot(self.values, self.shares))


@dataclass(slots=True)
class Client:
    """One client. Arrays have a row per window in which it was looked at.

    ``lengths``: start of a data window -> field -> distribution.
    """

    start_s: Ints
    rate: Floats
    cv: Floats
    family: tuple[str, ...]
    lengths: dict[int, dict[str, Pmf]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clients:
    """All clients of a folder, by number."""

    clients: dict[int, Client]
    datasets: int
    files: tuple[SourceFile, ...]


def is_servegen(paths: str | Path | Sequence[str | Path]) -> bool:
    """Whether the paths hold ServeGen's files and nothing else is asked of them."""
    first = expand(paths)[0]
    if NAME.search(first.name):
        return True
    try:
        for member in members(first):
            return bool(NAME.search(member.name))
    except STREAM_ERRORS:
        return False
    return False


def read(paths: str | Path | Sequence[str | Path]) -> Clients:
    """The clients in a folder or an archive.

    Raises:
        UsageError: a file that is not what its name says, or no client at all.
    """
    found: dict[int, Client] = {}
    lengths: dict[int, dict[int, dict[str, Pmf]]] = {}
    files = []
    for path in expand(paths):
        try:
            for member in members(path):
                if name := NAME.search(member.name):
                    number = int(name[1])
                    if name[2] == "trace.csv":
                        found[number] = _trace(member)
                    else:
                        lengths[number] = dict(_dataset(member))
        except STREAM_ERRORS as error:
            raise _damaged(path.name) from error
        files.append(SourceFile(name=path.name, sha256=file_sha256(path), rows=0, bad=0))
    if not found:
        raise UsageError(
            "no chunk-N-trace.csv in it",
            where=files[0].name,
            remedy="give a folder or archive of ServeGen's client data",
        )
    for number, windows in lengths.items():
        if number in found:
            found[number].lengths = windows
    return Clients(dict(sorted(found.items())), len(lengths), tuple(files))


def _damaged(name: str) -> UsageError:
    return UsageError(
        "this is not ServeGen's file of that name", where=name, remedy="fetch it again"
    )


def _trace(member: Member) -> Client:
    rows = []
    for _, line in member.lines():
        parts = (line or b"").split(b",")
        try:
            start, rate, cv = int(float(parts[0])), float(parts[1]), float(parts[2])
        except (ValueError, IndexError, OverflowError):
            raise _damaged(member.name) from None
        rows.append((start, rate, cv, parts[3].decode("ascii", "replace") if parts[3:] else ""))
        if len(rows) > MAX_WINDOWS or not (0 <= start < 1 << 40 and 0 <= rate < 1e9):
            raise _damaged(member.name)
    return Client(
        start_s=np.array([row[0] for row in rows], dtype=np.int64),
        rate=np.array([row[1] for row in rows]),
        cv=np.array([row[2] for row in rows]),
        family=tuple(row[3] for row in rows),
    )


def _dataset(member: Member) -> Iterator[tuple[int, dict[str, Pmf]]]:
    try:
        document = msgspec.json.decode(member.document(), type=dict[str, dict[str, str]])
        for start, fields in document.items():
            yield int(start), {name: pmf(text) for name, text in fields.items() if name[:64]}
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError):
        raise _damaged(member.name) from None


def pmf(text: str) -> Pmf:
    """``{45: 0.25, 46: 0.75}`` as arrays.

    Raises:
        ValueError: anything else.
    """
    inner = text.strip()
    if inner[:1] != "{" or inner[-1:] != "}":
        raise ValueError("not a mapping")
    pairs = [part.partition(":") for part in inner[1:-1].split(",") if part.strip()]
    values = np.array([float(key) for key, _, _ in pairs], dtype=np.float64)
    shares = np.array([float(share) for _, _, share in pairs], dtype=np.float64)
    if not (np.isfinite(values).all() and np.isfinite(shares).all() and (shares >= 0).all()):
        raise ValueError("not finite")
    return Pmf(values, shares)
