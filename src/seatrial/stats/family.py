"""Several claims at once: Holm's step-down keeps the chance of *any* false one at alpha."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm-adjusted p-values (Scand. J. Statist. 6, 1979) along the last axis.

    A claim stands at family-wise level alpha when its adjusted p is at most alpha. No assumption
    about how the claims depend on each other.
    """
    values = np.asarray(p, dtype=np.float64)
    m = values.shape[-1]
    if m == 0:
        return values
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    stepped = np.maximum.accumulate(ordered * np.arange(m, 0, -1), axis=-1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
