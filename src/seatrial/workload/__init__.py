"""The workload file, the fingerprint, synthetic traffic."""

from seatrial.workload.spec import CandidateSpec, Workload

__all__ = ["CandidateSpec", "Workload"]
