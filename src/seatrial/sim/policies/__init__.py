"""Schedulers of the field, one file each. ``POLICIES`` names them for the command line."""

from seatrial.sim.policies.chunked import Chunked
from seatrial.sim.policies.iteration import IterationLevel
from seatrial.sim.policies.paged import PrefillFirst
from seatrial.sim.policies.shortest import ShortestFirst
from seatrial.sim.policies.static import RequestLevel
from seatrial.sim.policies.swapping import SwappingPrefillFirst
from seatrial.sim.policy import Policy

POLICIES: dict[str, Policy] = {
    policy.name: policy
    for policy in (
        RequestLevel(),
        IterationLevel(),
        PrefillFirst(),
        SwappingPrefillFirst(),
        Chunked(),
        ShortestFirst(),
    )
}

__all__ = [
    "POLICIES",
    "Chunked",
    "IterationLevel",
    "PrefillFirst",
    "RequestLevel",
    "ShortestFirst",
    "SwappingPrefillFirst",
]
