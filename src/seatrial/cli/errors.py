"""An error as text for people, or as JSON for programs; never a traceback."""

from __future__ import annotations

import re
import sys
from typing import Any, TextIO

import msgspec

from seatrial.core.errors import SeatrialError

ANSWERS = (3, 4, 5)
"""Exit codes with which ``--json`` prints a document as well (1 always comes with one)."""
_LONGEST = 4000
"""Characters of one part of an error: what a server sent may stand in it, and has no end."""
_DRIVING = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FOREIGN = re.compile(r"[^\x00-\x7e]")


class Spoken:
    """Whether this command line has printed its one document; then an error prints none."""

    document = False


def report(error: SeatrialError, *, as_json: bool) -> int:
    """Print ``error`` on stderr and return its exit code.

    Under ``--json`` an end with 3, 4 or 5 is an answer as well: where no document was printed
    before it, the error is the document (``seatrial/error/1``), on stdout too.
    """
    parts = {k: _bounded(v) if isinstance(v, str) else v for k, v in error.as_dict().items()}
    if as_json:
        text = json_text(parts, sys.stderr)
        if error.exit_code in ANSWERS and not Spoken.document:
            document = {"schema": "seatrial/error/1", **parts}
            print(json_text(document, sys.stdout, indent=2), flush=True)
            Spoken.document = True
    else:
        short = SeatrialError(
            str(parts["what"]),
            where=str(parts["where"]),
            unchanged=str(parts["unchanged"]),
            remedy=str(parts["do"]),
        )
        text = f"seatrial: {clean(str(short))}"
    print(text, file=sys.stderr)
    return error.exit_code


def json_text(value: Any, stream: TextIO, *, indent: int = -1) -> str:
    """``value`` as one JSON document for a stream. NaN and infinity are null.

    Control and direction characters above ASCII, which JSON would let through to a terminal, are
    escaped; on a stream that is not UTF-8 so is everything above ASCII. Bytes of a file name that
    are no UTF-8 appear as ``\\xff``.
    """
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(_encodable(msgspec.to_builtins(value)))
    if indent >= 0:
        data = msgspec.json.format(data, indent=indent)
    utf8 = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    return (_DRIVING if utf8 else _FOREIGN).sub(_escaped, data.decode())


def whole(streams: tuple[TextIO, ...]) -> None:
    """A character that a terminal's encoding lacks is written as its escape, never an error."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _escaped(match: re.Match[str]) -> str:
    raw = match[0].encode("utf-16-be")
    return "".join(f"\\u{raw[i]:02x}{raw[i + 1]:02x}" for i in range(0, len(raw), 2))


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(_visible(c) if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, dict):
        return {_encodable(k): _encodable(v) for k, v in value.items()}
    return [_encodable(v) for v in value] if isinstance(value, (list, tuple)) else value


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]} ... ({len(text) - _LONGEST} characters more)"


def clean(text: str) -> str:
    """Text without control characters: what an engine or a file sends cannot drive a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else _visible(c) for c in text)


def _visible(char: str) -> str:
    """The escape of one character; a byte of a file name that is no UTF-8 as that byte."""
    code = ord(char)
    return f"\\x{code & 0xFF if 0xDC80 <= code <= 0xDCFF else code:02x}"
