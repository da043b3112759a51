"""Files of records that one process writes while another may read: length-prefixed msgpack.

A worker spools the exchanges of its run, as they end, and what they came to, after it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import msgspec

from seatrial.core.errors import IntegrityError

_LENGTH = struct.Struct("<I")
Record = TypeVar("Record", bound=msgspec.Struct)
_encoder = msgspec.msgpack.Encoder()


def write_record(file: BinaryIO, record: msgspec.Struct) -> None:
    """Append one record."""
    data = _encoder.encode(record)
    file.write(_LENGTH.pack(len(data)))
    file.write(data)


class Follower(Generic[Record]):
    """Reads a spool, also while it is still being written: what is whole so far, then the rest."""

    def __init__(self, path: Path, kind: type[Record]) -> None:
        self._path = path
        self._file = path.open("rb")
        self._decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(kind)

    def take(self, most: int) -> list[Record]:
        """Up to ``most`` further records that are whole already."""
        found: list[Record] = []
        while len(found) < most:
            at = self._file.tell()
            head = self._file.read(_LENGTH.size)
            length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
            data = self._file.read(length) if length else b""
            if not length or len(data) != length:
                self._file.seek(at)
                break
            found.append(self._decoder.decode(data))
        return found

    def rest(self) -> Iterator[Record]:
        """Everything that is left, after the writer has ended.

        Raises:
            IntegrityError: the file ends in the middle of a record.
        """
        while more := self.take(1000):
            yield from more
        left = self._path.stat().st_size - self._file.tell()
        self._file.close()
        if left:
            raise IntegrityError(
                "a spool of the load generator ends inside a record",
                where=self._path.name,
                remedy="run the cell again: a worker process was killed while writing",
            )
