"""Every error a user can meet, with its exit code.

    SeatrialError
    |- UsageError           2  bad input: an unknown key, a file that is not what it claims
    |- PrerequisiteError    3  something to install, start or free first
    |- EngineError          4  an engine failed
    |- MeasurementInvalid   5  the client, not the engine, was the bottleneck; or the cell is void
    '- IntegrityError       6  an artifact does not match its hash or its schema

Each says what went wrong, where, what is unchanged, and what to do next. The library raises;
only ``seatrial.cli`` turns an error into text and an exit code.
"""

from __future__ import annotations

from typing import ClassVar


class SeatrialError(Exception):
    """Base of all errors that reach a user.

    Args:
        what: one sentence, what is wrong.
        where: the file, key, line, URL or process it is about.
        unchanged: what was left as it was ("nothing was written").
        remedy: the next sensible step, a command where there is one.
    """

    exit_code: ClassVar[int] = 2

    def __init__(
        self, what: str, *, where: str = "", unchanged: str = "nothing was written", remedy: str
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.unchanged = unchanged
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"  where: {self.where}")
        if self.unchanged:
            parts.append(f"  unchanged: {self.unchanged}")
        parts.append(f"  do: {self.remedy}")
        return "\n".join(parts)

    def as_dict(self) -> dict[str, str | int]:
        """The error as the JSON document that ``--json`` prints on stderr."""
        return {
            "error": type(self).__name__,
            "exit_code": self.exit_code,
            "what": self.what,
            "where": self.where,
            "unchanged": self.unchanged,
            "do": self.remedy,
        }


class UsageError(SeatrialError):
    """Bad input: the user can mend it in the file or on the command line."""

    exit_code = 2


class PrerequisiteError(SeatrialError):
    """Something has to be installed, started or freed before this can work."""

    exit_code = 3


class EngineError(SeatrialError):
    """An engine did not start, died, or answered with something that is not an answer."""

    exit_code = 4


class MeasurementInvalid(SeatrialError):
    """The measurement is void; there is no number to show."""

    exit_code = 5


class IntegrityError(SeatrialError):
    """An artifact, archive or header does not match its hash, schema or its own directory."""

    exit_code = 6
