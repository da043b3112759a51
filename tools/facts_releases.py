"""What the tools share that read one thing out of every release of vLLM and SGLang."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from facts_transformers import ranges

from seatrial.core.errors import SeatrialError
from seatrial.facts import version as order
from seatrial.facts.extract.findings import Source
from seatrial.facts.reach.index import Index
from seatrial.facts.sync import open_release, release_file

Read = Callable[[Source, str], set[str]]
"""Names in one release of an engine; an empty set leaves the release out."""


def write(
    target: Path, members: dict[str, tuple[str, ...]], first: dict[str, str], read: Read
) -> None:
    """Read every release of each engine from its ``first`` on, and write the names as ranges."""
    index = Index()
    body = {
        "schema": "seatrial/config-types/1",
        "verified_on": datetime.date.today().isoformat(),
        "engines": {
            engine: _engine(engine, index, paths, first[engine], read)
            for engine, paths in members.items()
        },
    }
    target.write_bytes(msgspec.json.format(msgspec.json.encode(body), indent=1) + b"\n")


def _engine(
    engine: str, index: Index, members: tuple[str, ...], first: str, read: Read
) -> dict[str, Any]:
    versions, readings = [], []
    for version in sorted(index.versions(engine), key=order.key):
        if order.is_prerelease(version) or order.key(version) < order.key(first):
            continue
        try:
            artefact = open_release(release_file(engine, version, index), index)
            names = read(Source(artefact, version, check=False), engine)
        except SeatrialError as error:
            print("  ", engine, version, error)
            continue
        if not names:
            print("  ", engine, version, "no names found")
            continue
        versions.append(version)
        readings.append(names)
    return {"members": list(members), "versions": versions, "types": ranges(readings)}
