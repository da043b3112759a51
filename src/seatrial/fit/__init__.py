"""From measured cells to a step-time law, with its error."""

from seatrial.fit.cost import StepCost
from seatrial.fit.observe import Observed, observe
from seatrial.fit.regress import Fit, fit
from seatrial.fit.steps import step_table

__all__ = ["Fit", "Observed", "StepCost", "fit", "observe", "step_table"]
