"""A start that does not belong to its arm, and an arm that has two modes.

Servers do start badly: another clock, a cold page cache, a fallback that was taken once. One such
start among five doubles the spread and hides a real 10 % difference; thrown out by eye it makes a
result anybody can have. So the rule is fixed beforehand: a start is *outlying* when, predicted from
the other starts of all arms, it is impossible at level LEVEL shared over the cells (a deleted
t residual; Cook and Weisberg, Residuals and Influence, 1982). It is shown, it counts against the
SLOs, and its arm gets one more start; only the comparison of typical speed leaves it out. A second
one in the same arm is no accident but a mode: then nothing is left out and the arm is said to be
unsteady.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.002


def outlying(y: ArrayLike, arm: ArrayLike) -> NDArray[np.bool_]:
    """Which starts are outlying; at most one per stack, the worst.

    Args:
        y: (..., cells) one value per start, in a scale on which noise adds (log).
        arm: (cells,) number of the arm of each.

    Needs 4 starts in the arm itself and 7 in all: below that one is as strange as the rest.
    """
    from scipy.special import stdtrit

    values = np.asarray(y, dtype=np.float64)
    arms = np.asarray(arm)
    flag = np.zeros(values.shape, dtype=bool)
    sizes = {k: int((arms == k).sum()) for k in np.unique(arms)}
    if values.shape[-1] < 7 or max(sizes.values()) < 4:
        return flag
    df_all = values.shape[-1] - len(sizes)
    means = np.stack([values[..., arms == k].mean(axis=-1) for k in sizes], axis=-1)
    place = np.searchsorted(np.array(list(sizes)), arms)
    residual = values - means[..., place]
    n = np.array([sizes[k] for k in sizes])[place]
    total = (residual**2).sum(axis=-1, keepdims=True)
    left = total - residual**2 * n / np.maximum(n - 1, 1)  # sum of squares without cell i
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(residual) * np.sqrt(n / np.maximum(n - 1, 1))
        t = np.where(t > 0, t / np.sqrt(np.maximum(left, 0) / (df_all - 1)), 0.0)
    t = np.where(n >= 4, t, 0.0)
    limit = float(stdtrit(df_all - 1, 1 - LEVEL / 2 / values.shape[-1]))
    worst = t.argmax(axis=-1)
    np.put_along_axis(flag, worst[..., None], t.max(axis=-1)[..., None] > limit, axis=-1)
    return flag
