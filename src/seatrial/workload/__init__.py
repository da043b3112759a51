"""The workload file, the fingerprint, synthetic traffic.

``load`` reads the user's file, ``resolve_traffic`` makes its requests, ``fingerprint`` says what
they are like.
"""

from seatrial.workload.fingerprint import fingerprint
from seatrial.workload.load import LoadedWorkload, load
from seatrial.workload.profile import Fingerprint
from seatrial.workload.resolve import ResolvedTraffic, resolve_traffic
from seatrial.workload.spec import CandidateSpec, Workload

__all__ = [
    "CandidateSpec",
    "Fingerprint",
    "LoadedWorkload",
    "ResolvedTraffic",
    "Workload",
    "fingerprint",
    "load",
    "resolve_traffic",
]
