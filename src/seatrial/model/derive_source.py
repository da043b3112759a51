"""A GGUF file as the deriver sees it: its metadata as bytes, its tensors as places.

Deriving copies every metadata entry byte for byte, so this scan keeps the *span* of each entry
and decodes a value only when somebody asks for it. Layout (GGUF version 2 and 3, little endian):

    "GGUF" u32 version  u64 tensors  u64 entries
    entry  = string key, u32 type, value          string = u64 length, UTF-8 bytes
    tensor = string name, u32 dims, u64 size of each, u32 type, u64 offset into the data
    padding to ``general.alignment`` (32), then the tensor data

Source: ggml-org/ggml docs/gguf.md. Sizes in the file are never trusted: a count, length or offset
that points beyond the end of the file is an integrity error that names it.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from seatrial.core.errors import IntegrityError, UsageError

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q"}
_SCALARS |= {12: "d"}
_STRING, _ARRAY = 8, 9
_MAX_NAME_BYTES = 65_535
_MAX_DIMS = 4


@dataclass(frozen=True, slots=True)
class Entry:
    """One metadata entry: its key, and the bytes [start, end) that hold it whole."""

    key: str
    start: int
    end: int
    value_start: int
    type_id: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: ``shape`` with the row (fastest) dimension last, its place in the file."""

    name: str
    type_id: int
    shape: tuple[int, ...]
    offset: int  # from the start of the file
    nbytes: int

    @property
    def rows(self) -> int:
        """Number of rows: the product of all dimensions but the last."""
        return math.prod(self.shape[:-1])


@dataclass(frozen=True, slots=True)
class Source:
    """A whole, checked GGUF file."""

    path: Path
    entries: dict[str, Entry]
    tensors: tuple[Tensor, ...]
    alignment: int

    def value(self, key: str, default: Any = None) -> Any:
        """The decoded value of a metadata entry, or ``default`` where there is none."""
        entry = self.entries.get(key)
        if entry is None:
            return default
        with self.path.open("rb") as file:
            cursor = _Cursor(file, self.path)
            cursor.seek(entry.value_start)
            return cursor.value(entry.type_id)

    def raw(self, entry: Entry) -> bytes:
        """The bytes of a metadata entry exactly as the file has them."""
        with self.path.open("rb") as file:
            file.seek(entry.start)
            return file.read(entry.end - entry.start)


