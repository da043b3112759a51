"""Safetensors headers: names, types, shapes and byte ranges, without touching the weights.

A file starts with a little-endian u64 of the header's length, then a JSON object
``name -> {dtype, shape, data_offsets}``, then the data. The format caps the header at 100 MB;
here it is also capped by the file's own size, and every range is checked against it.
Source: the format description in huggingface/safetensors README.md.
"""

from __future__ import annotations

import math
import re
import struct
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.model.bounded import damaged, parse_object, read_object
from seatrial.model.info import TensorInfo

MAX_HEADER_BYTES = 100_000_000
MAX_TENSORS = 2_000_000
INDEX = "model.safetensors.index.json"
BITS = {
    "F64": 64,
    "I64": 64,
    "U64": 64,
    "F32": 32,
    "I32": 32,
    "U32": 32,
    "F16": 16,
    "BF16": 16,
    "I16": 16,
    "U16": 16,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E4M3FN": 8,
    "F8_E8M0": 8,
    "I8": 8,
    "U8": 8,
    "BOOL": 8,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F4": 4,
    "C64": 64,
}
SHARD = re.compile(r"-(\d{5})-of-(\d{5})\.safetensors$")


class SafetensorsHeader(msgspec.Struct, frozen=True, kw_only=True):
    """One file's tensors. ``body``: bytes of data that are there; ``missing``: that are not."""

    tensors: list[TensorInfo]
    body: int
    missing: int


def read_header(path: Path) -> SafetensorsHeader:
    """The tensors of one file.

    Raises:
        IntegrityError: the header is truncated, oversized, no JSON, or contradicts itself.
        UsageError: the file cannot be opened.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(8)
            if len(head) < 8:
                raise damaged(path, "shorter than 8 bytes")
            (length,) = struct.unpack("<Q", head)
            if length > min(size - 8, MAX_HEADER_BYTES):
                raise damaged(path, f"the header claims {length} bytes in a file of {size}")
            data = file.read(length)
    except OSError as error:
        raise UsageError(
            f"{path.name} cannot be read: {error.strerror or error}",
            where=str(path),
            remedy="check the path and its permissions",
        ) from error
    entries = parse_object(data, path)
    if len(entries) > MAX_TENSORS:
        raise damaged(path, f"{len(entries)} tensors")
    body, end, tensors = size - 8 - length, 0, []
    for name, entry in entries.items():
        if name != "__metadata__":
            tensor, stop = _tensor(name, entry, path)
            tensors.append(tensor)
            end = max(end, stop)
    return SafetensorsHeader(tensors=tensors, body=body, missing=max(end - body, 0))


def _tensor(name: str, entry: Any, path: Path) -> tuple[TensorInfo, int]:
    if not isinstance(entry, dict):
        raise damaged(path, f"tensor {name[:80]!r} is no object")
    dtype = entry.get("dtype")
    shape, span = _naturals(entry.get("shape"), 16), _naturals(entry.get("data_offsets"), 2)
    if not isinstance(dtype, str) or shape is None or span is None:
        raise damaged(path, f"tensor {name[:80]!r} lacks dtype, shape or data_offsets")
    if len(span) != 2 or span[0] > span[1]:
        raise damaged(path, f"tensor {name[:80]!r} ends before it begins")
    num_bytes = span[1] - span[0]
    bits = BITS.get(dtype)
    if bits is not None and math.prod(shape) * bits != num_bytes * 8:
        raise damaged(path, f"tensor {name[:80]!r}: {dtype} {shape} is not {num_bytes} bytes")
    tensor = TensorInfo(name=name[:300], dtype=dtype[:20], shape=tuple(shape), bytes=num_bytes)
    return tensor, span[1]


def _naturals(value: Any, most: int) -> list[int] | None:
    if not isinstance(value, list) or len(value) > most:
        return None
    return value if all(type(v) is int and 0 <= v < 1 << 48 for v in value) else None


def places(path: Path) -> list[tuple[TensorInfo, int]]:
    """Each tensor of one file with the offset of its first byte in the file.

    Raises:
        IntegrityError: as ``read_header``, or the file ends before its tensors do.
        UsageError: the file cannot be opened.
    """
    header = read_header(path)
    if header.missing:
        raise damaged(path, f"{header.missing} bytes of tensors are missing")
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entries = parse_object(file.read(length), path)
    return [(t, 8 + length + entries[t.name]["data_offsets"][0]) for t in header.tensors]


def weight_files(folder: Path) -> tuple[list[Path], list[str]]:
    """The files that a loader reads, and what was noticed on the way.

    An index names them; without one, a complete ``-0000x-of-0000y`` set or ``model.safetensors``
    is taken. Copies beside them (a ``consolidated`` file, a folder ``original``) are not loaded.
    """
    index = folder / INDEX
    if index.is_file():
        return _indexed(folder, index)
    found = sorted(p for p in folder.glob("*.safetensors") if p.is_file())
    found = [p for p in found if not p.name.startswith("adapter_model")]
    main = [p for p in found if not p.name.startswith("consolidated")]
    notes = [f"{p.name} is a second copy and is not loaded" for p in found if p not in main]
    if not main:
        return found, []
    single = folder / "model.safetensors"
    if single in main and len(main) > 1 and not any(SHARD.search(p.name) for p in main):
        notes += [f"{p.name} is beside model.safetensors and not in it" for p in main[1:9]]
        return [single], notes
    notes += _gaps(main)
    return main, notes


def _indexed(folder: Path, index: Path) -> tuple[list[Path], list[str]]:
    mapping = read_object(index, limit=64 << 20).get("weight_map")
    if not isinstance(mapping, dict):
        raise damaged(index, "weight_map is missing")
    names = sorted({str(n) for n in mapping.values()})
    notes = []
    files = []
    for name in names[:10_000]:
        if Path(name).name != name:
            raise damaged(index, f"weight_map points outside its folder: {name[:80]!r}")
        if (folder / name).is_file():
            files.append(folder / name)
        else:
            notes.append(f"shard {name[:80]} is named by the index and missing")
    return files, notes


def _gaps(files: list[Path]) -> list[str]:
    marks = [m for p in files if (m := SHARD.search(p.name))]
    if not marks:
        return []
    total = int(marks[0].group(2))
    if len(marks) == total:
        return []
    return [f"{len(marks)} of {total} shards are here"]
