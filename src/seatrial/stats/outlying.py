"""A start that does not belong to its arm, and an arm that has two modes.

Servers do start badly: another clock, a cold page cache, a fallback that was taken once. One such
start among five doubles the spread and hides a real 10 % difference; thrown out by eye it makes a
result anybody can have. So the rule is fixed beforehand: a start is *outlying* when, predicted from
the other starts of all arms, it is impossible at level LEVEL shared over the cells (a deleted
t residual; Cook and Weisberg, Residuals and Influence, 1982). It is shown, it counts against the
SLOs, and every arm gets one more start; only the comparison of typical speed leaves it out. A
second one in the same arm is no accident but a mode: then nothing is left out and the arm is said
to be unsteady.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.01


def outlying(y: ArrayLike, arm: ArrayLike) -> NDArray[np.bool_]:
    """Which starts are outlying; at most one per stack, the worst.

    Args:
        y: (..., cells) one value per start, in a scale on which noise adds (log); NaN is no start.
        arm: (cells,) number of the arm of each.

    Needs 4 starts in the arm itself and 7 in all: below that one is as strange as the rest.
    """
    from scipy.special import stdtrit

    values = np.asarray(y, dtype=np.float64)
    names, place = np.unique(np.asarray(arm), return_inverse=True)
    member = (place == np.arange(names.size)[:, None]).astype(np.float64)  # (arms, cells)
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    count = there @ member.T  # (..., arms)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (filled @ member.T) / count
    residual = np.where(there, values - mean[..., place], 0.0)
    n = count[..., place]
    total = count.sum(axis=-1)[..., None]
    df = total - (count > 0).sum(axis=-1)[..., None] - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        own = residual**2 * n / (n - 1)  # what the deleted residual takes from the sum of squares
        left = np.maximum((residual**2).sum(axis=-1, keepdims=True) - own, 0.0)
        t = np.where(own > 0, np.sqrt(own * df / left), 0.0)
        limit = stdtrit(df, 1 - LEVEL / 2 / total)
    t = np.where((n >= 4) & (total >= 7) & there, t, 0.0)
    flag = np.zeros(values.shape, dtype=bool)
    worst = t.argmax(axis=-1)[..., None]
    hit = np.take_along_axis(t, worst, axis=-1) > np.where(total >= 7, limit, np.inf)
    np.put_along_axis(flag, worst, hit, axis=-1)
    return flag
