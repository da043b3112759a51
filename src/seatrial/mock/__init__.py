"""The engine with known truth: an OpenAI-compatible server whose timings follow a stated law.

It is the test bench of everything that measures. ``python -m seatrial.mock --port 0`` starts it;
it writes one JSON line with its address, serves the routes that engines serve, fails in the ways
they fail when asked to, and logs its own truth about every request.
"""

from seatrial.mock.dialect import Dialect
from seatrial.mock.law import FixedLaw, StepLaw

__all__ = ["Dialect", "FixedLaw", "StepLaw"]
