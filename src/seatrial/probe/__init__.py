"""Questions to a live engine: does it keep the contract the workload needs?

``run(engine, spec)`` gives a ``ProbeReport``: one verdict per probe with its evidence, and three
findings kept apart (loads, optimised path, task).
"""

from seatrial.probe.record import SCHEMA, Finding, Findings, Probe, ProbeReport
from seatrial.probe.run import run

__all__ = ["SCHEMA", "Finding", "Findings", "Probe", "ProbeReport", "run"]
