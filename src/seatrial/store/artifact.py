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
        IntegrityError: it is there and is not a ``kind``.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise PrerequisiteError(
            f"{path.name} is missing",
            where=str(path),
            remedy="run the stage that makes it (seatrial run does all of them)",
        ) from None
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IntegrityError(
            f"{path.name} is damaged or of another version: {error}",
            where=str(path),
            unchanged="the file is left as it is",
            remedy="move it away and run the same command again: the stage is repeated",
        ) from error
