"""Results of other load generators, read as evidence of a stated lower grade.

What they did not record is named, and each number keeps the definition of the tool that made it:
numbers of different definitions are never compared.
"""

from seatrial.bench.foreign.evidence import Evidence, Number
from seatrial.bench.foreign.read import read

__all__ = ["Evidence", "Number", "read"]
