"""Lifecycle trials on the real llama.cpp."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seatrial import lifecycle
from seatrial.core.errors import UsageError
from seatrial.workload.spec import CandidateSpec, Model, Operations, Requires, Slo, Workload

pytestmark = pytest.mark.real


def _spec(**operations: float) -> Workload:
    return Workload(
        schema="seatrial/workload/1",
        name="t",
        model=Model(path="m"),
        requires=Requires(context_tokens=512, concurrency=2),
        operations=Operations(**operations),
        slo=Slo(ttft_ms={"p95": 20_000}),
    )


def test_a_foreign_endpoint_is_never_killed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="someone else"):
        lifecycle.run(
            _spec(),
            CandidateSpec(engine="vllm", endpoint="http://127.0.0.1:1"),
            tmp_path,
            name="x",
            folder=tmp_path,
        )


def test_sigterm_kill_and_full_log(own_home: Path, small_model: Path, tmp_path: Path) -> None:
    kept: list[lifecycle.LifecycleReport] = []
    report = lifecycle.run(
        _spec(drain_s=1.0, cold_start_s=120, recovery_s=120),
        CandidateSpec(engine="llama.cpp"),
        small_model,
        name="c",
        folder=tmp_path / "life",
        only=["start", "drain", "kill", "port", "log"],
        keep=kept.append,
    )
    # an interruption loses only the trial that it met
    assert [len(k.trials) for k in kept] == [1, 2, 3, 4, 5]
    cut = {n.id for n in kept[1].not_run if n.because == "interrupted before it"}
    assert cut == {"kill", "port", "log"}
    verdicts = {t.id: t.verdict for t in report.trials}
    # this engine does not drain: requests in flight are cut, and it waits for its clients
    assert verdicts == {
        "cold_start": "pass",
        "drain": "fail",
        "recovery": "pass",
        "port_clash": "pass",
        "full_log": "pass",
    }
    assert report.drain is not None
    assert report.drain.finished + report.drain.cut == report.drain.in_flight == 2
    assert report.drain.cut == 2
    assert report.recovery_s is not None
    assert report.warm_start_s is not None
    assert {n.id for n in report.not_run} == {"hang", "restart", "change", "memory", "endurance"}
    assert (tmp_path / "life" / "cold.engine.log").stat().st_size > 1000
    again = lifecycle.run(
        _spec(drain_s=1.0, cold_start_s=120, recovery_s=120),
        CandidateSpec(engine="llama.cpp"),
        small_model,
        name="c",
        folder=tmp_path / "life",
        only=["port"],
        earlier=report,
    )
    assert [t for t in again.trials if t.id != "port_clash"] == [
        t for t in report.trials if t.id != "port_clash"
    ]
    assert (again.drain, again.recovery_s) == (report.drain, report.recovery_s)


@pytest.mark.slow
def test_hang_restart_and_change_of_version(
    own_home: Path, small_model: Path, tmp_path: Path
) -> None:
    report = lifecycle.run(
        _spec(upgrade_s=120, rollback_s=120, cold_start_s=120),
        CandidateSpec(engine="llama.cpp"),
        small_model,
        name="c",
        folder=tmp_path,
        only=["hang", "restart", "memory", "change"],
    )
    by_id = {t.id: t for t in report.trials}
    pressure = by_id.pop("memory_pressure", None)  # absent where no cgroup may be made
    if pressure is not None:
        assert pressure.evidence["limit_bytes"] < pressure.evidence["resident_bytes"]
    else:
        assert "memory" in {n.id for n in report.not_run}
    assert {t.verdict for t in by_id.values()} == {"pass", "no_limit"}
    assert by_id["hang_detection"].evidence["detected_by"] == "health"
    assert by_id["hang_detection"].evidence["answers_after_resume"]
    assert by_id["restart"].evidence["settings_equal"]
    for change in (report.upgrade, report.rollback):
        assert change is not None
        assert change.lost == 0
        assert change.served > 0
        assert 0 <= change.open_at_switch <= 2
        for cpus in (change.old_cpus, change.new_cpus):  # None: a GPU, or one core
            assert cpus is None or 1 <= len(cpus) < len(os.sched_getaffinity(0))
        assert not set(change.old_cpus or ()) & set(change.new_cpus or ())
