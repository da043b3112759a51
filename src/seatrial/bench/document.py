"""The documents that ``bench``, ``import`` and ``export`` print under ``--json``.

A bench document is a cell under its own schema name; a search adds its answer, and a sweep is one
such document for each load. The published schemas are made from these records.
"""

from __future__ import annotations

import msgspec

from seatrial.bench.cell import Cell
from seatrial.bench.foreign.evidence import Evidence
from seatrial.bench.search import Found


class Bench(Cell, frozen=True, kw_only=True):
    """``bench --json``; ``search`` is there after ``--search-goodput``."""

    search: Found | None = None


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """``bench --sweep --json``: one document for each load, in the order given."""

    schema: str
    loads: list[float]
    points: list[Bench]


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """``import --json``: what other tools' results are worth."""

    schema: str
    evidence: list[Evidence]


class Exported(msgspec.Struct, frozen=True, kw_only=True):
    """``export --json``: the file that was written, and its hash."""

    schema: str
    to: str
    file: str
    sha256: str
