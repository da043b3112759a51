"""The dossier as Markdown for a pull request: the answer and the tables, no pictures.

A comment on the common forges holds 65,536 characters; this stays far below. Names and texts from
outside are code spans or escaped, so that none becomes a heading, a mention, a link or HTML.
"""

from __future__ import annotations

import re

from seatrial.dossier.escape import one_line
from seatrial.dossier.html import metric_name, metric_rows, quantity, span
from seatrial.dossier.record import Dossier, EliminationRow, Measured
from seatrial.dossier.words import Words, words

MAX_CHARACTERS = 60_000
MAX_ROWS = 60
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@!&])")


def markdown(dossier: Dossier) -> str:
    """The text; at most ``MAX_CHARACTERS``, the rest is in the other two files."""
    t = words(dossier.lang)
    parts = [
        *_answer(dossier, t),
        *_candidates(dossier, t),
        *_changes(dossier, t),
        *_elimination(dossier, t),
        *_limits(dossier, t),
        *_recipe(dossier, t),
    ]
    made = t(
        "made",
        version=dossier.provenance.tool_version,
        date=dossier.provenance.created_at[:10],
    )
    text = "\n".join([*parts, "", escape(made), ""])
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 2]}…\n"


def escape(text: str) -> str:
    """One line of text in which nothing is Markdown, a mention or HTML."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """A code span; backticks inside are replaced, pipes escaped for tables."""
    return "`" + one_line(text).replace("`", "'").replace("|", "\\|") + "`"


def _answer(d: Dossier, t: Words) -> list[str]:
    a = d.answer
    headline = " = ".join(code(c) for c in a.chosen) or escape(a.headline)
    lines = [f"## {t(f'outcome.{a.outcome}')}: {headline}", "", escape(d.trial), ""]
    if d.comparability:
        differs = ", ".join(code(f) for f in d.comparability.differs[:8])
        lines += [escape(d.comparability.says) + (f" {differs}" if differs else ""), ""]
    for key, items in (
        ("ask.sure", a.sure),
        ("ask.rests", [*a.rests_on, *a.caveats]),
        ("ask.next", a.following),
        ("ask.back", a.go_back),
    ):
        if items:
            lines += [f"**{t(key)}**", "", *(f"- {escape(item)}" for item in items), ""]
    return lines


def _candidates(d: Dossier, t: Words) -> list[str]:
    if not d.candidates:
        return []
    heads = [code(c.candidate) for c in d.candidates]
    lines = [f"### {t('section.candidates')}", "", _row([t("column.metric"), *heads])]
    lines.append(_row(["---", *("---:" for _ in heads)]))
    starts = [f"{c.valid}/{c.starts}" for c in d.candidates]
    lines.append(_row([t("measured.valid"), *starts]))
    for metric, values in metric_rows(d):
        lines.append(_row([metric_name(metric, t), *(_measured(m) for m in values)]))
    return [*lines, "", escape(t("measured.intro")), ""]


def _measured(m: Measured | None) -> str:
    if m is None:
        return "–"
    mark = {"met": " ✓", "missed": " ✗", "unproven": " ?"}.get(m.slo, "")
    if m.over_starts is None:
        return " · ".join(quantity(v, m.unit) for v in m.per_start) + mark
    return f"{quantity(m.over_starts.best, m.unit)} {span(m.over_starts, m.unit)}{mark}"


def _changes(d: Dossier, t: Words) -> list[str]:
    if not d.would_change:
        return []
    lines = [f"### {t('section.change')}", ""]
    for c in d.would_change:
        lines.append(f"- {code(c.what)}: {escape(c.says)}")
    return [*lines, ""]


def _elimination(d: Dossier, t: Words) -> list[str]:
    if not d.elimination:
        return []
    heads = [t("column.candidate"), t("column.verdict"), t("column.reason")]
    lines = [f"### {t('section.elimination')}", "", _row(heads), _row(["---"] * 3)]
    lines += [_row(_eliminated(row, t)) for row in d.elimination[:MAX_ROWS]]
    return [*lines, ""]


def _eliminated(row: EliminationRow, t: Words) -> list[str]:
    first = row.reasons[0] if row.reasons else None
    says = escape(first.says) if first else ""
    if first and first.remedy:
        says += f" {t('elimination.remedy')} {escape(first.remedy)}"
    return [code(row.candidate), t.maybe(f"verdict.{row.verdict}", row.verdict), says]


def _limits(d: Dossier, t: Words) -> list[str]:
    if not d.limits:
        return []
    return [
        f"### {t('fingerprint.limits')}",
        "",
        *(f"- {escape(line)}" for line in d.limits),
        "",
    ]


def _recipe(d: Dossier, t: Words) -> list[str]:
    commands = [one_line(c).replace("`", "'") for c in d.recipe.commands]
    lines = [f"### {t('section.recipe')}", "", "```sh", *commands, "```", ""]
    lines += [f"- {escape(k)}: {code(v)}" for k, v in d.recipe.hashes.items()]
    return lines


def _row(fields: list[str]) -> str:
    return "| " + " | ".join(fields) + " |"
