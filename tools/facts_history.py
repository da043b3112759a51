"""Write src/seatrial/facts/history/ENGINE.json: which classes each old release had.

    python tools/facts_history.py vllm lmdeploy sglang          # every release
    python tools/facts_history.py --missing sglang              # those that the file lacks

The snapshot holds full readings of some versions. Between and before them a few members of each
other release are read by byte range (its registry, its model files, its platform lists), and what
they say is kept as ranges over the versions read. Needs a network.
"""

from __future__ import annotations

import ast
import datetime
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.facts import load
from seatrial.facts import version as order
from seatrial.facts.extract import lmdeploy, sglang, vllm
from seatrial.facts.extract.findings import Findings, Missing, Source
from seatrial.facts.extract.vllm_places import Places
from seatrial.facts.reach.index import Index
from seatrial.facts.sync import open_release, release_file

FOLDER = Path(__file__).resolve().parents[1] / "src" / "seatrial" / "facts" / "history"
FIRST = {"vllm": "0.2.0", "lmdeploy": "0.2.0", "sglang": "0.1.5"}
PROJECT = {"vllm": "vllm", "lmdeploy": "lmdeploy", "sglang": "sglang"}

Key = tuple[str, str, str | None]
"""predicate, subject, layer"""
Cell = tuple[Any, ...]
"""value, member, line, supports"""

_OLD_TABLES = re.compile(r"^_?[A-Z_]*MODELS$|^_MODEL_REGISTRY$")
_NO_TABLES = ("_OOT", "_ROCM", "_PREVIOUSLY", "_PP_SUPPORTED", "_VLLM")
_METHODS = ("_QUANTIZATION_CONFIG_REGISTRY", "QUANTIZATION_METHODS", "_QUANTIZATION_REGISTRY")
_CLASS = re.compile(r"^class\s+(\w+)\s*\(([^)]*)\)\s*:", re.MULTILINE)


def vllm_rows(source: Source, version: str) -> dict[Key, Cell]:
    """Classes with what they support, quantisation methods, and those allowed on ROCm."""
    rows = _vllm_new(source, version) if order.key(version) >= order.key("0.6.3") else {}
    rows = rows or _vllm_old(source)
    rows.update(_vllm_methods(source))
    rows.update(vllm_gates(source))
    return rows


def vllm_gates(source: Source) -> dict[Key, Cell]:
    """The capability that a method's class returns, where it is one constant."""
    folder = "vllm/model_executor/layers/quantization"
    paths = [*source.glob(f"{folder}/*.py"), *source.glob(f"{folder}/compressed_tensors/*.py")]
    source.fetch(paths)
    gates = {k: v for p in paths for k, v in _gates(source.text(p), p)}
    rows: dict[Key, Cell] = {}
    for node in ast.walk(ast.parse(source.text(f"{folder}/__init__.py") or "")):
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            gate = gates.get(_called(value) or "")
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and gate is not None:
                rows[("min_capability", key.value, None)] = (*gate, None)
    return rows


def _vllm_new(source: Source, version: str) -> dict[Key, Cell]:
    places, findings = Places("vllm"), Findings(source, "vllm", version)
    try:
        claims = vllm.model_claims(findings, "vllm")
        vllm.architectures(findings, places, claims)
    except Missing as error:
        print("  ", version, error)
        return {}
    return _from(findings, ("architecture",))


def _vllm_old(source: Source) -> dict[Key, Cell]:
    """Before 0.6.3: dictionaries in three places; LoRA by an attribute, PP by a list."""
    rows: dict[Key, Cell] = {}
    models = source.glob("vllm/model_executor/models/*.py")
    places = [
        "vllm/model_executor/models/registry.py",
        "vllm/model_executor/models/__init__.py",
        "vllm/model_executor/model_loader.py",
    ]
    source.fetch([*models, *places, "vllm/config.py"])
    texts = {p: source.text(p) for p in models}
    pipelined = _strings(source.text("vllm/config.py"), "_PP_SUPPORTED_MODELS")
    for place in places:
        for name, where, cls, line in _registry(source.text(place)):
            path = f"vllm/model_executor/models/{where}.py" if where else None
            supports = _old_claims(texts, path, cls)
            supports += ["pp"] if name in pipelined else []
            rows[("architecture", name, None)] = ("native", place, line, tuple(sorted(supports)))
    return rows


