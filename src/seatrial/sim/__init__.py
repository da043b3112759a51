"""A simulator of serving engines: predictions, marked as such, with their error.

simulate(load, policy, limits, cost)       one engine; jumps over equal decode steps
simulate_cluster(...), simulate_split(...)  replicas behind a router; prefill and decode apart
validate(cells)                             predicted against measured, held back from the fit
"""

from seatrial.sim.fast import simulate
from seatrial.sim.load import Load, from_table, make_load, poisson
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import Limits, Policy
from seatrial.sim.result import Predicted, SimResult
from seatrial.sim.steps import step_loop

__all__ = [
    "POLICIES",
    "Limits",
    "Load",
    "Policy",
    "Predicted",
    "SimResult",
    "from_table",
    "make_load",
    "poisson",
    "simulate",
    "step_loop",
]
