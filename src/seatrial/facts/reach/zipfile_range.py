"""Members of a zip archive through "read bytes a to b", without the rest of it.

The format (PKWARE APPNOTE 6.3.10, sections 4.3 and 4.4): the directory is at the end, found
through the end record (22 bytes and a comment), or its 64-bit form. Each entry gives the offset
of a local header, after which the compressed bytes follow. So a reader needs the tail, the
directory, and the bytes of the members it wants.

Everything in the archive is a claim: names that leave the archive, sizes that do not fit,
overlapping or truncated directories, bytes that inflate to more than they say, and a wrong
checksum are integrity errors.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from seatrial.core.errors import IntegrityError

ReadRange = Callable[[int, int], bytes]
"""(start, stop) -> exactly those bytes."""

_TAIL = 1 << 16
_END = struct.Struct("<4s4H2LH")
_END64_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_STORED, _DEFLATED = 0, 8
_DIRECTORY_MAX = 64 << 20
_RATIO_MAX = 1100
"""Deflate cannot exceed 1032:1 (zlib, "Maximum Expansion Factor")."""

_GAP = 48 << 10
"""Members closer than this are fetched in one request: a request costs more than 48 KiB."""
_SPAN_MAX = 16 << 20
_TOTAL_MAX = 1 << 30


class Entry(msgspec.Struct, frozen=True):
    """One member: name, sizes, checksum, method, and where its local header is."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    offset: int


