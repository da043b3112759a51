"""``seatrial diff OLD NEW``: what an upgrade changed, and whether it is a regression."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.decide.diff import Diff

app = App(name="diff", help="An upgrade: what changed, and is it a regression.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def diff(
    old: Path,
    new: Path,
    /,
    *,
    old_candidate: str | None = None,
    new_candidate: str | None = None,
    margin: float | None = None,
    strict: Annotated[bool, Parameter(negative=())] = False,
    force: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Compare a candidate of one trial with a candidate of another, or of the same.

    Exit code 1 on a regression beyond the margin; with --strict 3 where a loss beyond the margin is
    not excluded either.

    Parameters
    ----------
    old
        The trial before the change.
    new
        The trial after it.
    old_candidate
        Candidate of the old trial; what it selected if not given.
    new_candidate
        Candidate of the new trial; what it selected if not given.
    margin
        Non-inferiority margin as a fraction; the new trial's own if not given.
    strict
        Undecided is not good enough.
    force
        Compare although trace, sampling or hardware differ.
    """
    from seatrial.decide.diff import diff as compare

    console = Console(as_json=json, quiet=quiet)
    found = compare(
        old,
        new,
        old_candidate=old_candidate,
        new_candidate=new_candidate,
        margin=margin,
        force=force,
    )
    console.document(found)
    _show(console, found)
    if found.regression:
        return 1
    return 3 if strict and found.undecided else 0


def _show(console: Console, found: Diff) -> None:
    word = "regression" if found.regression else "no regression shown"
    console.line(word, style="worse" if found.regression else "better")
    for side, name in ((found.old, "old"), (found.new, "new")):
        console.line(f"{name}: {side.candidate} in {side.trial}, {side.valid} valid starts")
    for line in found.says:
        console.line(f"- {line}")
    for caveat in found.caveats:
        console.line(f"! {caveat}")
    rows = [
        (
            m.name,
            _number(m.old),
            _number(m.new),
            "" if m.ratio is None else f"{m.ratio:.3f}",
            "" if m.interval is None else f"{m.interval.low:.3f} to {m.interval.high:.3f}",
            m.outcome,
            "gated" if m.gated else "",
        )
        for m in found.metrics
    ]
    columns = ("metric", "old", "new", "new/old", f"{1 - 2 * found.alpha:.0%} interval", "", "")
    console.table(columns, rows, right={1, 2, 3})
    for kind in ("versions", "flags", "settings", "facts", "logs"):
        for d in getattr(found.changed, kind):
            if kind == "logs":
                console.line(f"log {'+' if d.new else '-'} {d.new or d.old}")
            else:
                console.line(f"{kind}: {d.name}: {d.old} -> {d.new}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
