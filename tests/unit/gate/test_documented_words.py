"""Everything the gate can say is documented: constraints, verdicts, probes; and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from seatrial import gate
from seatrial.core.verdict import Verdict
from seatrial.gate.probes import names

PAGE = Path(__file__).resolve().parents[3] / "docs" / "method" / "gate.md"
_ROW = re.compile(r"^\| `([a-z_0-9]+)` \|", re.MULTILINE)


def _section(title: str) -> set[str]:
    text = PAGE.read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return set(_ROW.findall(text))


def test_every_constraint_is_documented() -> None:
    assert _section("Constraints") == {c.id for c in gate.constraints()}


def test_every_verdict_and_probe_is_documented() -> None:
    assert _section("Verdicts") == {v.value for v in Verdict}
    assert _section("Probes") == set(names())


def test_every_constraint_says_what_it_asks_needs_and_is_freed_by() -> None:
    for entry in gate.constraints():
        assert entry.asks.endswith("?"), entry.id
        assert entry.needs, entry.id
        assert entry.remedy, entry.id
        assert set(entry.verdicts) <= {v.value for v in Verdict}, entry.id


def test_the_page_has_each_constraint_as_it_is_declared() -> None:
    text = PAGE.read_text()
    for entry in gate.constraints():
        says = ", ".join(entry.verdicts) or "a remark only"
        row = f"| `{entry.id}` | {entry.asks} | {entry.needs} | {says} | {entry.remedy} |"
        assert row in text, entry.id