class _Cursor:
    """Reads forward; anything that would pass the end of the file is an integrity error."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.size = path.stat().st_size
        self.at = 0

    def seek(self, place: int) -> None:
        self.file.seek(place)
        self.at = place

    def take(self, count: int, what: str) -> bytes:
        if count > self.size - self.at:
            raise cut(self.path, f"{what} needs {count} bytes at {self.at}", self.size)
        self.at += count
        return self.file.read(count)

    def skip(self, count: int, what: str) -> None:
        if count > self.size - self.at:
            raise cut(self.path, f"{what} needs {count} bytes at {self.at}", self.size)
        self.seek(self.at + count)

    def number(self, code: str, what: str) -> Any:
        return struct.unpack("<" + code, self.take(struct.calcsize(code), what))[0]

    def text(self, what: str, limit: int | None = None) -> str:
        length = self.number("Q", what)
        if limit is not None and length > limit:
            raise _bad(self.path, f"{what} is {length} bytes long")
        return self.take(length, what).decode("utf-8", errors="replace")

    def value(self, type_id: int) -> Any:
        if type_id == _STRING:
            return self.text("a string")
        if type_id == _ARRAY:
            kind, count = self.number("I", "an array"), self.number("Q", "an array")
            if kind == _STRING:
                return [self.text("a string of an array") for _ in range(count)]
            code = _scalar(kind, self.path)
            data = self.take(struct.calcsize(code) * count, "an array")
            return list(struct.unpack(f"<{count}{code}", data))
        return self.number(_scalar(type_id, self.path), "a value")

    def skip_value(self, type_id: int, key: str) -> None:
        if type_id == _STRING:
            self.skip(self.number("Q", key), key)
        elif type_id == _ARRAY:
            kind, count = self.number("I", key), self.number("Q", key)
            if kind == _STRING:
                if count > (self.size - self.at) // 8:
                    raise cut(self.path, f"{key} claims {count} strings", self.size)
                for _ in range(count):
                    self.skip(self.number("Q", key), key)
            else:
                self.skip(struct.calcsize(_scalar(kind, self.path)) * count, key)
        else:
            self.skip(struct.calcsize(_scalar(type_id, self.path)), key)


def cut(path: Path, why: str, size: int) -> IntegrityError:
    """The error for a file that ends before its own directory says it does."""
    return IntegrityError(
        f"{path.name} is cut short: {why}, and the file ends at {size}",
        where=str(path),
        unchanged="the file is left as it is; nothing was derived",
        remedy="fetch the file again and compare its SHA-256 with the publisher's",
    )


def _bad(path: Path, why: str) -> IntegrityError:
    return IntegrityError(
        f"{path.name} is not a sound GGUF file: {why}",
        where=str(path),
        unchanged="the file is left as it is; nothing was derived",
        remedy="fetch the file again and compare its SHA-256 with the publisher's",
    )


def _scalar(type_id: int, path: Path) -> str:
    if type_id not in _SCALARS:
        raise _bad(path, f"value type {type_id} is not one that GGUF defines here")
    return _SCALARS[type_id]


def open_source(path: Path) -> Source:
    """Scan and check a GGUF file: directory read, every tensor inside the file.

    Raises:
        UsageError: not there, or not a GGUF of version 2 or 3.
        IntegrityError: cut short, or a directory that contradicts itself.
    """
    if not path.is_file():
        raise UsageError(
            f"there is no model file {path.name}",
            where=str(path),
            remedy="name an existing .gguf file in model.path",
        )
    with path.open("rb") as file:
        cursor = _Cursor(file, path)
        if cursor.size < 4 or cursor.take(4, "the magic") != MAGIC:
            raise UsageError(
                f"{path.name} is not a GGUF file (its first four bytes are not 'GGUF')",
                where=str(path),
                remedy="deriving starts from a .gguf file; name one",
            )
        version = cursor.number("I", "the version")
        if version not in (2, 3):
            raise UsageError(
                f"{path.name} is GGUF version {version}; 2 and 3 (little endian) are read",
                where=str(path),
                remedy="convert it with a current llama.cpp",
            )
        count, pairs = cursor.number("Q", "the counts"), cursor.number("Q", "the counts")
        entries = _entries(cursor, pairs)
        alignment = _alignment(cursor, entries)
        return Source(path, entries, _tensors(cursor, count, alignment), alignment)


def _entries(cursor: _Cursor, pairs: int) -> dict[str, Entry]:
    if pairs > cursor.size // 13:  # the smallest entry: key length, type, one byte
        raise cut(cursor.path, f"it claims {pairs} metadata entries", cursor.size)
    entries: dict[str, Entry] = {}
    for _ in range(pairs):
        start = cursor.at
        key = cursor.text("a metadata key", _MAX_NAME_BYTES)
        type_id = cursor.number("I", key)
        value_start = cursor.at
        cursor.skip_value(type_id, key)
        if key in entries:
            raise _bad(cursor.path, f"the metadata key {key} stands twice")
        entries[key] = Entry(key, start, cursor.at, value_start, type_id)
    return entries


def _alignment(cursor: _Cursor, entries: dict[str, Entry]) -> int:
    entry = entries.get("general.alignment")
    if entry is None:
        return 32
    back = cursor.at
    cursor.seek(entry.value_start)
    value = cursor.value(entry.type_id)
    cursor.seek(back)
    if not isinstance(value, int) or value <= 0 or value % 8 or value > 1 << 20:
        raise _bad(cursor.path, f"general.alignment is {value!r}")
    return value


def _tensors(cursor: _Cursor, count: int, alignment: int) -> tuple[Tensor, ...]:
    if count > cursor.size // 32:  # the smallest description of a tensor
        raise cut(cursor.path, f"it claims {count} tensors", cursor.size)
    found = []
    for _ in range(count):
        name = cursor.text("a tensor's name", _MAX_NAME_BYTES)
        dims = cursor.number("I", name)
        if not 1 <= dims <= _MAX_DIMS:
            raise _bad(cursor.path, f"tensor {name} has {dims} dimensions")
        shape = struct.unpack(f"<{dims}Q", cursor.take(8 * dims, name))[::-1]
        type_id, offset = cursor.number("I", name), cursor.number("Q", name)
        found.append((name, type_id, shape, offset))
    data_start = -(-cursor.at // alignment) * alignment
    tensors = []
    for name, type_id, shape, offset in found:
        nbytes = tensor_bytes(cursor.path, name, type_id, shape)
        if data_start + offset + nbytes > cursor.size:
            raise cut(
                cursor.path, f"tensor {name} ends at {data_start + offset + nbytes}", cursor.size
            )
        tensors.append(Tensor(name, type_id, shape, data_start + offset, nbytes))
    return tuple(tensors)


def tensor_bytes(path: Path, name: str, type_id: int, shape: tuple[int, ...]) -> int:
    """Bytes that a tensor of this GGML type and shape takes."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        block, size = GGML_QUANT_SIZES[GGMLQuantizationType(type_id)]
    except (ValueError, KeyError):
        raise UsageError(
            f"tensor {name} has GGML type {type_id}, which is not known here",
            where=str(path),
            remedy="start from a file of type F32, F16, BF16, Q8_0 or Q4_*",
        ) from None
    if shape[-1] % block:
        raise _bad(path, f"a row of tensor {name} ({shape[-1]}) is no multiple of {block}")
    return math.prod(shape) // block * size
