"""``seatrial plan`` on a trial's folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.cli.main import run
from seatrial.store import write


def test_plan_of_a_folder(
    make_plan: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "plan.json", make_plan(["a", "b"], starts=3))
    assert run(["plan", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "seatrial/plan/1"
    assert len(document["cells"]) == 6
    assert run(["plan", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "margin 3.0%" in shown
    assert "ttft_ms.p95" in shown


def test_a_plan_of_nobody_is_a_no(make_plan: Any, tmp_path: Path) -> None:
    write(tmp_path / "plan.json", make_plan([], starts=3))
    assert run(["plan", str(tmp_path), "--json"]) == 1


def test_no_plan_there(tmp_path: Path) -> None:
    assert run(["plan", str(tmp_path)]) == 3


def test_extending_keeps_the_plan_before_it(make_plan: Any, tmp_path: Path) -> None:
    write(tmp_path / "plan.json", make_plan(["a", "b"], starts=3))
    before = (tmp_path / "plan.json").read_bytes()
    assert run(["plan", str(tmp_path), "--extend", "6"]) == 0
    assert (tmp_path / "plan.to-3.json").read_bytes() == before
    assert json.loads((tmp_path / "plan.json").read_bytes())["extended_to"] == 6
    assert run(["plan", str(tmp_path), "--extend", "99"]) == 2
