"""Tuning and family trials as the dossier shows them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from seatrial.dossier import beside
from seatrial.dossier.trial import Trial, open_trial
from seatrial.dossier.words import words

OUTCOME = {"valid": True, "because": [], "goodput": 1.0, "e2e_mean_ms": 900.0, "minutes": 0.5}
TUNING = {
    "slice": {"says": "12 requests after the trial's"},
    "engines": [
        {
            "candidate": "a",
            "tried": [
                {**OUTCOME, "args": {}},
                {**OUTCOME, "args": {"chunk": 64}, "valid": False, "because": ["late"]},
            ],
            "confirmed": [{**OUTCOME, "args": {"chunk": 32}}],
            "left_out": ["gone"],
            "minutes": 1.0,
            "stopped": "no time left",
        }
    ],
    "gaps": [
        {
            "a": "a",
            "b": "b",
            "default_ratio": 4.0,
            "tuned_ratio": 2.0,
            "configuration_share": 0.5,
            "basis": "tuning slice",
            "says": "half of it",
        }
    ],
}
FAMILY = {
    "candidate": "a",
    "family": "many_tenants",
    "because": "8 at once",
    "trials": [
        {"id": "bursts", "says": "it waits", "columns": ["class", "ms"], "rows": [["short", None]]}
    ],
    "not_run": [{"id": "adapters", "because": "none named"}],
}


def trial(folder: Path) -> Trial:
    (folder / "workload.yaml").write_text("schema: seatrial/workload/1\n")
    return open_trial(folder)


def test_tuning_gaps_and_families_are_tables(tmp_path: Path) -> None:
    for name, value in (("tuning/tuning", TUNING), ("families/a.many_tenants", FAMILY)):
        path = tmp_path / f"{name}.json"
        path.parent.mkdir()
        path.write_text(json.dumps(value))
    found = {t.id: t for t in beside.tables(trial(tmp_path), words("en"))}
    tuned = found["tuning-0"]
    assert [row[0] for row in tuned.rows] == [
        "as it comes",
        "chunk=64",
        "chunk=32, on the trial's traffic",
    ]
    assert tuned.rows[1][1].endswith(": late")
    assert "gone" in tuned.says
    assert "no time left" in tuned.says
    assert found["tuning-gaps"].rows[0][:4] == ["b / a", "4", "2", "50%"]
    assert found["family-a.many_tenants-bursts"].rows == [["short", "–"]]
    assert found["family-a.many_tenants-not-run"].rows == [["adapters", "none named"]]
    assert all(len(row) == len(t.columns) for t in found.values() if t.columns for row in t.rows)


def test_a_hostile_file_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "tuning").mkdir()
    broken = {"slice": 3, "engines": [{"tried": [{"args": 1, "because": 2}]}, 7], "gaps": "x"}
    (tmp_path / "tuning" / "tuning.json").write_bytes(msgspec.json.encode(broken))
    (table,) = beside.tables(trial(tmp_path), words("zh"))
    assert table.rows[0][0] == "默认"


def test_without_them_there_is_no_section(tmp_path: Path) -> None:
    assert beside.tables(trial(tmp_path), words("en")) == []
