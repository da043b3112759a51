"""What a verb says: the result on stdout, progress and notes on stderr.

A verb makes one ``Console`` and says everything through it. In a terminal it draws with colour
and folds to the width; in a pipe it writes plain lines that never wrap, so that grep and diff
work. ``--json`` turns the result into exactly one document and silences everything else on
stdout. Every text passes ``clean``: what an engine, a log or a file sends cannot drive the
terminal. Progress starts no thread: during a measurement the client must not be disturbed.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

from seatrial.cli.errors import Spoken, clean, json_text

_STYLES = {
    "feasible": "green",
    "selected": "green",
    "pass": "green",
    "better": "green",
    "degraded": "yellow",
    "conditional": "yellow",
    "tie": "yellow",
    "undecided": "yellow",
    "unknown": "magenta",
    "infeasible": "red",
    "fail": "red",
    "invalid": "red",
    "worse": "red",
    "none_feasible": "red",
}
_NARROW = 60


class TerminalProgress:
    """The ``core.progress.Progress`` of the command line, on stderr.

    In a terminal an ``amount`` redraws one line, at most ten times a second; elsewhere it is a
    line at most every ten seconds and at the end. A closed stderr silences it; it never raises.
    """

    def __init__(self, stream: TextIO, *, live: bool, colour: bool, quiet: bool = False) -> None:
        self._stream = stream
        self._live = live
        self._colour = colour
        self._quiet = quiet
        self._open = False  # an unfinished live line stands on the screen
        self._last: dict[str, float] = {}

    def step(self, stage: str, text: str) -> None:
        """One permanent line."""
        self._write(f"{self._stage(stage)} {one_line(text)}\n")

    def amount(self, stage: str, done: float, total: float | None, unit: str) -> None:
        """The state of a long step; thinned out by time."""
        now = time.monotonic()
        every = 0.1 if self._live else 10.0
        finished = total is not None and done >= total
        if now - self._last.get(stage, -1e9) < every and not finished:
            return
        self._last[stage] = now
        text = f"{self._stage(stage)} {_amount_text(done, total, unit)}"
        if self._live:
            self._write(text, end="\n" if finished else "")
        else:
            self._write(text + "\n")

    def close(self) -> None:
        """End a live line that is still open."""
        if self._open:
            self._write("")

    def _stage(self, stage: str) -> str:
        name = f"{one_line(stage):>10}"
        return f"\x1b[2m{name}\x1b[0m" if self._colour else name

    def _write(self, text: str, end: str | None = None) -> None:
        if self._quiet:
            return
        if self._live:
            text = ("\r\x1b[2K" if self._open else "") + text + (end or "")
            self._open = end == ""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._quiet = True


class Console:
    """Result and progress of one verb.

    Args:
        as_json: the verb was called with ``--json``: ``document`` prints, all else on stdout
            is silent.
        quiet: no progress; errors still appear.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        quiet: bool = False,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self._out = stdout or sys.stdout
        self._err = stderr or sys.stderr
        self.colour = _colour(self._out)
        self.progress = TerminalProgress(
            self._err, live=_live(self._err), colour=_colour(self._err), quiet=quiet
        )

    @property
    def width(self) -> int | None:
        """Columns of the terminal that shows the result; None in a pipe (lines never wrap)."""
        if not _isatty(self._out):
            return None
        return max(20, shutil.get_terminal_size().columns)

    def document(self, value: Any) -> None:
        """The one JSON document of ``--json``; nothing without it. NaN and infinity are null."""
        if self.as_json:
            self._out.write(json_text(value, self._out, indent=2) + "\n")
            self._out.flush()
            Spoken.document = True

    def line(self, text: str = "", *, style: str | None = None) -> None:
        """One line of the result; ``style`` is a colour word or a verdict."""
        if self.as_json:
            return
        self.progress.close()
        colour = _STYLES.get(style or "", style) if self.colour else None
        self._out.write(_painted(clean(text), colour) + "\n")
        self._out.flush()

    def title(self, text: str) -> None:
        """A heading: bold in a terminal, followed by its rule elsewhere."""
        self.line(text, style="bold")
        if not self.colour:
            self.line("-" * min(cells(one_line(text)), self.width or 200))

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Any]],
        *,
        right: Iterable[int] = (),
    ) -> None:
        """A table; ``right`` are the indices of right-aligned columns.

        A word that is a verdict or an outcome is coloured. A narrow terminal gets one block of
        ``name: value`` lines a row.
        """
        if self.as_json:
            return
        self.progress.close()
        text = [[one_line("" if v is None else str(v)) for v in row] for row in rows]
        width = self.width
        if width is not None and width < _NARROW:
            self._out.write(_stacked(columns, text))
        elif width is None:
            self._out.write(plain_table(columns, text, right=set(right)))
        else:
            self._rich_table(columns, text, set(right), width)
        self._out.flush()

    def note(self, text: str) -> None:
        """A remark for people, on stderr; silent under ``--quiet``."""
        self.progress.close()
        if not self.quiet:
            self._err.write(clean(text) + "\n")
            self._err.flush()

    def warn(self, text: str) -> None:
        """A warning on stderr, ``--quiet`` or not."""
        self.progress.close()
        self._err.write(_painted(f"warning: {clean(text)}", self.progress_colour) + "\n")
        self._err.flush()

    def done(self, artefacts: Iterable[Path | str], following: str = "") -> None:
        """The last lines of a verb: what was written, and the next sensible command."""
        for path in artefacts:
            self.line(f"written: {path}")
        if following:
            self.note(f"next: {following}")

    @property
    def progress_colour(self) -> str | None:
        """The colour of warnings on stderr, None where stderr takes no colour."""
        return "yellow" if _colour(self._err) else None

    def _rich_table(
        self, columns: Sequence[str], rows: list[list[str]], right: set[int], width: int
    ) -> None:
        from rich import box
        from rich.console import Console as RichConsole
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, name in enumerate(columns):
            table.add_column(name, justify="right" if i in right else "left", overflow="fold")
        for row in rows:
            table.add_row(*[Text(v, style=_STYLES.get(v, "")) for v in row])
        out = RichConsole(file=self._out, width=width, highlight=False, no_color=not self.colour)
        out.print(table)


