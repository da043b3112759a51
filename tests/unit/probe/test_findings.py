"""Three findings, none derived from another."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.engines import Environment, Match, RunningEngine, Settings, adapter
from seatrial.probe import Finding, Probe
from seatrial.probe.findings import findings


def _engine(log: Path | None) -> RunningEngine:
    return RunningEngine(
        adapter=adapter("vllm"),
        environment=Environment(engine="vllm", version="1", kind="endpoint"),
        base_url="http://127.0.0.1:9",
        model="m",
        settings=Settings(),
        flags={},
        log=log,
    )


def _match(optimised: bool | None, level: str = "info") -> Match:
    return Match(
        id=f"{optimised}{level}",
        level=level,  # type: ignore[arg-type]
        says="s",
        line="l",
        count=1,
        optimised=optimised,
    )


def _answers(verdict: str) -> list[Probe]:
    return [Probe(id="answers", required=True, verdict=verdict, evidence={})]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("matches", "verdict"),
    [
        ([], "unknown"),
        ([_match(None)], "unknown"),
        ([_match(True)], "pass"),
        ([_match(True), _match(False, "warning")], "degraded"),
        ([_match(True), _match(False, "failure")], "fail"),
    ],
)
def test_the_path_is_judged_by_the_log(matches: list[Match], verdict: str, tmp_path: Path) -> None:
    found = findings(_engine(tmp_path / "log"), _answers("pass"), matches, None, None)
    assert found.optimised_path.verdict == verdict
    assert found.loads.verdict == "pass"
    assert found.task.verdict == "unknown"


def test_an_engine_that_loads_badly_can_still_have_a_fine_path_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    task = Finding(verdict="fail", evidence={})
    found = findings(_engine(tmp_path / "log"), _answers("fail"), [_match(True)], None, task)
    verdicts = (found.loads.verdict, found.optimised_path.verdict, found.task.verdict)
    assert verdicts == ("fail", "pass", "fail")


def test_a_roofline_share_is_shown_and_judges_nothing(tmp_path: Path) -> None:
    low = {"share": 0.0001}
    found = findings(_engine(tmp_path / "log"), _answers("pass"), [_match(True)], low, None)
    assert found.optimised_path.verdict == "pass"
    assert found.optimised_path.evidence["roofline"] == low
