"""Two candidates over their server starts: better, worse, equivalent, or undecided.

Each start yields one number per arm (a log latency, a log rate, a share). The arms' cells were
interleaved A B B A, so that what drifts with time (a warming card, a busy neighbour) is nearly
orthogonal to the arm. The model is

    y_i = mu + delta * [arm_i is A] + gamma * (position_i - mean position) + e_i

with a variance of its own for each arm (two engines need not be equally steady). delta's standard
error sums the arms' residual variances with the weights of the least-squares solution, and its
degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946). On that the margin is tested
from both sides: *better* rejects delta <= margin, *worse* rejects delta >= -margin, *equivalent*
rejects both |delta| >= margin sides (two one-sided tests; Schuirmann, J. Pharmacokinet. Biopharm.
15, 1987). What rejects nothing is *undecided*. A difference that is real but inside the margin is
therefore never a winner.

Everything works on stacks of trials (leading axes), so the planted-truth suite runs the very code
that decides, thousands of trials at a time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from seatrial.stats.interval import Interval
from seatrial.stats.mean import t_quantile

Floats = NDArray[np.float64]


class Outcome(StrEnum):
    """What can be said of A against B, in the sense of the metric (better is better)."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class Contrast(NamedTuple):
    """delta = A minus B, its standard error and degrees of freedom; arrays of one shape."""

    delta: Floats
    se: Floats
    df: Floats


class PValues(NamedTuple):
    """One-sided p-values of the claims; arrays of one shape. ``not_worse`` is non-inferiority."""

    better: Floats
    worse: Floats
    equivalent: Floats
    not_worse: Floats


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """A against B on one metric.

    Attributes:
        scale: ``log`` (delta is a log ratio; ``ratio`` is A / B) or ``linear`` (a difference).
        margin: the practical margin, in the unit of ``scale``.
        alpha: the one-sided level at which ``outcome`` was read.
        delta: A minus B so that positive means A is better, with its interval (1 - 2 alpha).
        ratio: exp of the raw log difference A / B as the metric is printed; None when linear.
    """

    metric: str
    a: str
    b: str
    scale: str
    margin: float
    alpha: float
    outcome: Outcome
    delta: Interval
    ratio: Interval | None
    p_better: float
    p_worse: float
    p_equivalent: float
    p_not_worse: float
    starts_a: int
    starts_b: int


def design(is_a: ArrayLike, position: ArrayLike) -> tuple[Floats, Floats]:
    """Weights w with delta = y @ w, and the residual maker R (both from the design alone).

    The drift term is fitted only with at least 5 cells; below that there is nothing to fit it by.
    """
    a = np.asarray(is_a, dtype=np.float64)
    place = np.asarray(position, dtype=np.float64)
    columns = [np.ones_like(a), a]
    if a.size >= 5:
        columns.append(place - place.mean())
    x = np.column_stack(columns)
    inverse = np.linalg.pinv(x)
    return inverse[1], np.eye(a.size) - x @ inverse


def contrast(y: ArrayLike, is_a: ArrayLike, position: ArrayLike) -> Contrast:
    """delta and its uncertainty for stacks of trials.

    Args:
        y: (..., cells), one value per start.
        is_a: (cells,) bool, which arm; at least two cells in each.
        position: (cells,) place in the order of execution.
    """
    values = np.asarray(y, dtype=np.float64)
    arm = np.asarray(is_a, dtype=bool)
    if min(arm.sum(), (~arm).sum()) < 2:
        raise ValueError("a comparison needs at least two starts of each")
    w, r = design(arm, position)
    residual = values @ r
    parts, dfs = [], []
    for mine in (arm, ~arm):
        own_df = float(np.diag(r)[mine].sum())
        squares = np.asarray((residual[..., mine] ** 2).sum(axis=-1))
        parts.append((w[mine] @ w[mine]) * squares / own_df)
        dfs.append(own_df)
    total = np.asarray(parts[0] + parts[1])
    share = np.divide(parts[0], total, out=np.full_like(total, 0.5), where=total > 0)
    df = 1 / (share**2 / dfs[0] + (1 - share) ** 2 / dfs[1])  # of shares: squares underflow
    return Contrast(np.asarray(values @ w), np.sqrt(total), df)


