"""How a tuning effort is shown: what was tried, what was best, who owns the gap."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.trial.effort import Outcome, Tuning


def show(console: Console, tuning: Tuning, written: Path) -> int:
    """Print the tables; 5 if no cell of any engine was valid."""
    console.document(tuning)
    console.line(f"tuned on {tuning.slice['says']}; {tuning.metric} counts")
    columns = ("configuration", "valid", "goodput", "E2E mean, ms", "tokens/s", "min")
    for engine in tuning.engines:
        console.title(f"{engine.candidate}: {len(engine.tried)} cells, {engine.minutes:.1f} min")
        rows = [_row(outcome) for outcome in engine.tried]
        rows += [("on the trial's traffic: " + r[0], *r[1:]) for r in map(_row, engine.confirmed)]
        console.table(columns, rows, right={2, 3, 4, 5})
        if engine.left_out:
            names = ", ".join(engine.left_out)
            console.line(f"not known of this version and not tried: {names}")
        if engine.stopped:
            console.line(f"ended early: {engine.stopped}")
    for gap in tuning.gaps:
        console.line(f"{gap.b} over {gap.a}: {gap.says} ({gap.basis})")
    console.done([written])
    return 0 if any(o.valid for e in tuning.engines for o in e.tried) else 5


def _row(found: Outcome) -> tuple[Any, ...]:
    args = ", ".join(f"{k}={v}" for k, v in found.args.items()) or "default"
    valid = "yes" if found.valid else "no: " + "; ".join(found.because)
    return (
        args,
        valid,
        _number(found.goodput, 2),
        _number(found.e2e_mean_ms, 0),
        _number(found.output_tokens_per_s, 1),
        _number(found.minutes, 1),
    )


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
