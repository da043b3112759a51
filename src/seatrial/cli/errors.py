"""An error as text for people, or as JSON for programs; never a traceback."""

from __future__ import annotations

import sys

import msgspec

from seatrial.core.errors import SeatrialError


def report(error: SeatrialError, *, as_json: bool) -> int:
    """Print ``error`` on stderr and return its exit code."""
    if as_json:
        text = msgspec.json.encode(error.as_dict()).decode()
    else:
        text = f"seatrial: {clean(str(error))}"
    print(text, file=sys.stderr)
    return error.exit_code


def clean(text: str) -> str:
    """Text without control characters: what an engine or a file sends cannot drive a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)
