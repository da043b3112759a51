"""Content hashes and the ids made of them.

An artifact is known by the SHA-256 of its bytes; a value by the SHA-256 of its canonical JSON
(sorted keys, no spaces, UTF-8). SHA-256 because everybody can check it with ``sha256sum``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="sorted")


def canonical_json(value: Any) -> bytes:
    """One byte string for one value, whatever the order its keys were written in."""
    return _encoder.encode(value)


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of a byte string."""
    return hashlib.sha256(data).hexdigest()


def sha256_value(value: Any) -> str:
    """Hex SHA-256 of a value's canonical JSON (structs, dicts, lists, numbers, strings)."""
    return sha256_bytes(canonical_json(value))


def sha256_file(path: Path, *, chunk_bytes: int = 1 << 20) -> str:
    """Hex SHA-256 of a file, read in chunks: constant memory."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(chunk_bytes):
            digest.update(chunk)
    return digest.hexdigest()


def short_id(value: Any, *, length: int = 12) -> str:
    """The first hex digits of a value's hash: for names of folders and facts."""
    return sha256_value(value)[:length]
