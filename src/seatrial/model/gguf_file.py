"""GGUF headers: metadata and tensor list, own reader with every count checked.

Layout (little-endian, version 2 or 3): magic ``GGUF``, u32 version, u64 tensors, u64 keys, the
key-value pairs, then per tensor name, dimensions, type, offset. Source: ggml docs/gguf.md.
The file is mapped, not read; arrays longer than ``KEEP`` are walked and only their length kept,
so the cost is bounded by the header's own bytes.
"""

from __future__ import annotations

import itertools
import math
import mmap
import re
import struct
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.model.bounded import damaged
from seatrial.model.gguf_types import TYPES
from seatrial.model.info import TensorInfo

MAGIC = b"GGUF"
KEEP = 1024
MAX_STRING = 16 << 20
SPLIT = re.compile(r"^(.*)-(\d{5})-of-(\d{5})\.gguf$")
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}


class Length(msgspec.Struct, frozen=True):
    """Stands for an array that was too long to keep."""

    items: int


class GgufHeader(msgspec.Struct, frozen=True, kw_only=True):
    """One file's metadata and tensors. ``missing``: bytes of data that the file should have and
    has not; ``body``: bytes of data that it has."""

    version: int
    values: dict[str, Any]
    tensors: list[TensorInfo]
    body: int
    missing: int


class _Cursor:
    """Reads forward through mapped bytes and never past their end."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data = data
        self.at = 0
        self.size = len(data)
        self.path = path

    def need(self, num_bytes: int) -> int:
        start = self.at
        if num_bytes > self.size - start:
            raise damaged(self.path, f"truncated at byte {start}")
        self.at = start + num_bytes
        return start

    def u32(self) -> int:
        value: int = struct.unpack_from("<I", self.data, self.need(4))[0]
        return value

    def u64(self) -> int:
        value: int = struct.unpack_from("<Q", self.data, self.need(8))[0]
        return value

    def text(self) -> str:
        length = self.u64()
        if length > MAX_STRING:
            raise damaged(self.path, f"a string of {length} bytes")
        start = self.need(length)
        return self.data[start : start + length].decode("utf-8", "replace")

    def skip_texts(self, count: int) -> None:
        data, at, size = self.data, self.at, self.size
        unpack = struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > size:
                raise damaged(self.path, f"truncated at byte {at}")
            at += 8 + unpack(data, at)[0]
            if at > size:
                raise damaged(self.path, f"truncated at byte {at}")
        self.at = at

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            form = _SCALARS[kind]
            return struct.unpack_from(form, self.data, self.need(struct.calcsize(form)))[0]
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY and depth < 3:
            return self.array(depth)
        raise damaged(self.path, f"unknown value type {kind}")

    def array(self, depth: int) -> Any:
        kind, count = self.u32(), self.u64()
        width = struct.calcsize(_SCALARS[kind]) if kind in _SCALARS else 8
        if count > (self.size - self.at) // width:
            raise damaged(self.path, f"an array of {count} items does not fit")
        if count <= KEEP:
            return [self.value(kind, depth + 1) for _ in range(count)]
        if kind in _SCALARS:
            self.need(count * width)
        elif kind == _STRING:
            self.skip_texts(count)
        else:
            raise damaged(self.path, "an array of arrays is too long")
        return Length(count)


def read_header(path: Path) -> GgufHeader:
    """Metadata and tensors of one file.

    Raises:
        IntegrityError: no GGUF, big-endian, truncated, or counts that do not fit the file.
        UsageError: it cannot be opened.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(_Cursor(data, path))
    except OSError as error:
        raise UsageError(
            f"{path.name} cannot be read: {error.strerror or error}",
            where=str(path),
            remedy="check the path and its permissions",
        ) from error
    except ValueError as error:  # an empty file cannot be mapped
        raise damaged(path, str(error)) from error


def _read(cursor: _Cursor) -> GgufHeader:
    start = cursor.need(4)
    if cursor.data[start : start + 4] != MAGIC:
        raise damaged(cursor.path, "it does not begin with GGUF")
    version = cursor.u32()
    if version not in (2, 3):
        raise damaged(cursor.path, f"version {version} (2 and 3, little-endian, are read)")
    tensors, keys = cursor.u64(), cursor.u64()
    room = cursor.size - cursor.at
    if tensors > room // 24 or keys > room // 13:
        raise damaged(cursor.path, f"{tensors} tensors and {keys} keys do not fit the file")
    values = {}
    for _ in range(keys):
        name = cursor.text()
        values[name[:200]] = cursor.value(cursor.u32())
    rows = [_tensor_row(cursor) for _ in range(tensors)]
    sized, body, end = _sized(rows, values, cursor)
    missing = max(end - body, 0)
    return GgufHeader(version=version, values=values, tensors=sized, body=body, missing=missing)


def _tensor_row(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    name, dims = cursor.text(), cursor.u32()
    if dims > 8:
        raise damaged(cursor.path, f"tensor {name[:80]!r} has {dims} dimensions")
    shape = tuple(cursor.u64() for _ in range(dims))
    return name[:300], shape, cursor.u32(), cursor.u64()


def _sized(
    rows: list[tuple[str, tuple[int, ...], int, int]], values: dict[str, Any], cursor: _Cursor
) -> tuple[list[TensorInfo], int, int]:
    """Bytes per tensor from type and shape; an unknown type takes the gap to the next offset.

    Returns the tensors, the bytes of data that are there, and those that should be.
    """
    align = values.get("general.alignment", 32)
    if not isinstance(align, int) or not 1 <= align <= 1 << 20:
        raise damaged(cursor.path, "general.alignment is out of range")
    body = max(cursor.size - -(-cursor.at // align) * align, 0)
    end = 0
    starts = [*sorted({row[3] for row in rows}), body]
    following = dict(itertools.pairwise(starts))
    tensors = []
    for name, shape, kind, offset in rows:
        known = TYPES.get(kind)
        elements = math.prod(shape)
        if known is None:
            size = max(following.get(offset, offset) - offset, 0)
        else:
            if elements % known[1]:
                raise damaged(cursor.path, f"tensor {name[:80]!r} is no whole number of blocks")
            size = elements // known[1] * known[2]
        if max(offset, size) >= 1 << 50:
            raise damaged(cursor.path, f"tensor {name[:80]!r} is larger than any machine")
        end = max(end, offset + size)
        label = known[0] if known else f"type-{kind}"
        tensors.append(TensorInfo(name=name, dtype=label, shape=shape, bytes=size))
    return tensors, body, end


def split_files(path: Path) -> tuple[list[Path], int]:
    """All files of the split set that ``path`` belongs to, and how many there should be."""
    match = SPLIT.match(path.name)
    if not match:
        return [path], 1
    total = int(match.group(3))
    if total > 1000:
        raise damaged(path, f"a set of {total} files")
    names = [f"{match.group(1)}-{n:05d}-of-{total:05d}.gguf" for n in range(1, total + 1)]
    return [p for n in names if (p := path.with_name(n)).is_file()], total
