"""Small plots in one line of text: eighths of a character cell, high for much."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_CELLS = " ▁▂▃▄▅▆▇█"


def spark(values: Sequence[float], width: int = 60) -> str:
    """``values`` in at most ``width`` characters, each the mean of its share of them.

    The highest is a full cell; anything above zero is at least one eighth. Empty of nothing.
    """
    if not values:
        return ""
    width = min(width, len(values))
    edges = [len(values) * k // width for k in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means)
    if top <= 0:
        return _CELLS[0] * width
    return "".join(_CELLS[max(1, round(8 * m / top)) if m > 0 else 0] for m in means)
