"""The gate: strikes out what cannot do the job, with the number that binds.

``run`` makes the elimination table; ``candidate_id`` names candidates; ``facts_used`` gives the
facts behind the reasons.
"""

from seatrial.gate.candidate import candidate_id
from seatrial.gate.run import constraints, facts_used, run
from seatrial.gate.table import GateRow, GateTable, Probe, Reason

__all__ = [
    "GateRow",
    "GateTable",
    "Probe",
    "Reason",
    "candidate_id",
    "constraints",
    "facts_used",
    "run",
]
