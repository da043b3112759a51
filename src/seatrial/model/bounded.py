"""Reading files that may be hostile: bounded sizes, typed keys, errors that name the place.

Model files come from anywhere. Nothing here allocates more than the file is long, follows a
number without checking it, or runs anything. A file that is not what it claims is an
``IntegrityError``; a file that is not there is a ``UsageError``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import IntegrityError, UsageError

MAX_JSON_BYTES = 16 << 20
MAX_DEPTH = 64
MAX_COUNT = 1 << 48


def damaged(path: Path, what: str) -> IntegrityError:
    """The error for a file whose content contradicts its own format."""
    return IntegrityError(
        f"{path.name} is not a valid file of its kind: {what}",
        where=str(path),
        unchanged="nothing was read beyond the header",
        remedy="download the file again and compare its checksum with the publisher's",
    )


def read_bytes(path: Path, *, limit: int = MAX_JSON_BYTES) -> bytes:
    """The whole of a small file; more than ``limit`` bytes is an IntegrityError."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(min(limit, size) + 1)  # read(n) sets n bytes aside at once
    except OSError as error:
        raise UsageError(
            f"{path.name} cannot be read: {error.strerror or error}",
            where=str(path),
            remedy="check the path and its permissions",
        ) from error
    if len(data) > limit:
        raise damaged(path, f"longer than {limit} bytes")
    return data


def read_object(path: Path, *, limit: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """A JSON object from a small file; nesting is bounded."""
    return parse_object(read_bytes(path, limit=limit), path)


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """A JSON object from bytes; ``path`` is only for the error."""
    if _too_deep(data):
        raise damaged(path, f"nested deeper than {MAX_DEPTH}")
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(path, f"no JSON ({str(error)[:120]})") from error
    if not isinstance(value, dict):
        raise damaged(path, f"a JSON object is expected, found {type(value).__name__}")
    return value


def _too_deep(data: bytes) -> bool:
    """Whether brackets nest beyond the limit (brackets inside strings may over-count)."""
    depth = 0
    for byte in data.translate(None, _NOT_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Keys:
    """Typed look-up in a hostile JSON object: a wrong type or range is the file's fault."""

    def __init__(self, values: dict[str, Any], path: Path) -> None:
        self.values = values
        self.path = path

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def section(self, *names: str) -> Keys | None:
        """The first of these keys that holds an object."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, dict):
                return Keys(value, self.path)
        return None

    def integer(self, *names: str, high: int = MAX_COUNT) -> int | None:
        """The first of these keys that holds a whole number in 0..high, or one for each layer (the
        largest of them: Gemma 3n writes its widths so)."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, list) and value and all(type(item) is int for item in value):
                value = max(value)
            if value is None or isinstance(value, bool):
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or not 0 <= value <= high:
                raise damaged(self.path, f"{name} should be a whole number in 0..{high}")
            return value
        return None

    def number(self, *names: str) -> float | None:
        """The first of these keys that holds a number."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        return None

    def text(self, *names: str) -> str | None:
        """The first of these keys that holds a string, cut to 200 characters."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str):
                return value[:200]
        return None

    def flag(self, *names: str) -> bool | None:
        """The first of these keys that holds true or false."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, bool):
                return value
        return None

    def items(self, name: str, *, high: int = 8192) -> list[Any] | None:
        """A list of at most ``high`` items under this key."""
        value = self.values.get(name)
        if not isinstance(value, list):
            return None
        if len(value) > high:
            raise damaged(self.path, f"{name} has {len(value)} items, more than {high}")
        return value

    def texts(self, name: str) -> list[str]:
        """The strings of a list under this key."""
        return [v[:200] for v in self.items(name) or [] if isinstance(v, str)]
