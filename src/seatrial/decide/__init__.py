"""The decision from what has been measured: selected, tie, undecided, none feasible."""

from seatrial.decide.constraints import QualityLike
from seatrial.decide.decide import decide
from seatrial.decide.folder import TrialFiles, decide_folder, load_trial
from seatrial.decide.record import Decision
from seatrial.decide.requests import read_requests

__all__ = [
    "Decision",
    "QualityLike",
    "TrialFiles",
    "decide",
    "decide_folder",
    "load_trial",
    "read_requests",
]
