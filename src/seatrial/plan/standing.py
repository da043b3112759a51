"""Who is still in the race after some starts: the one rule that both the running trial and the
decision use.

It walks through the looks in the order in which the trial reached them. At each, and for each
metric of the chain in turn, the leader (best mean) is compared with the others. Who is worse by
more than the margin is out, and stays out; who is equivalent goes on to the next metric with the
leader; for whom neither is shown, the case is open. One exception keeps a clear case clear: where
the leader is shown to be no worse, and is then better on the next metric, that decides too.
Holm's step-down over the comparisons of a metric keeps the family's error at the level of the look.

Nothing is remembered outside the finished cells, so the same cells always give the same standing
and a resumed trial goes on as the broken one would have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from seatrial.plan.record import Objective
from seatrial.stats.compare import Comparison, Outcome, compare
from seatrial.stats.family import holm
from seatrial.stats.outlying import outlying
from seatrial.stats.sequential import spend


@dataclass(frozen=True, slots=True)
class Start:
    """One valid start: its number, place in the order, and the values of the chain's metrics."""

    start: int
    position: int
    values: Mapping[str, float]


Arms = Mapping[str, Sequence[Start]]


@dataclass(slots=True)
class Standing:
    """The state of the race.

    Attributes:
        leader: best among those still in; None with no data.
        worse: candidate -> the comparison that put it out (``a`` is who beat it).
        equivalent, open: those still in, against the leader at the last look.
        comparisons: all made, in order; ``starts_a``, ``starts_b`` say at which look.
        set_aside: (candidate, start) of outlying starts left out of the comparison.
        unsteady: candidates with more than one outlying start: nothing of them is left out.
        looks: numbers of starts at which was looked.
    """

    leader: str | None = None
    worse: dict[str, Comparison] = field(default_factory=dict)
    equivalent: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    set_aside: list[tuple[str, int]] = field(default_factory=list)
    unsteady: list[str] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)

    @property
    def settled(self) -> bool:
        """Whether a look found every other candidate worse than the leader or equivalent to it."""
        return bool(self.looks) and not self.open


def standing(starts: Arms, chain: Sequence[Objective], *, planned: int, margin: float) -> Standing:
    """Judge what is there.

    Args:
        starts: contender -> its valid starts in order of execution; may be empty.
        chain: metrics in order of rank, at least one.
        planned: starts of each that the plan foresaw; margin: the plan's.
    """
    state = Standing()
    alive = list(starts)
    for n in range(2, max((len(s) for s in starts.values()), default=0) + 1):
        level = spend(n, planned)
        if level == 0 or len(alive) < 2:
            continue
        kept = _at_look({name: starts[name] for name in alive}, n, chain[-1], state)
        if kept is None:
            break
        state.looks.append(n)
        _look(kept, chain, margin, level, state)
        alive = [name for name in alive if name not in state.worse]
        if state.settled:  # the trial ended here, whatever was measured after it
            break
    if not state.looks:
        some = {name: found for name, found in starts.items() if found}
        state.leader = best(some, chain[0]) if some else None
        state.open = [name for name in alive if name != state.leader]
    return state


def _at_look(starts: Arms, n: int, link: Objective, state: Standing) -> Arms | None:
    """The starts of each that count after n; where one is outlying, one more of each is read.

    None while an arm has not got them yet.
    """
    take = n
    while True:
        pool = {name: list(found[:take]) for name, found in starts.items()}
        if any(len(found) < take for found in pool.values()):
            return None
        flagged = _flagged(pool, link)
        state.unsteady = [name for name, hits in flagged.items() if len(hits) > 1]
        state.set_aside = [(name, hits[0]) for name, hits in flagged.items() if len(hits) == 1]
        if not state.set_aside or take > n:
            break
        take = n + 1
    aside = set(state.set_aside)
    return {
        name: [s for s in found if (name, s.start) not in aside] for name, found in pool.items()
    }