def one_line(text: str) -> str:
    """``text`` on one line, control characters made visible."""
    return clean(" ".join(text.split("\n")).replace("\t", " ").replace("\r", " "))


def cells(text: str) -> int:
    """Columns that ``text`` takes in a terminal; a Chinese character takes two."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def plain_table(columns: Sequence[str], rows: list[list[str]], *, right: set[int]) -> str:
    """An aligned table without colour or wrapping, two spaces between columns."""
    lines = [list(columns), *rows]
    widths = [max(cells(line[i]) for line in lines) for i in range(len(columns))]
    out = []
    for line in lines:
        parts = []
        for i, text in enumerate(line):
            pad = " " * (widths[i] - cells(text))
            parts.append(pad + text if i in right else text + pad)
        out.append("  ".join(parts).rstrip())
    out.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(out) + "\n"


def _stacked(columns: Sequence[str], rows: list[list[str]]) -> str:
    blocks = []
    for row in rows:
        pairs = zip(columns, row, strict=True)
        blocks.append("".join(f"{name}: {text}\n" for name, text in pairs if text))
    return "\n".join(blocks)


def _amount_text(done: float, total: float | None, unit: str) -> str:
    if total:
        return (
            f"{min(1.0, done / total):>4.0%}  {_number(done)} of {_number(total)} {one_line(unit)}"
        )
    return f"{_number(done)} {one_line(unit)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.1f}"


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35"}


def _painted(text: str, colour: str | None) -> str:
    code = _CODES.get(colour or "")
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _isatty(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _live(stream: TextIO) -> bool:
    return _isatty(stream) and os.environ.get("TERM") != "dumb"


def _colour(stream: TextIO) -> bool:
    return _live(stream) and not os.environ.get("NO_COLOR")
