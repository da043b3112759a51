"""JSON artifacts: typed in, typed out, with schema and provenance.

An artifact is a ``msgspec.Struct`` with a field ``schema`` ("seatrial/NAME/VERSION"). Our own
files are read strictly; a file that does not decode is an integrity error, never a guess.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from seatrial.core.errors import IntegrityError, PrerequisiteError
from seatrial.core.ids import sha256_bytes
from seatrial.store.atomic import write_bytes

T = TypeVar("T")
NEWEST_SCHEMA = 1
"""The highest version number of a schema that this seatrial writes and reads."""


def encode(value: Any) -> bytes:
    """Readable JSON (two spaces), one final line end, keys in the order of the record."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def write(path: Path, value: Any) -> str:
    """Write ``value`` as JSON, whole or not at all; returns the SHA-256 of the bytes."""
    data = encode(value)
    write_bytes(path, data)
    return sha256_bytes(data)


def read(path: Path, kind: type[T]) -> T:
    """Read one of our own JSON artifacts.

    Raises:
        PrerequisiteError: the file is not there (the stage that makes it has not run).
        IntegrityError: it is there and is not a ``kind``, or a newer seatrial wrote it.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise PrerequisiteError(
            f"{path.name} is missing",
            where=str(path),
            remedy="run the stage that makes it (seatrial run does all of them)",
        ) from None
    refuse_newer(path, data)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IntegrityError(
            f"{path.name} is damaged or of another version: {error}",
            where=str(path),
            unchanged="the file is left as it is",
            remedy="move it away and run the same command again: the stage is repeated",
        ) from error


class _Head(msgspec.Struct):
    schema: str | None = None


def refuse_newer(path: Path, data: bytes) -> None:
    """A file whose schema number is above ours means something we cannot know.

    Raises:
        IntegrityError: naming both numbers.
    """
    try:
        schema = msgspec.json.decode(data, type=_Head).schema or ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return  # no object, or damaged: the reader of its kind says so
    name, _, number = schema.rpartition("/")
    if name.startswith("seatrial/") and number.isdecimal() and int(number[:9]) > NEWEST_SCHEMA:
        raise IntegrityError(
            f"{path.name} is of a newer schema ({schema}; this seatrial reads {NEWEST_SCHEMA})",
            where=str(path),
            unchanged="the file is left as it is",
            remedy="read it with the seatrial that wrote it, or a newer one",
        )
