"""A made-up lifecycle: starts, a drain that refused three, an upgrade that lost none."""

from __future__ import annotations

from seatrial.lifecycle.record import Change, Drain, LifecycleReport, NotRun, Trial

from .origin import ORIGIN


def lifecycle(candidate: str) -> LifecycleReport:
    """lifecycle/CANDIDATE.json of the real type."""
    new = "b11620"
    return LifecycleReport(
        schema="seatrial/lifecycle/1",
        candidate=candidate,
        engine="llama.cpp",
        version="b11549",
        cold_start_s={"process": 0.3, "weights": 0.9, "warmup": 0.2, "first_token": 1.6},
        warm_start_s={"process": 0.3, "weights": 0.2, "warmup": 0.2, "first_token": 0.9},
        drain=Drain(in_flight=8, finished=8, cut=0, refused=3, s=4.2, killed=False),
        recovery_s=2.4,
        upgrade=_change(s=6.1, lost=0, served=41, old="b11549", new=new),
        rollback=_change(s=5.8, lost=1, served=39, old=new, new="b11549"),
        trials=[
            Trial(id="drain", verdict="pass", value=4.2, limit=30.0, unit="s", evidence={}),
            Trial(id="recovery", verdict="pass", value=2.4, limit=60.0, unit="s", evidence={}),
        ],
        not_run=[NotRun(id="endurance", because="no time was given to it")],
        provenance=ORIGIN,
    )


def _change(*, s: float, lost: int, served: int, old: str, new: str) -> Change:
    return Change(
        s=s,
        lost=lost,
        served=served,
        open_at_switch=4,
        old_cpus=None,
        new_cpus=None,
        old=old,
        new=new,
        router="the built-in router",
    )