def _flagged(pool: Arms, link: Objective) -> dict[str, list[int]]:
    """candidate -> numbers of its outlying starts, found one at a time on the finest metric."""
    rows = [(name, s) for name, found in pool.items() for s in found]
    names = list(pool)
    flagged: dict[str, list[int]] = {}
    while rows:
        y = np.array([series([s], link)[0] for _, s in rows])
        if not np.isfinite(y).all():
            break
        hits = np.flatnonzero(outlying(y, [names.index(name) for name, _ in rows]))
        if not hits.size:
            break
        name, start = rows.pop(int(hits[0]))
        flagged.setdefault(name, []).append(start.start)
    return flagged


def _look(
    kept: Arms, chain: Sequence[Objective], margin: float, level: float, state: Standing
) -> None:
    """One look; adds to ``worse`` and sets leader, equivalent and open."""
    group, unsure = list(kept), list[str]()
    state.open, state.leader = [], None
    for link in chain:
        leader = best({name: kept[name] for name in group}, link)
        if leader != state.leader:
            state.open.extend(unsure)
            unsure = []
        state.leader = leader
        rest = [name for name in group if name != leader]
        blind = [name for name in [*rest, *unsure] if not _usable(link, kept, leader, name)]
        state.open.extend(blind)
        found = [
            versus(link, leader, name, kept, margin, level)
            for name in [*rest, *unsure]
            if name not in blind
        ]
        decided = holm_outcomes(found, level)
        state.comparisons.extend(decided)
        state.worse.update({c.b: c for c in decided if c.outcome is Outcome.BETTER})
        left = [c for c in decided if c.outcome is not Outcome.BETTER]
        state.open.extend(c.b for c in left if c.b in unsure)
        left = [c for c in left if c.b not in unsure]
        group = [leader, *(c.b for c in left if c.outcome is Outcome.EQUIVALENT)]
        others = [c for c in left if c.outcome is not Outcome.EQUIVALENT]
        unsure = [c.b for c in others if c.p_not_worse <= level]
        state.open.extend(c.b for c in others if c.b not in unsure)
    state.open.extend(unsure)
    state.equivalent = group[1:]


def _usable(link: Objective, kept: Arms, *names: str) -> bool:
    """Whether every start of these candidates has a value on this metric."""
    return all(bool(np.isfinite(series(kept[name], link)).all()) for name in names)


def versus(
    link: Objective, a: str, b: str, starts: Arms, margin: float, level: float
) -> Comparison:
    """a against b on one metric over their starts."""
    return compare(
        metric=link.metric,
        a=a,
        b=b,
        y_a=series(starts[a], link),
        y_b=series(starts[b], link),
        position_a=[s.position for s in starts[a]],
        position_b=[s.position for s in starts[b]],
        margin=margin,
        alpha=level,
        log=link.log,
        higher_is_better=link.higher_is_better,
    )


def holm_outcomes(found: Sequence[Comparison], level: float) -> list[Comparison]:
    """The comparisons with outcomes read from Holm-adjusted p-values."""
    if len(found) < 2:
        return list(found)
    raw = np.array([[c.p_better, c.p_worse, c.p_equivalent] for c in found])
    least = raw.min(axis=1)
    factor = np.divide(holm(least), least, out=np.ones_like(least), where=least > 0)
    names = (Outcome.BETTER, Outcome.WORSE, Outcome.EQUIVALENT)
    out = []
    for comparison, p in zip(found, raw * factor[:, None], strict=True):
        claims = [name for name, value in zip(names, p, strict=True) if value <= level]
        outcome = claims[0] if claims else Outcome.UNDECIDED
        out.append(msgspec.structs.replace(comparison, outcome=outcome))
    return out


def series(starts: Sequence[Start], link: Objective) -> list[float]:
    """The values that are compared: logarithms for a log metric; NaN where there is none."""
    values = np.array([s.values.get(link.metric, np.nan) for s in starts], dtype=np.float64)
    if link.log:
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.log(values)
    return [float(v) for v in values]


def best(kept: Arms, link: Objective) -> str:
    """The candidate with the best mean on one metric; the first of equals."""

    def merit(name: str) -> float:
        mean = float(np.mean(series(kept[name], link)))
        return -np.inf if np.isnan(mean) else mean if link.higher_is_better else -mean

    return max(kept, key=merit)