class RangeZip:
    """A zip archive of ``size`` bytes behind ``read``."""

    def __init__(self, read: ReadRange, size: int, where: str) -> None:
        self._read = read
        self._size = size
        self._where = where
        self.entries: dict[str, Entry] = {}
        self._load()

    def _bad(self, why: str) -> IntegrityError:
        return IntegrityError(
            f"not a sound zip archive: {why}",
            where=self._where,
            unchanged="no fact was taken from it",
            remedy="download it again, or compare its hash with the publisher's",
        )

    def _load(self) -> None:
        start = max(0, self._size - _TAIL)
        tail = self._read(start, self._size)
        count, length, offset = self._find_directory(tail, start)
        if offset + length > self._size or length > _DIRECTORY_MAX:
            raise self._bad("its directory does not fit into the file")
        if offset >= start:
            directory = tail[offset - start : offset - start + length]
        else:
            directory = self._read(offset, min(start, offset + length))
            directory += tail[: max(0, offset + length - start)]
        self._parse_directory(directory, count, offset)

    def _find_directory(self, tail: bytes, start: int) -> tuple[int, int, int]:
        at = tail.rfind(b"PK\5\6")
        if at < 0 or at + _END.size > len(tail):
            raise self._bad("the end record is missing (truncated?)")
        _, _, _, _, count, length, offset, _ = _END.unpack_from(tail, at)
        if 0xFFFFFFFF not in (length, offset) and count != 0xFFFF:
            return count, length, offset
        place = at - _END64_LOCATOR.size
        if place < 0 or tail[place : place + 4] != b"PK\6\7":
            raise self._bad("the 64-bit end record is missing")
        _, _, end64, _ = _END64_LOCATOR.unpack_from(tail, place)
        if end64 < start or end64 - start + _END64.size > len(tail):
            raise self._bad("the 64-bit end record is not where it should be")
        fields = _END64.unpack_from(tail, end64 - start)
        if fields[0] != b"PK\6\6":
            raise self._bad("the 64-bit end record is damaged")
        return fields[7], fields[8], fields[9]

    def _parse_directory(self, data: bytes, count: int, directory_offset: int) -> None:
        at = 0
        while at + _ENTRY.size <= len(data):
            fields = _ENTRY.unpack_from(data, at)
            if fields[0] != b"PK\1\2":
                raise self._bad("a directory entry is damaged")
            name_length, extra_length, comment_length = fields[10], fields[11], fields[12]
            end = at + _ENTRY.size + name_length + extra_length + comment_length
            if end > len(data):
                raise self._bad("the directory is truncated")
            raw = data[at + _ENTRY.size : at + _ENTRY.size + name_length]
            extra = data[at + _ENTRY.size + name_length : end - comment_length]
            self._add(raw, fields, extra, directory_offset)
            at = end
        if at != len(data) or (count != 0xFFFF and len(self.entries) > count):
            raise self._bad("the directory is truncated")
        if not self.entries and count:
            raise self._bad("the directory is empty")
        self._check_overlap()

    def _check_overlap(self) -> None:
        """Members that share bytes are how a small archive claims petabytes."""
        end = 0
        for entry in sorted(self.entries.values(), key=lambda e: e.offset):
            if entry.offset < end:
                raise self._bad(f"{entry.name!r} shares its bytes with another member")
            end = entry.offset + _LOCAL.size + entry.packed

    def _add(
        self, raw: bytes, fields: tuple[int, ...], extra: bytes, directory_offset: int
    ) -> None:
        name = raw.decode("utf-8", "surrogateescape")
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or "\0" in name or ":" in parts[0]:
            raise self._bad(f"a member's name leaves the archive: {name!r}")
        if name.endswith("/"):
            return
        packed, size, offset = _with_zip64(fields[8], fields[9], fields[16], extra)
        if offset + packed > directory_offset:
            raise self._bad(f"{name!r} does not fit into the file")
        if name in self.entries:
            raise self._bad(f"{name!r} is in it twice")
        self.entries[name] = Entry(name, fields[4], fields[7], packed, size, offset)

    def read(self, name: str, *, limit: int = 32 << 20) -> bytes:
        """One member's bytes, checked. Raises KeyError if it is not there, IntegrityError."""
        return self.read_many([name], limit=limit)[name]

    def read_many(self, names: Iterable[str], *, limit: int = 32 << 20) -> dict[str, bytes]:
        """Several members, neighbours fetched together. Errors as ``read``."""
        wanted = sorted((self.entries[n] for n in set(names)), key=lambda e: e.offset)
        for entry in wanted:
            if entry.size > limit:
                raise self._bad(f"{entry.name!r} says it holds {entry.size} bytes")
        if sum(e.size for e in wanted) > _TOTAL_MAX:
            raise self._bad(f"the members asked for say they hold more than {_TOTAL_MAX} bytes")
        found: dict[str, bytes] = {}
        for span in _spans(wanted):
            start = span[0].offset
            stop = min(self._size, span[-1].offset + _reach(span[-1]))
            data = self._read(start, stop)
            for entry in span:
                found[entry.name] = self._unpack(entry, data, start)
        return found

    def stream(self, name: str, *, block: int = 8 << 20) -> Iterator[bytes]:
        """One member, however large, in pieces; checked at the end. Errors as ``read``."""
        entry = self.entries[name]
        head = self._read(entry.offset, min(self._size, entry.offset + _LOCAL.size))
        if head[:4] != b"PK\3\4":
            raise self._bad(f"{entry.name!r} is not where the directory says")
        fields = _LOCAL.unpack_from(head, 0)
        at = entry.offset + _LOCAL.size + fields[9] + fields[10]
        stop = at + entry.packed
        inflater = zlib.decompressobj(-15) if entry.method == _DEFLATED else None
        crc = size = 0
        while at < stop:
            packed = self._read(at, min(stop, at + block))
            at += len(packed)
            for plain in self._inflated(entry, inflater, packed):
                size += len(plain)
                crc = zlib.crc32(plain, crc)
                if size > entry.size:
                    raise self._bad(f"{entry.name!r} holds more than it says")
                yield plain
        if size != entry.size or crc != entry.crc:
            raise self._bad(f"{entry.name!r} does not match its checksum")

    def _inflated(
        self, entry: Entry, inflater: Any, packed: bytes, most: int = 16 << 20
    ) -> Iterator[bytes]:
        if inflater is None:
            yield packed
            return
        try:
            while packed:
                yield inflater.decompress(packed, most)
                packed = inflater.unconsumed_tail
        except zlib.error as error:
            raise self._bad(f"{entry.name!r}: {error}") from error

    def _unpack(self, entry: Entry, data: bytes, start: int) -> bytes:
        at = entry.offset - start
        if data[at : at + 4] != b"PK\3\4" or at + _LOCAL.size > len(data):
            raise self._bad(f"{entry.name!r} is not where the directory says")
        fields = _LOCAL.unpack_from(data, at)
        begin = at + _LOCAL.size + fields[9] + fields[10]
        local = data[at + _LOCAL.size : at + _LOCAL.size + fields[9]]
        if local.decode("utf-8", "surrogateescape") != entry.name:
            raise self._bad(f"{entry.name!r} has another name at its place")
        if begin + entry.packed > len(data):  # a long extra field: rare, read it again exactly
            data = self._read(start + begin, start + begin + entry.packed)
            begin = 0
        return self._inflate(entry, data[begin : begin + entry.packed])

    def _inflate(self, entry: Entry, packed: bytes) -> bytes:
        if entry.method == _STORED:
            plain = packed
        elif entry.method == _DEFLATED:
            if entry.size > entry.packed * _RATIO_MAX:
                raise self._bad(f"{entry.name!r} claims an impossible ratio")
            inflater = zlib.decompressobj(-15)
            try:
                plain = inflater.decompress(packed, entry.size + 1)
            except zlib.error as error:
                raise self._bad(f"{entry.name!r}: {error}") from error
            if not inflater.eof and len(plain) <= entry.size:
                plain += inflater.flush()
        else:
            raise self._bad(f"{entry.name!r} uses method {entry.method}, which wheels do not")
        if len(plain) != entry.size:
            raise self._bad(f"{entry.name!r} holds another number of bytes than it says")
        if zlib.crc32(plain) != entry.crc:
            raise self._bad(f"{entry.name!r} does not match its checksum")
        return plain


def _reach(entry: Entry) -> int:
    """Bytes from the local header on that surely hold the member (extra field of up to 512)."""
    return _LOCAL.size + len(entry.name.encode("utf-8", "surrogateescape")) + 512 + entry.packed


def _spans(entries: list[Entry]) -> Iterable[list[Entry]]:
    """Runs of entries close enough to be fetched together."""
    span: list[Entry] = []
    for entry in entries:
        if span:
            end = span[-1].offset + _reach(span[-1])
            if entry.offset - end > _GAP or end - span[0].offset > _SPAN_MAX:
                yield span
                span = []
        span.append(entry)
    if span:
        yield span


def _with_zip64(packed: int, size: int, offset: int, extra: bytes) -> tuple[int, int, int]:
    """Sizes and offset, taken from the 64-bit extra field (id 1) where they are 0xFFFFFFFF."""
    values = [size, packed, offset]
    if 0xFFFFFFFF not in values:
        return packed, size, offset
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + length]
            place = 0
            for index, value in enumerate(values):
                if value == 0xFFFFFFFF and place + 8 <= len(field):
                    values[index] = struct.unpack_from("<Q", field, place)[0]
                    place += 8
            break
        at += 4 + length
    return values[1], values[0], values[2]
