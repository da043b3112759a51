"""``seatrial dossier TRIAL``: the dossier from what has been measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(name="dossier", help="Write the dossier of a trial: HTML, Markdown and JSON.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print dossier.json.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]
Redact = Annotated[bool, Parameter(negative=(), help="Hide hosts, paths and prices.")]


@app.default
def dossier(
    trial: Path,
    /,
    *,
    lang: Literal["en", "zh"] = "en",
    redact: Redact = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Read the trial's folder and write its dossier beside the data.

    What a stage has not made is shown as not run, with the reason. Nothing is measured again.

    Parameters
    ----------
    trial
        The folder that seatrial run wrote.
    lang
        Language of the page: en, zh.
    """
    from seatrial.dossier import build
    from seatrial.dossier.record import Dossier
    from seatrial.store import read
    from seatrial.trial.manifest import enter_files

    console = Console(as_json=json, quiet=quiet)
    paths = build(trial, lang=lang, redact=redact, progress=console.progress)
    enter_files(trial, (paths.html, paths.markdown, paths.json))
    record = read(paths.json, Dossier)
    console.document(record)
    console.line(f"{record.answer.outcome}: {record.answer.headline}", style=record.answer.outcome)
    for said in record.answer.sure[:3]:
        console.line(f"  {said}")
    console.done([paths.html, paths.markdown, paths.json], f"open {paths.html}")
    return 0
