"""Facts for people: a Markdown matrix with sources (``facts.document`` has the JSON).

The matrix shows what the store says, with a footnote for every cell: no cell without a source,
no dash where nobody looked ("?" is not "no").
"""

from __future__ import annotations

from seatrial.facts.factset import FactSet
from seatrial.facts.record import Fact

_MATRIX = (
    ("architecture", "Architectures"),
    ("quantization", "Quantisation methods"),
    ("min_capability", "Lowest compute capability"),
    ("kv_cache_dtype", "KV cache dtypes"),
    ("weight_format", "Weight formats"),
    ("platform", "Platforms"),
    ("supports", "Contract features"),
)


def as_markdown(sets: list[FactSet]) -> str:
    """One table a predicate: subjects down, engines across, footnotes to artefact and line."""
    notes: dict[str, int] = {}
    parts = ["# Facts about engines", ""]
    heads = [f"{s.engine} {s.version}" for s in sets]
    for predicate, title in _MATRIX:
        subjects = sorted({subject for s in sets for subject in s.subjects(predicate)})
        if not subjects:
            continue
        parts += [f"## {title}", ""]
        parts.append("| | " + " | ".join(heads) + " |")
        parts.append("|" + "---|" * (len(sets) + 1))
        for subject in subjects:
            cells = [_cell(s, predicate, subject, notes) for s in sets]
            parts.append(f"| {_text(subject)} | " + " | ".join(cells) + " |")
        parts.append("")
    parts += ["## Sources", ""]
    parts += [f"[{number}] {text}  " for text, number in notes.items()]
    return "\n".join(parts) + "\n"


def _cell(facts: FactSet, predicate: str, subject: str, notes: dict[str, int]) -> str:
    fact = facts.get(predicate, subject)
    if fact is None:
        return "-" if facts.knows(predicate) else "?"
    value = ", ".join(map(str, fact.value)) if isinstance(fact.value, list) else str(fact.value)
    number = notes.setdefault(_source(fact), len(notes) + 1)
    mark = "*" if fact.condition else ""
    return f"{_text(value)}{mark} [{number}]"


def _source(fact: Fact) -> str:
    source = fact.source
    line = f":{source.line}" if source.line else ""
    where = f" {source.member}{line}" if source.member else ""
    return _text(f"{source.artefact}{where}, read {fact.verified_on}")


def _text(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).replace("|", "\\|")
