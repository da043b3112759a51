"""One trial repeated: the others keep their results and their times, also when it is cut short."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.core.progress import Silent
from seatrial.core.provenance import Provenance
from seatrial.engines import Settings
from seatrial.lifecycle import TRIALS, Drain, LifecycleReport, NotRun, Trial, run
from seatrial.lifecycle.earlier import merged
from seatrial.workload.spec import CandidateSpec, Model, Workload

MONDAY = "2026-11-30T10:00:00+00:00"
TUESDAY = "2026-12-01T10:00:00+00:00"


def _trial(id: str, at: str | None = None, verdict: Any = "pass") -> Trial:
    return Trial(id=id, verdict=verdict, value=1.0, limit=2.0, unit="s", evidence={}, at=at)


def _report(*trials: Trial, at: str = MONDAY, **more: Any) -> LifecycleReport:
    return LifecycleReport(
        **{
            "schema": "seatrial/lifecycle/1",
            "candidate": "c",
            "engine": "llama.cpp",
            "version": "b1",
            "cold_start_s": {},
            "warm_start_s": None,
            "drain": None,
            "recovery_s": None,
            "upgrade": None,
            "rollback": None,
            "trials": [*trials],
            "not_run": [],
            "provenance": Provenance(tool_version="0", created_at=at, inputs={}, seeds={}),
            **more,
        }
    )


DRAIN = Drain(in_flight=2, finished=2, cut=0, refused=0, s=1.0, killed=False)
EARLIER = _report(
    _trial("cold_start"),
    _trial("drain", MONDAY, "fail"),
    _trial("recovery", MONDAY),
    cold_start_s={"total": 9.0},
    warm_start_s={"total": 3.0},
    drain=DRAIN,
    recovery_s=1.0,
    not_run=[NotRun(id="memory", because="no cgroup may be made here")],
)


def test_what_is_not_made_again_stays_with_its_time() -> None:
    fresh = _report(
        _trial("recovery", TUESDAY),
        at=TUESDAY,
        recovery_s=4.0,
        cold_start_s={"total": 2.0},
        not_run=[
            NotRun(id=n, because="not asked for") for n in ("start", "drain", "memory", "log")
        ],
    )
    found = merged(fresh, EARLIER, {"kill"})
    assert [(t.id, t.at, t.verdict) for t in found.trials] == [
        ("cold_start", MONDAY, "pass"),  # it had no time: that of its report
        ("drain", MONDAY, "fail"),
        ("recovery", TUESDAY, "pass"),
    ]
    assert (found.drain, found.recovery_s) == (DRAIN, 4.0)
    assert found.cold_start_s == {"total": 9.0}, "the first start of this run measured nothing"
    assert found.warm_start_s == {"total": 3.0}
    assert {n.id: n.because for n in found.not_run} == {
        "memory": "no cgroup may be made here",
        "log": "not asked for",
    }
    assert found.provenance.created_at == TUESDAY
    assert [t.id for t in found.failed] == ["drain"]


def test_what_is_made_again_and_fails_leaves_nothing_of_the_earlier_result() -> None:
    fresh = _report(_trial("drain", TUESDAY, "fail"), _trial("kill", TUESDAY, "fail"))
    found = merged(fresh, EARLIER, {"drain", "kill"})
    assert [t.id for t in found.trials] == ["cold_start", "drain", "kill"]
    assert (found.drain, found.recovery_s) == (None, None)
    # and the failure in turn goes when the trial is made once more
    again = merged(_report(_trial("recovery", TUESDAY), recovery_s=5.0), found, {"kill"})
    assert [t.id for t in again.trials] == ["cold_start", "drain", "recovery"]


@pytest.mark.parametrize("other", [{"version": "b2"}, {"engine": "vllm"}])
def test_another_engine_or_version_is_not_mixed_in(other: dict[str, str]) -> None:
    fresh = _report(_trial("recovery", TUESDAY), **other)
    assert merged(fresh, EARLIER, {"kill"}) == fresh


def test_a_run_in_which_no_engine_told_its_version_keeps_the_earlier_one() -> None:
    assert merged(_report(_trial("port_clash"), version=""), EARLIER, {"port"}).version == "b1"


def test_an_interruption_keeps_the_earlier_results_of_what_it_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = sys.modules[run.__module__]._Book
    monkeypatch.setattr(book, "_start", lambda self: self.trials.append(_trial("cold_start")))
    monkeypatch.setattr(book, "_drain", lambda self: self.trials.append(_trial("drain")))

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(book, "_kill", stop)
    kept: list[LifecycleReport] = []
    spec = Workload(schema="seatrial/workload/1", name="t", model=Model(path="m"))
    with pytest.raises(KeyboardInterrupt):
        run(
            spec,
            CandidateSpec(engine="llama.cpp"),
            tmp_path,
            name="c",
            folder=tmp_path,
            settings=Settings(),
            earlier=EARLIER,
            progress=Silent(),
            keep=kept.append,
        )
    last = {t.id: t for t in kept[-1].trials}
    assert list(last) == ["cold_start", "drain", "recovery"]
    assert last["drain"].verdict == "pass"
    assert last["drain"].at > MONDAY
    assert last["recovery"].at == MONDAY
    cut = {n.id for n in kept[-1].not_run if n.because == "interrupted before it"}
    assert cut == set(TRIALS) - {"start", "drain", "kill"}
    assert msgspec.json.decode(msgspec.json.encode(kept[-1]), type=LifecycleReport) == kept[-1]
