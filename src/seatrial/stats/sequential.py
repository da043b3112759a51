"""How much error each look may spend, so that looking often does not make winners of noise.

After n starts of each arm a claim may be made at the one-sided level ``spend(n)``. Because the
levels of all looks, past and future, sum to at most ALPHA, the chance that *any* look ever makes a
false claim is at most ALPHA, whenever and why ever the trial is stopped (Bonferroni over looks;
an alpha-spending function in the sense of Lan and DeMets, Biometrika 70, 1983, with nothing
assumed about how looks depend on each other). Nearly all of it is kept for the number of starts
that was planned, because that is the look that nearly every trial reaches; a little lets a clear
case end early, and a little is left for an extension, at twice, four times, ... the planned starts.

An e-value or a mixture confidence sequence would hold at every n alike, and needs about twice the
starts at these sizes; ``docs/decisions/0301`` has both figures.
"""

from __future__ import annotations

ALPHA = 0.05
FIRST_LOOK = 3
_EARLY = 0.001
_TAIL = 0.002


def spend(n: int, planned: int) -> float:
    """One-sided level of the look after ``n`` starts of each arm; 0.0 means no look.

    Sums to at most ALPHA over n = 1, 2, ...
    """
    if planned < 1:
        raise ValueError("planned starts must be at least 1")
    early_looks = max(0, planned - FIRST_LOOK)
    if n < planned:
        return _EARLY / early_looks if n >= FIRST_LOOK else 0.0
    if n == planned:
        return ALPHA - _TAIL - (_EARLY if early_looks else 0.0)
    folds, rest = divmod(n, planned)
    if rest or folds & (folds - 1):
        return 0.0
    return float(_TAIL / folds)  # folds = 2, 4, 8, ...: the sum stays below _TAIL


def looks(planned: int, most: int) -> list[int]:
    """The numbers of starts at which a claim may be made, up to ``most``."""
    return [n for n in range(1, most + 1) if spend(n, planned) > 0]


def level_at(n: int, planned: int) -> float:
    """Level of the latest look that n starts have reached; 0.0 before the first."""
    reached = [spend(k, planned) for k in range(2, n + 1) if spend(k, planned) > 0]
    return reached[-1] if reached else 0.0
