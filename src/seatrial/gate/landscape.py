"""The map of engines, read from the facts: what each is for, and what sets it apart.

Two axes: server or edge, easy or extreme (effort spent on one card's last per cent). Three
variables tell engines apart: memory management (paged or reserved), scheduling (per iteration or
per request), kernels (hand-written, compiled, generic). Every cell is a fact with its source; an
empty cell means that no fact speaks of it. Nothing here says which one is faster.
"""

from __future__ import annotations

import msgspec

from seatrial.core.provenance import Provenance, provenance
from seatrial.facts import ENGINES, Fact, FactSet, FactStore

SCHEMA = "seatrial/landscape/1"
VENDORS = ("nvidia", "amd", "intel", "apple", "cpu")


class MapRow(msgspec.Struct, frozen=True, kw_only=True):
    """One engine. ``facts`` are the ids behind the cells."""

    engine: str
    layer: str
    place: str | None
    effort: str | None
    version: str | None
    released: str | None
    maintenance: str | None
    memory: str | None
    prefix_cache: str | None
    scheduling: str | None
    kernels: str | None
    formats: list[str]
    platforms: list[str]
    facts: list[str]


class Landscape(msgspec.Struct, frozen=True, kw_only=True):
    """The whole map."""

    schema: str
    engines: list[MapRow]
    provenance: Provenance


def landscape(store: FactStore) -> Landscape:
    """The map as of the newest version known of each engine."""
    rows = [_row(name, store.engine(name)) for name in ENGINES]
    return Landscape(schema=SCHEMA, engines=rows, provenance=provenance())


def _row(name: str, known: FactSet) -> MapRow:
    school = known.get("school", "engine")
    cells = {
        "memory": known.get("memory_management", "kv_cache"),
        "prefix": known.get("memory_management", "prefix_cache"),
        "scheduling": known.get("scheduling", "batching"),
        "maintenance": known.get("maintenance", name),
        "kernels": _kernels(known),
    }
    place = school.value if school and isinstance(school.value, list) else [None, None]
    used = [f.id for f in (school, *cells.values()) if f is not None]
    return MapRow(
        engine=name,
        layer=str(school.detail.get("layer", "engine")) if school else "engine",
        place=place[0],
        effort=place[1],
        version=known.resolved or known.newest,
        released=known.released,
        maintenance=_text(cells["maintenance"]),
        memory=_text(cells["memory"]),
        prefix_cache=_text(cells["prefix"]),
        scheduling=_text(cells["scheduling"]),
        kernels=_text(cells["kernels"]),
        formats=sorted(
            f.subject
            for f in known.all("weight_format")
            if f.value in ("native", "conversion", "plugin") and ":" not in f.subject
        ),
        platforms=[v for v in VENDORS if _runs(known, v)],
        facts=used,
    )


def _kernels(known: FactSet) -> Fact | None:
    for subject in ("all", "gemm", "attention"):
        if (fact := known.get("kernel_source", subject)) is not None:
            return fact
    return None


def _text(fact: Fact | None) -> str | None:
    if fact is None:
        return None
    return ", ".join(map(str, fact.value)) if isinstance(fact.value, list) else str(fact.value)


def _runs(known: FactSet, vendor: str) -> bool:
    fact = known.get("platform", vendor)
    return fact is not None and fact.value in ("native", "plugin")
