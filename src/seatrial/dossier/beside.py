"""What was tried beside the trial's own load: equal tuning of each engine, trials by family.

Both are read from their own files (``tuning/tuning.json``, ``families/*.json``) by their keys and
shown as plain tables; neither is part of the decision. A trial without them has no such section.
"""

from __future__ import annotations

from typing import Any

from seatrial.dossier.decided import items
from seatrial.dossier.flat import number, text_of
from seatrial.dossier.record import PlainTable
from seatrial.dossier.trial import Document, Trial, document, documents
from seatrial.dossier.words import Words

MAX_ROWS = 40


def tables(trial: Trial, words: Words) -> list[PlainTable]:
    """The tables in the order tuning, gaps, families; empty where neither was run."""
    tuning = document(trial.folder / "tuning" / "tuning.json")
    found = [*_tuning(tuning, words)] if tuning else []
    for name, report in documents(trial.folder / "families").items():
        found += _family(name, report)
    return found


def _tuning(tuning: Document, words: Words) -> list[PlainTable]:
    part = tuning.get("slice")
    on = text_of(part.get("says")) if isinstance(part, dict) else ""
    columns = [words(f"tuning.{k}") for k in ("configuration", "valid", "goodput", "e2e")]
    columns += [words("tuning.tokens_per_s"), words("tuning.minutes")]
    made = [
        PlainTable(
            id=f"tuning-{index}",
            title=words("tuning.title", candidate=text_of(engine.get("candidate"))),
            says=_effort(engine, on, words),
            columns=columns,
            rows=[_outcome(o, words, False) for o in items(engine, "tried")][:MAX_ROWS]
            + [_outcome(o, words, True) for o in items(engine, "confirmed")][:MAX_ROWS],
        )
        for index, engine in enumerate(items(tuning, "engines"))
    ]
    gaps = [_gap(g) for g in items(tuning, "gaps")][:MAX_ROWS]
    if gaps:
        heads = [words(f"tuning.{k}") for k in ("over", "default", "tuned", "owned", "says")]
        made.append(
            PlainTable(
                id="tuning-gaps",
                title=words("tuning.gaps"),
                says=words("tuning.gaps_says"),
                columns=heads,
                rows=gaps,
            )
        )
    return made


def _effort(engine: Document, on: str, words: Words) -> str:
    tried = len(items(engine, "tried"))
    says = words("tuning.effort", cells=tried, minutes=_number(engine.get("minutes")), on=on)
    stopped = text_of(engine.get("stopped")) if engine.get("stopped") else ""
    missing = engine.get("left_out")
    left = ", ".join(map(str, missing)) if isinstance(missing, list) else ""
    return " ".join(
        part
        for part in (
            says,
            words("tuning.stopped", why=stopped) if stopped else "",
            words("tuning.left_out", flags=left) if left else "",
        )
        if part
    )


def _outcome(found: Document, words: Words, own: bool) -> list[str]:
    args = found.get("args")
    pairs = args.items() if isinstance(args, dict) else ()
    name = ", ".join(f"{k}={text_of(v)}" for k, v in pairs) or words("tuning.as_it_comes")
    because = found.get("because")
    why = "; ".join(map(str, because)) if isinstance(because, list) else ""
    valid = words("cells.valid") if found.get("valid") else f"{words('cells.invalid')}: {why}"
    return [
        words("tuning.own", configuration=name) if own else name,
        valid,
        *(
            _number(found.get(k))
            for k in ("goodput", "e2e_mean_ms", "output_tokens_per_s", "minutes")
        ),
    ]


def _gap(found: Document) -> list[str]:
    share = found.get("configuration_share")
    owned = f"{share:.0%}" if isinstance(share, float | int) else "–"
    ratios = [_number(found.get(k)) for k in ("default_ratio", "tuned_ratio")]
    says = f"{text_of(found.get('says'))} ({text_of(found.get('basis'))})"
    return [f"{text_of(found.get('b'))} / {text_of(found.get('a'))}", *ratios, owned, says]


def _family(name: str, report: Document) -> list[PlainTable]:
    about = f"{text_of(report.get('candidate') or name)} · {text_of(report.get('family'))}"
    made = [
        PlainTable(
            id=f"family-{name}-{trial.get('id')}",
            title=f"{about} · {text_of(trial.get('id'))}",
            says=text_of(trial.get("says")),
            columns=[text_of(c) for c in _list(trial.get("columns"))],
            rows=[[_cell(v) for v in _list(row)] for row in _list(trial.get("rows"))[:MAX_ROWS]],
        )
        for trial in items(report, "trials")
    ]
    skipped = [[text_of(s.get("id")), text_of(s.get("because"))] for s in items(report, "not_run")]
    why = text_of(report.get("because"))
    if skipped:
        made.append(
            PlainTable(id=f"family-{name}-not-run", title=about, says=why, columns=[], rows=skipped)
        )
    return made


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return _number(value) if isinstance(value, float) else text_of(value)


def _number(value: Any) -> str:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return number(float(value)) if known else "–"
