"""The plan of a trial: order, number of starts, rule; fixed before the first cell."""

from seatrial.plan.make import extend, interleave, make
from seatrial.plan.next import full_chain, next_cell, starts_of, summary_values
from seatrial.plan.record import LeftOut, Objective, Plan, PlannedArm, PlannedCell, Rule
from seatrial.plan.standing import Standing, Start, standing

__all__ = [
    "LeftOut",
    "Objective",
    "Plan",
    "PlannedArm",
    "PlannedCell",
    "Rule",
    "Standing",
    "Start",
    "extend",
    "full_chain",
    "interleave",
    "make",
    "next_cell",
    "standing",
    "starts_of",
    "summary_values",
]
