"""Compiled CUDA targets, read out of a shared object without CUDA.

nvcc embeds device code as "fat binaries": a header (magic 0xBA55ED50, version, header size, size
of the entries), then entries, each with a header of its own: kind (1 PTX, 2 machine code) at
offset 0 as 16 bits, header size at 4, payload size at 8 (64 bits), and the sm number at 28 (32
bits). Layout found in binaries and checked against published targets; no document of NVIDIA
describes it. An object that compiles its kernels when it runs shows no entries: that is
"unknown", never "none".

A target of a few kilobytes beside hundreds of megabytes is a stub of the device linker (compiled
for nvcc's default, without a kernel in it): it is kept apart and not called a target.

The scan is a stream: payloads are skipped, so an object of a gigabyte needs one chunk of memory.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import msgspec

_MAGIC = struct.pack("<I", 0xBA55ED50)
_HEADER = struct.Struct("<IHHQ")
_ENTRY_MIN = 32
_PTX, _CODE = 1, 2
_SM_MIN, _SM_MAX = 20, 200
_HEADER_MAX = 64
_ENTRY_HEADER_MAX = 4096
_FATBIN_MAX = 4 << 30
_STUB_BYTES = 16 << 10
_STUB_SHARE = 1e-4


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """Capabilities with machine code, and with PTX (which the driver compiles); stubs of the
    linker; number of fat binaries."""

    code: list[int]
    ptx: list[int]
    fatbins: int
    stubs: list[int] = []

    def runs_on(self, capability: int) -> bool | None:
        """Machine code of the same major version at or below it, or any PTX at or below it.

        None if the object holds no fat binary: then nothing is known (NVIDIA, CUDA C++
        Programming Guide, "Binary Compatibility" and "PTX Compatibility").
        """
        if not self.fatbins:
            return None
        same = [s for s in self.code if s // 10 == capability // 10 and s <= capability]
        return bool(same) or any(p <= capability for p in self.ptx)


class Scanner:
    """Takes an object's bytes in order, keeps what it needs."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._skip = 0  # bytes still to be dropped before the next entry
        self._left = 0  # bytes of the current fat binary after those
        self._inside = False
        self._any = False  # the current fat binary has given an entry
        self._bytes: dict[tuple[int, int], int] = {}  # (kind, sm) -> bytes of its entries
        self._fatbins = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        self._buffer += chunk
        while self._step():
            pass

    def result(self) -> Targets:
        """What was found in all that was fed."""
        total = sum(self._bytes.values())
        stubs = {
            (kind, sm)
            for (kind, sm), size in self._bytes.items()
            if size < _STUB_BYTES and size < total * _STUB_SHARE
        }
        real = sorted(self._bytes.keys() - stubs)
        return Targets(
            code=[sm for kind, sm in real if kind == _CODE],
            ptx=[sm for kind, sm in real if kind == _PTX],
            fatbins=self._fatbins,
            stubs=sorted({sm for _, sm in stubs}),
        )

    def _step(self) -> bool:
        """One step; False when more bytes are needed."""
        if self._skip:
            dropped = min(self._skip, len(self._buffer))
            del self._buffer[:dropped]
            self._skip -= dropped
            if self._skip:
                return False
        return self._entry() if self._inside else self._search()

    def _search(self) -> bool:
        at = self._buffer.find(_MAGIC)
        if at < 0:
            del self._buffer[: max(0, len(self._buffer) - 3)]
            return False
        del self._buffer[:at]
        if len(self._buffer) < _HEADER_MAX + _ENTRY_MIN:
            return False
        _, _, header, size = _HEADER.unpack_from(self._buffer, 0)
        plausible = _HEADER.size <= header <= _HEADER_MAX and _ENTRY_MIN <= size <= _FATBIN_MAX
        if not plausible or self._read(header, size) is None:
            del self._buffer[:4]
            return True
        self._skip, self._left = header, size
        self._inside, self._any = True, False
        return True

    def _entry(self) -> bool:
        if self._left < _ENTRY_MIN:
            return self._leave()
        if len(self._buffer) < _ENTRY_MIN:
            return False
        found = self._read(0, self._left)
        if found is None:
            return self._leave()
        kind, sm, length = found
        self._bytes[kind, sm] = self._bytes.get((kind, sm), 0) + length
        self._fatbins += not self._any
        self._any = True
        self._skip = length
        self._left -= length
        return True

    def _leave(self) -> bool:
        self._inside = False
        return True

    def _read(self, at: int, left: int) -> tuple[int, int, int] | None:
        """(kind, sm, length) of the entry at ``at``; None if it does not hang together."""
        kind, _, header, size = struct.unpack_from("<HHIQ", self._buffer, at)
        (sm,) = struct.unpack_from("<I", self._buffer, at + 28)
        if kind not in (_PTX, _CODE) or not _ENTRY_MIN <= header <= _ENTRY_HEADER_MAX:
            return None
        if not _SM_MIN <= sm <= _SM_MAX or header + size > left:
            return None
        return kind, sm, header + size


def targets(chunks: Iterable[bytes]) -> Targets:
    """The targets of an object given as chunks in order."""
    scanner = Scanner()
    for chunk in chunks:
        scanner.feed(chunk)
    scanner.feed(bytes(_HEADER_MAX + _ENTRY_MIN))  # a header at the very end is still complete
    return scanner.result()
