"""Trials by family of workload: what matters to one user, to many tenants, to programs.

Chat figures do not answer these: a single user waits for a model to load and to switch, tenants
wait behind each other's bursts, programs pay for the grammar. ``choose`` says which families a
workload belongs to and why; ``run`` makes their trials on engines that it starts itself.
"""

from seatrial.probe.family.choose import FAMILIES, Chosen, choose
from seatrial.probe.family.record import FamilyReport, FamilyTrial
from seatrial.probe.family.run import run

__all__ = ["FAMILIES", "Chosen", "FamilyReport", "FamilyTrial", "choose", "run"]
