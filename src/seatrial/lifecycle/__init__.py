"""Trials of a service's life: start, drain, kill, hang, restart, upgrade, roll back.

``run(spec, candidate, artefact, name=..., folder=...)`` gives a ``LifecycleReport`` with times,
losses, a verdict against each limit of ``operations``, and the list of what was not tried here.
"""

from seatrial.lifecycle.record import SCHEMA, Change, Drain, LifecycleReport, NotRun, Trial
from seatrial.lifecycle.run import TRIALS, run

__all__ = [
    "SCHEMA",
    "TRIALS",
    "Change",
    "Drain",
    "LifecycleReport",
    "NotRun",
    "Trial",
    "run",
]
