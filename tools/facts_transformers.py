"""Write src/seatrial/facts/history/model_types.json: what each release of Transformers knows.

    python tools/facts_transformers.py

An engine's generic class can run only what the Transformers in its environment knows: the model
type of config.json, and the class of that name. Both are in the tables of the release's
``models/auto``; they are read by byte range out of every wheel from 4.31 on and kept as ranges over
the releases read. Needs a network.
"""

from __future__ import annotations

import ast
import datetime
from collections.abc import Iterator
from pathlib import Path

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.facts import version as order
from seatrial.facts.extract.findings import Source
from seatrial.facts.reach.index import Index
from seatrial.facts.sync import open_release, release_file

TARGET = Path(__file__).resolve().parents[1] / "src/seatrial/facts/history/model_types.json"
FIRST = "4.31.0"
_AUTO = "transformers/models/auto/"
_TYPES = ("configuration_auto.py", "auto_mappings.py")
_CLASSES = ("modeling_auto.py",)


def tables(source: Source) -> tuple[set[str], set[str]]:
    """(model types, class names) of one release."""
    paths = [_AUTO + name for name in (*_TYPES, *_CLASSES) if source.has(_AUTO + name)]
    source.fetch(paths)
    types: set[str] = set()
    classes: set[str] = set()
    for path in paths:
        for name, key, value in _entries(source.text(path)):
            if name == "CONFIG_MAPPING_NAMES":
                types.add(key)
            elif path.endswith(_CLASSES) and name.startswith(("MODEL_", "_MODEL")):
                classes |= set(value)
    return types, classes


def _entries(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """(table, key, values) of every mapping that is assigned or updated in the file."""
    for node in ast.parse(text).body:
        name, value = _assigned(node)
        if name is None or not name.endswith("MAPPING_NAMES"):
            continue
        for part in ast.walk(value):
            if isinstance(part, ast.Dict):
                pairs = list(zip(part.keys, part.values, strict=True))
            elif isinstance(part, ast.Tuple) and len(part.elts) == 2:
                pairs = [(part.elts[0], part.elts[1])]
            else:
                continue
            for key, item in pairs:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield name, key.value, _strings(item)


def _assigned(node: ast.stmt) -> tuple[str | None, ast.AST]:
    """``NAME = ...``, ``NAME: T = ...`` or ``NAME.update(...)``."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
        return node.target.id, node.value
    call = node.value if isinstance(node, ast.Expr) else None
    called = call.func if isinstance(call, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "update":
        return (called.value.id, node) if isinstance(called.value, ast.Name) else (None, node)
    return None, node


def _strings(node: ast.AST) -> list[str]:
    constants = (n for n in ast.walk(node) if isinstance(n, ast.Constant))
    return [c.value for c in constants if isinstance(c.value, str)]


def main() -> None:
    """Read every release and write the file."""
    index = Index()
    versions: list[list[str]] = []
    read: list[tuple[set[str], set[str]]] = []
    for version in index.versions("transformers"):
        if order.is_prerelease(version) or order.key(version) < order.key(FIRST):
            continue
        try:
            file = release_file("transformers", version, index)
            found = tables(Source(open_release(file, index), version, check=False))
        except SeatrialError as error:
            print("  ", version, error)
            continue
        print(version, file.uploaded, len(found[0]), len(found[1]), flush=True)
        if len(found[0]) < 100 or len(found[1]) < 200:
            raise SystemExit(f"{version}: too little was found; the tables have moved")
        versions.append([version, (file.uploaded or "")[:10], file.name, file.sha256])
        read.append(found)
    body = {
        "schema": "seatrial/model-types/1",
        "verified_on": datetime.date.today().isoformat(),
        "members": [_AUTO + name for name in (*_TYPES, *_CLASSES)],
        "versions": versions,
        "types": ranges([r[0] for r in read]),
        "classes": ranges([r[1] for r in read]),
    }
    raw = msgspec.json.format(msgspec.json.encode(body), indent=0)
    TARGET.write_bytes(raw + b"\n")
    print(len(versions), "versions,", len(body["types"]), "types,", len(raw), "bytes")


def ranges(tables: list[set[str]]) -> dict[str, list[int]]:
    """Name -> [first, end, first, end, ...]: in the releases from ``first`` up to, not
    including, ``end``."""
    out: dict[str, list[int]] = {}
    for name in sorted(set().union(*tables)):
        edges: list[int] = []
        for place in range(len(tables) + 1):
            here = place < len(tables) and name in tables[place]
            if here != bool(len(edges) % 2):
                edges.append(place)
        out[name] = edges
    return out


if __name__ == "__main__":
    main()
