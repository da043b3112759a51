"""The five verdicts, and how several make one.

``unknown`` is not a pass, and ``infeasible`` is never "a little slower".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What can be said of one candidate, or of one constraint upon it."""

    FEASIBLE = "feasible"
    DEGRADED = "degraded"
    CONDITIONAL = "conditional"
    UNKNOWN = "unknown"
    INFEASIBLE = "infeasible"


_RANK = {verdict: rank for rank, verdict in enumerate(Verdict)}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole from its parts: the logical AND of layers.

    One infeasible part decides; then one unknown; then conditional; then degraded.
    No parts at all is ``unknown``: nothing was looked at.
    """
    return max(verdicts, key=_RANK.__getitem__, default=Verdict.UNKNOWN)
