"""Say what a start will measure, before it runs; for information, nothing rests on it."""

from __future__ import annotations

from pathlib import Path

from seatrial.core.progress import Progress
from seatrial.plan import PlannedCell
from seatrial.sim import frozen
from seatrial.trial.folder import TrialFolder


def foretell(folder: TrialFolder, planned: PlannedCell, progress: Progress) -> Path | None:
    """Freeze the prediction of the next cell; returns its file, None where there is none.

    The first start of a candidate has none: predictions rest on its earlier cells alone.
    """
    made = frozen.predict(folder.path, planned.candidate, planned.start)
    if made is None:
        return None
    told = {one.metric: one for one in made.metrics}
    says = ", ".join(
        f"{label} {told[metric].predicted:.0f} ms{_interval(told[metric])}"
        for metric, label in (("ttft_ms.p50", "TTFT p50"), ("tpot_ms.mean", "TPOT mean"))
        if metric in told
    )
    progress.step(
        "predict",
        f"{planned.candidate} start {planned.start}, from {len(made.cells)} earlier: {says}",
    )
    return frozen.path_of(folder.path, planned.candidate, planned.start)


def _interval(told: frozen.Foretold) -> str:
    return "" if told.low is None else f" [{told.low:.0f}, {told.high:.0f}]"