def p_values(c: Contrast, margin: float) -> PValues:
    """p of "better by more than margin", "worse by more", "within it", "not worse by more"."""
    from scipy.special import stdtr

    def upper(shift: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = shift / c.se
        exact = np.where(shift > 0, 0.0, 1.0)  # no spread at all: the point itself decides
        return np.asarray(np.where(c.se > 0, stdtr(c.df, -t), exact))

    not_worse = upper(c.delta + margin)
    inside = np.maximum(not_worse, upper(margin - c.delta))
    return PValues(upper(c.delta - margin), upper(-c.delta - margin), inside, not_worse)


def read_outcome(p: PValues, alpha: float) -> NDArray[np.str_]:
    """The claim whose p-value is at most ``alpha``, element by element."""
    return np.select(
        [p.better <= alpha, p.worse <= alpha, p.equivalent <= alpha],
        [Outcome.BETTER.value, Outcome.WORSE.value, Outcome.EQUIVALENT.value],
        Outcome.UNDECIDED.value,
    )


def compare(
    *,
    metric: str,
    a: str,
    b: str,
    y_a: ArrayLike,
    y_b: ArrayLike,
    position_a: ArrayLike,
    position_b: ArrayLike,
    margin: float,
    alpha: float,
    log: bool,
    higher_is_better: bool,
) -> Comparison:
    """Compare two candidates on one value per start.

    Args:
        y_a, y_b: per start; already logarithms when ``log``.
        margin: fraction when ``log`` (0.03 is 3 %), else in the unit of y.
        alpha: one-sided level; 0 allows no claim.
    """
    sign = 1.0 if higher_is_better else -1.0
    ya, yb = np.asarray(y_a, dtype=np.float64), np.asarray(y_b, dtype=np.float64)
    bound = float(np.log1p(margin)) if log else margin
    y = np.concatenate([ya, yb])
    usable = min(ya.size, yb.size) >= 2 and bool(np.isfinite(y).all())
    if usable:
        arm = np.arange(y.size) < ya.size
        c = contrast(sign * y, arm, np.concatenate([position_a, position_b]))
        p = p_values(c, bound)
        best, se, df = float(c.delta), float(c.se), float(c.df)
        outcome = Outcome(str(read_outcome(p, alpha)))
        half = 0.0 if se == 0 else float("inf")
        if alpha > 0 and se > 0:
            half = float(t_quantile(df, 1 - alpha)) * se
        ps = [float(x) for x in p]
    else:
        best = float(sign * (ya.mean() - yb.mean())) if ya.size and yb.size else float("nan")
        outcome, half, ps = Outcome.UNDECIDED, float("inf"), [1.0] * 4
    n = int(min(ya.size, yb.size))
    delta = _interval(best - half, best, best + half, n, alpha)
    return Comparison(
        metric=metric,
        a=a,
        b=b,
        scale="log" if log else "linear",
        margin=bound,
        alpha=alpha,
        outcome=outcome,
        delta=delta,
        ratio=_ratio(delta, sign, alpha) if log else None,
        p_better=ps[0],
        p_worse=ps[1],
        p_equivalent=ps[2],
        p_not_worse=ps[3],
        starts_a=int(ya.size),
        starts_b=int(yb.size),
    )


def _interval(low: float, best: float, high: float, n: int, alpha: float) -> Interval:
    return Interval(
        low=float(low),
        best=float(best),
        high=float(high),
        n=n,
        confidence=1 - 2 * alpha,
        method="t over starts, drift removed, unequal variances",
    )


def _ratio(delta: Interval, sign: float, alpha: float) -> Interval:
    ends = sorted((sign * delta.low, sign * delta.high))
    with np.errstate(over="ignore"):
        low, best, high = np.exp([ends[0], sign * delta.best, ends[1]])
    return _interval(low, best, high, delta.n, alpha)
