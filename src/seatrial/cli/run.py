"""``seatrial run WORKLOAD``: the whole of it, resumable; ends with the decision in one screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.trial.pipeline import TrialResult

app = App(name="run", help="The whole trial of a workload, resumable; ends with the dossier.")

EXIT = {"selected": 0, "tie": 0, "none_feasible": 1, "undecided": 3}


@app.default
def run(workload: Path, *, out: Path | None = None, json: bool = False, quiet: bool = False) -> int:
    """Run the trial of a workload file, or what is left of it after an interruption.

    Parameters
    ----------
    workload:
        The workload file (YAML).
    out:
        The trial's folder; trials/NAME under the working directory if not given.
    json:
        Print one JSON document (decision.json and the dossier's paths) instead of text.
    quiet:
        No progress.
    """
    from seatrial.trial.pipeline import run as run_trial

    console = Console(as_json=json, quiet=quiet)
    result = run_trial(workload, out=out, progress=console.progress)
    console.document(
        {
            "schema": "seatrial/run/1",
            "trial": str(result.folder),
            "dossier": str(result.folder / "dossier.html"),
            "decision": result.decision,
        }
    )
    _screen(console, result)
    return EXIT[result.decision.outcome]


def _screen(console: Console, result: TrialResult) -> None:
    decision = result.decision
    console.title(f"decision: {decision.outcome}")
    if decision.selected:
        console.line(f"selected: {decision.selected}", style="selected")
    for reason in decision.reasons[:6]:
        console.line(f"- {reason}")
    console.line()
    rows = []
    for row in result.table.candidates:
        cells = [c for c in result.cells if c.candidate == row.candidate]
        good = [c for c in cells if c.valid]
        quality = result.quality.get(row.candidate)
        rows.append(
            (
                row.candidate,
                row.verdict.value,
                f"{len(good)}/{len(cells)}" if cells else "",
                quality.verdict if quality else "",
                _spread([c.ttft_ms.p95 for c in good]),
                _spread([c.tpot_ms.mean for c in good]),
                row.reasons[0].says if row.reasons and not cells else "",
            )
        )
    console.table(
        ("candidate", "gate", "valid", "quality", "TTFT p95 ms", "TPOT mean ms", "why not"), rows
    )
    console.line("ranges are lowest to highest of the valid starts")
    console.done(
        [result.folder / "dossier.html"], f"open the dossier, or seatrial decide {result.folder}"
    )


def _spread(values: list[float | None]) -> str:
    found = [v for v in values if v is not None]
    if not found:
        return ""
    return (
        f"{min(found):.0f}-{max(found):.0f}"
        if max(found) >= 100
        else f"{min(found):.1f}-{max(found):.1f}"
    )
