"""Does an artefact on an engine still do the task as well as the reference?"""

from seatrial.quality.answers import Answer, Answers, Position
from seatrial.quality.collect import collect
from seatrial.quality.compare import QualityResult, compare
from seatrial.quality.margin import Margin, margin_for

__all__ = [
    "Answer",
    "Answers",
    "Margin",
    "Position",
    "QualityResult",
    "collect",
    "compare",
    "margin_for",
]
