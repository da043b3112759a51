"""The gate: strikes out what cannot do the job, with the number that binds and its source."""

from seatrial.gate.table import GateRow, GateTable, Probe, Reason

__all__ = ["GateRow", "GateTable", "Probe", "Reason"]
