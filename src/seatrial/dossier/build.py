"""From a trial's folder to its dossier: three files, one record behind them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from seatrial.charts import Figure
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import provenance
from seatrial.dossier import answer as first
from seatrial.dossier import (
    beside,
    decided,
    elimination,
    live,
    measured,
    operating,
    recipe,
    sql,
    table_sql,
)
from seatrial.dossier.escape import harmless
from seatrial.dossier.figures import measured_figures
from seatrial.dossier.flat import pairs
from seatrial.dossier.limits import limits
from seatrial.dossier.predicted import predicted
from seatrial.dossier.record import SCHEMA, Dossier, Section
from seatrial.dossier.slo import slo_of
from seatrial.dossier.trial import Document, Trial, open_trial
from seatrial.dossier.words import Words, words
from seatrial.store import encode, write_bytes

BULKY = ("files", "lengths")
"""Parts of a fingerprint that are too long for a list: they stand in fingerprint.json."""


class DossierPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The three files that were written."""

    html: Path
    markdown: Path
    json: Path


def build(
    trial_dir: Path,
    *,
    lang: str = "en",
    redact: bool = False,
    progress: Progress | None = None,
) -> DossierPaths:
    """Write dossier.html, dossier.md and dossier.json into the trial's folder.

    Args:
        trial_dir: a folder as DESIGN 4.3 lays it out; what is missing in it is shown as not run.
        lang: ``en`` or ``zh``; another language than English writes dossier.LANG.html and .md.
        redact: hide hosts, paths and prices; writes dossier.redacted.* beside the plain ones.

    Raises:
        UsageError: no trial there, or no such language.
        IntegrityError: a file of the trial is damaged.
        PrerequisiteError: the disk is full.
    """
    from seatrial.dossier.html import page
    from seatrial.dossier.markdown import markdown

    sink = progress or Silent()
    sink.step("dossier", f"reading {trial_dir.name}")
    dossier = compose(trial_dir, lang=lang, redact=redact)
    sink.step("dossier", f"drawing {len(dossier.figures)} figures")
    stem = "dossier" + (".redacted" if redact else "") + ("" if lang == "en" else f".{lang}")
    paths = DossierPaths(
        html=trial_dir / f"{stem}.html",
        markdown=trial_dir / f"{stem}.md",
        json=trial_dir / f"{stem}.json",
    )
    html = page(dossier)
    write_bytes(paths.json, encode(dossier))
    write_bytes(paths.markdown, markdown(dossier).encode())
    write_bytes(paths.html, html.encode())
    sink.step("dossier", f"{paths.html.name}: {len(html.encode()):,} bytes")
    return paths


def compose(trial_dir: Path, *, lang: str = "en", redact: bool = False) -> Dossier:
    """The record alone, nothing written: for pages and for programs."""
    from seatrial.dossier.redact import redacted

    catalogue = words(lang)
    trial = open_trial(trial_dir)
    dossier = _dossier(trial, catalogue)
    value = harmless(msgspec.to_builtins(dossier))
    if redact:
        value = redacted(value)
    return msgspec.convert(value, Dossier)


def _dossier(trial: Trial, catalogue: Words) -> Dossier:
    answered = first.answer(trial, catalogue)
    names = measured.order(trial, answered.chosen)
    slo = slo_of(trial.workload)
    return Dossier(
        schema=SCHEMA,
        trial=trial.name,
        lang=catalogue.lang,
        redacted=False,
        answer=answered,
        would_change=first.changes(trial.decision),
        elimination=elimination.elimination(trial),
        facts=elimination.facts(trial),
        comparability=first.comparability(trial, catalogue),
        candidates=measured.candidates(trial, names, answered.chosen, slo),
        slo=decided.slo_lines(trial),
        differences=decided.differences(trial),
        platform=decided.platform(trial, names),
        platform_needs=operating.needs(trial),
        deployment=operating.deployment(trial),
        steps=decided.steps(trial),
        figures=_figures(trial, catalogue, names),
        predicted=predicted(trial.folder, names, catalogue),
        settings=measured.settings(trial, names),
        quality=decided.quality(trial),
        quality_more=_sections(decided.quality_more(trial)),
        probes=live.probes(trial),
        lifecycle=live.lifecycle(trial),
        beside=beside.tables(trial, catalogue),
        fingerprint=pairs(trial.fingerprint, leave_out=BULKY) if trial.fingerprint else [],
        limits=limits(trial, catalogue),
        cells=measured.cell_lines(trial),
        recipe=recipe.recipe(trial),
        files=recipe.file_lines(trial),
        absent=trial.absent,
        sql_prelude=sql.PRELUDE,
        candidates_sql=_table(trial) if trial.cells else "",
        workload=trial.workload,
        decision=trial.decision,
        provenance=provenance(_inputs(trial)),
    )


def _figures(trial: Trial, catalogue: Words, names: list[str]) -> list[Figure]:
    if not any(trial.folder.glob("cells/*/*/requests.parquet")):
        return []
    with sql.database(trial.folder) as con:
        return measured_figures(
            con,
            catalogue,
            names,
            slo_of(trial.workload),
            telemetry=any(trial.folder.glob("cells/*/*/telemetry.parquet")),
        )


def _table(trial: Trial) -> str:
    starts = Counter(cell.candidate for cell in trial.cells if cell.valid)
    return table_sql.candidates_table(
        slo_of(trial.workload),
        max(starts.values(), default=0),
        telemetry=any(trial.folder.glob("cells/*/*/telemetry.parquet")),
    )


def _sections(documents: dict[str, Document]) -> list[Section]:
    return [
        Section(name=name, verdict=str(d.get("verdict") or ""), rows=pairs(d))
        for name, d in documents.items()
    ]


def _inputs(trial: Trial) -> dict[str, str]:
    """Hashes of the artefacts that the dossier was made from, as the manifest has them."""
    wanted = ("gate.json", "decision.json", "fingerprint.json", "facts.json", "plan.json")
    return {name: trial.hashes[name] for name in wanted if name in trial.hashes}