def _registry(text: str) -> Iterator[tuple[str, str | None, str, int]]:
    """Entries of the registry's dictionaries: name, module, class, line."""
    for name, node in _assigned(text):
        if not _OLD_TABLES.match(name) or name.startswith(_NO_TABLES):
            continue
        if not isinstance(node, ast.Dict):
            continue
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if isinstance(value, ast.Tuple) and len(value.elts) == 2:
                where, cls = (ast.literal_eval(e) for e in value.elts)
                yield key.value, str(where), str(cls), key.lineno
            elif isinstance(value, ast.Name | ast.Attribute):
                cls = value.id if isinstance(value, ast.Name) else value.attr
                yield key.value, None, cls, key.lineno


def _assigned(text: str) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.parse(text or "").body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value


def _strings(text: str, name: str) -> set[str]:
    """String constants inside what ``name`` is assigned, anywhere in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text or "")):
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(_called(t) == name for t in targets) and node.value is not None:  # type: ignore[union-attr]
            constants = (n for n in ast.walk(node.value) if isinstance(n, ast.Constant))  # type: ignore[union-attr]
            found |= {c.value for c in constants if isinstance(c.value, str)}
    return found


def _called(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _old_claims(texts: dict[str, str], path: str | None, cls: str) -> list[str]:
    """``lora`` if the class or a base of it in these files has the attribute or the mix-in."""
    pool = {path: texts[path]} if path in texts else texts
    seen: set[str] = set()
    front = [cls]
    while front:
        name = front.pop()
        if name in seen:
            continue
        seen.add(name)
        for text in (*pool.values(), *(texts.values() if len(seen) > 1 else ())):
            hit = re.search(rf"^class {re.escape(name)}\b(\(([^)]*)\))?:", text, re.MULTILINE)
            if hit is None:
                continue
            body = text[hit.end() :].split("\nclass ", 1)[0]
            bases = [b.strip().rpartition(".")[2] for b in (hit[2] or "").split(",") if b.strip()]
            if "SupportsLoRA" in bases or "supported_lora_modules" in body:
                return ["lora"]
            front += [b for b in bases if not b.startswith("nn")]
            break
    return []


def _vllm_methods(source: Source) -> dict[Key, Cell]:
    """Names of quantisation methods, and those that ROCm may use (a list until 0.8, then the
    platform's)."""
    rows: dict[Key, Cell] = {}
    table = "vllm/model_executor/layers/quantization/__init__.py"
    rocm = ("vllm/config.py", "vllm/platforms/rocm.py")
    source.fetch([table, *rocm])
    for name, node in _assigned(source.text(table)):
        if name not in _METHODS:
            continue
        keys = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        if not keys:  # Literal[...] and get_args: the newer form
            keys = [n for n in ast.walk(node) if isinstance(n, ast.Constant)]
        for key in keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                rows[("quantization", key.value, None)] = ("native", table, key.lineno, None)
    for node in ast.walk(ast.parse(source.text(table) or "")):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    rows.setdefault(
                        ("quantization", key.value, None), ("native", table, key.lineno, None)
                    )
    for path, name in zip(
        rocm, ("rocm_supported_quantization", "supported_quantization"), strict=True
    ):
        allowed = _strings(source.text(path), name)
        for method in allowed:
            rows[("quantization", method, "rocm")] = ("native", path, None, None)
    return rows


def _pins(source: Source) -> dict[Key, Cell]:
    """What the release requires of PyTorch and Transformers (an extra's pin counts: without its
    extras SGLang does not serve)."""
    rows: dict[Key, Cell] = {}
    for path in source.glob("*.dist-info/METADATA"):
        for hit in _PIN.finditer(source.text(path)):
            rows.setdefault(
                ("requires", hit[1], None), (hit[2].replace(" ", "").strip("()"), path, None, None)
            )
    return rows


_PIN = re.compile(
    r"^Requires-Dist: (torch|transformers)\s*(\(?[<>=!~][^;\n]*)", re.MULTILINE | re.IGNORECASE
)


def sglang_rows(source: Source, version: str) -> dict[Key, Cell]:
    """Entry classes of the model files, and quantisation methods with their gates."""
    findings = Findings(source, "sglang", version)
    paths = source.glob("sglang/srt/models/*.py")
    source.fetch(paths)
    sglang.architectures(findings, paths)
    return {**_from(findings, ("architecture",)), **sglang_methods(source)}


def sglang_methods(source: Source) -> dict[Key, Cell]:
    """Dictionaries of methods (with vLLM's, as long as it took those), and the constant that a
    method's class returns as its capability. Before 0.4 the dictionary was vLLM's."""
    table = "sglang/srt/layers/quantization/__init__.py"
    paths = source.glob("sglang/srt/layers/quantization/*.py")
    paths += source.glob("sglang/srt/layers/quantization/*/*.py")
    source.fetch(paths)
    gates = {k: v for p in paths for k, v in _gates(source.text(p), p)}
    rows: dict[Key, Cell] = {}
    for node in _tables(ast.parse(source.text(table) or "").body):
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            rows[("quantization", key.value, None)] = ("native", table, key.lineno, None)
            gate = gates.get(_called(value) or "")
            if gate is not None:
                rows[("min_capability", key.value, None)] = (*gate, None)
    return rows


def _tables(body: list[ast.stmt]) -> Iterator[ast.Dict]:
    """Dictionaries of methods that hold on CUDA: assigned, or joined by ``update``."""
    for node in body:
        if isinstance(node, ast.If):
            test = ast.unparse(node.test)
            if "is_cuda" in test or not re.search(r"is_(hip|npu|cpu|xpu|musa|mps)", test):
                yield from _tables(node.body)
            continue
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            owner, value = ast.unparse(value.func.value), value.args[0] if value.args else None
        elif isinstance(node, ast.Assign):
            owner = ast.unparse(node.targets[0])
        else:
            owner = ast.unparse(node.target) if isinstance(node, ast.AnnAssign) else ""
        if owner.endswith("QUANTIZATION_METHODS") and isinstance(value, ast.Dict):
            yield value


def _gates(text: str, path: str) -> Iterator[tuple[str, tuple[int, str, int]]]:
    """(class, (capability, path, line)) where ``get_min_capability`` is one constant."""
    for node in ast.parse(text or "").body:
        if not isinstance(node, ast.ClassDef):
            continue
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name == "get_min_capability":
                found = [n.value for n in ast.walk(part) if isinstance(n, ast.Return)]
                constant = found[0] if len(found) == 1 else None
                if isinstance(constant, ast.Constant) and isinstance(constant.value, int):
                    yield node.name, (constant.value, path, part.lineno)


def lmdeploy_rows(source: Source, version: str) -> dict[Key, Cell]:
    """Both engines' tables."""
    findings = Findings(source, "lmdeploy", version)
    try:
        lmdeploy.architectures(findings)
    except Missing as error:
        print("  ", version, error)
        return {}
    rows = _from(findings, ("architecture",))
    by_class = order.key(version) >= order.key("0.6.0")  # before, PyTorch's table named modules
    return {k: c for k, c in rows.items() if k[2] == "turbomind" or by_class}


def _from(findings: Findings, predicates: tuple[str, ...]) -> dict[Key, Cell]:
    rows: dict[Key, Cell] = {}
    members = findings.file(released=None, verified_on="", extractor="").members
    for predicate in predicates:
        for row in findings.rows.get(predicate, []):
            cells = [*row, *["extracted", None, None, {}][len(row) - 4 :]]
            subject, value, member, line, _, _, layer, detail = cells
            supports = detail.get("supports")
            path = members[member].path
            last = detail.get("last_version")
            cell = (value, path, line, tuple(sorted(supports)) if supports is not None else None)
            rows.setdefault((predicate, subject, layer), (*cell, last) if last else cell)
    return rows


READERS = {"vllm": vllm_rows, "sglang": sglang_rows, "lmdeploy": lmdeploy_rows}


def write(engine: str, *, missing: bool = False) -> None:
    """Read the releases (``missing``: those that the engine's file lacks) and write the file."""
    index, known = Index(), set(load(user=Path("/nonexistent")).versions(engine))
    listed = [
        v
        for v in index.versions(PROJECT[engine])
        if not order.is_prerelease(v)
        and order.key(v) >= order.key(FIRST[engine])
        and not any(order.same(v, k) for k in known)
    ]
    kept = _kept(engine) if missing else {}
    versions, tables = [], []
    for version in sorted(set(listed), key=order.key):
        if version in kept:
            versions.append(kept[version][0])
            tables.append(kept[version][1])
            continue
        try:
            file = release_file(engine, version, index)
            source = Source(open_release(file, index), version, check=False)
            rows = {**READERS[engine](source, version), **_pins(source)}
        except SeatrialError as error:
            print("  ", version, error)
            continue
        if sum(k[0] == "architecture" for k in rows) < 5:
            print("  ", version, "too few classes", len(rows))
            continue
        print(version, len(rows), flush=True)
        versions.append([version, (file.uploaded or "")[:10], file.name, file.sha256])
        tables.append(rows)
    FOLDER.mkdir(exist_ok=True)
    body = {
        "schema": "seatrial/facts-history/1",
        "engine": engine,
        "verified_on": datetime.date.today().isoformat(),
        "versions": versions,
        "rows": ranges(tables),
    }
    raw = msgspec.json.format(msgspec.json.encode(body), indent=0)
    (FOLDER / f"{engine}.json").write_bytes(raw + b"\n")
    print(engine, len(versions), "versions,", len(body["rows"]), "ranges,", len(raw), "bytes")


def _kept(engine: str) -> dict[str, tuple[list[str], dict[Key, Cell]]]:
    """version -> (its row, its table) of what the engine's file holds."""
    body = msgspec.json.decode((FOLDER / f"{engine}.json").read_bytes())
    tables: list[dict[Key, Cell]] = [{} for _ in body["versions"]]
    for predicate, subject, layer, value, member, line, supports, last, first, end in body["rows"]:
        cell: Cell = (value, member, line, tuple(supports) if supports is not None else None)
        for place in range(first, end):
            tables[place][(predicate, subject, layer)] = (*cell, last) if last else cell
    return {row[0]: (row, table) for row, table in zip(body["versions"], tables, strict=True)}


def ranges(tables: list[dict[Key, Cell]]) -> list[list[Any]]:
    """``[predicate, subject, layer, value, member, line, supports, last, first, end]``: holds from
    the version at ``first`` up to the one at ``end``, not included."""
    out: list[list[Any]] = []
    keys = sorted({k for t in tables for k in t}, key=lambda k: (k[0], k[1], k[2] or ""))
    for key in keys:
        start: int | None = None
        for place in range(len(tables) + 1):
            here = tables[place].get(key) if place < len(tables) else None
            before = tables[start].get(key) if start is not None else None
            if start is not None and (here is None or _claim(here) != _claim(before)):
                out.append([*key, *_row(before), start, place])
                start = None
            if here is not None and start is None:
                start = place
    return out


def _claim(cell: Cell | None) -> tuple[Any, ...]:
    """What is claimed, without where it stands."""
    return () if cell is None else (cell[0], cell[3], cell[4] if len(cell) > 4 else None)


def _row(cell: Cell | None) -> list[Any]:
    assert cell is not None
    value, member, line, supports = cell[:4]
    last = cell[4] if len(cell) > 4 else None
    return [value, member, line, list(supports) if supports is not None else None, last]


if __name__ == "__main__":
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    for engine in names or list(READERS):
        write(engine, missing="--missing" in sys.argv)
