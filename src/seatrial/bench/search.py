"""The highest load that meets the SLO, with an interval: doubling, then bisection.

A probe at one load gives k of n requests within every SLO. Its exact interval decides: wholly at
or above the target it passes, wholly below it fails, otherwise the probe is repeated with fresh
requests and the counts are pooled, up to a limit; what then is still open is left open. The answer
is the interval between the highest load that passes and the lowest that fails. Loads that stay
open widen it, and ``resolved`` is False.

Assumes that more load never meets an SLO better; a pass above a fail is told as a finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from seatrial.stats.interval import Interval, proportion_interval

RESOLUTION = 1.1
MOST_PROBES = 24
MOST_REPEATS = 3


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement at one load: ``good`` of ``n`` requests met every SLO.

    ``invalid`` holds the reasons when the client could not carry the load.
    """

    load: float
    good: int
    n: int
    invalid: list[str] = []


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """All probes at one load together; ``verdict`` is pass, fail, open or invalid."""

    load: float
    share: Interval
    verdict: str
    repeats: int
    invalid: list[str]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        best: highest load that passed; None if none did.
        low, high: the largest load known to pass and the smallest known to fail; None: unknown.
        resolved: the two are within the resolution of each other and nothing is open between.
        because: one sentence.
    """

    target: float
    best: float | None
    low: float | None
    high: float | None
    resolved: bool
    because: str
    judged: list[Judged]


def search(
    probe: Callable[[float, int], Probe],
    *,
    start: float,
    target: float,
    whole: bool = False,
    resolution: float = RESOLUTION,
    confidence: float = 0.95,
) -> Found:
    """Search for the highest load with at least ``target`` of the requests within every SLO.

    Args:
        probe: measures a load; its second argument is a running number, for fresh requests.
        start: first load tried.
        whole: loads are whole numbers (concurrency).
        resolution: stop when fail / pass is at most this.
    """
    hunt = _Hunt(probe, target, whole, confidence)
    load = hunt.rounded(start)
    while hunt.left and hunt.judge(load).verdict == "pass":
        load = hunt.rounded(2.0 * load)
    while hunt.left and hunt.passed is None:
        if load <= (1 if whole else start / 1024):
            break
        load = hunt.rounded(load / 2.0)
        hunt.judge(load)
    while hunt.left and hunt.passed is not None and hunt.above is not None:
        if hunt.above / hunt.passed <= resolution:
            break
        middle = hunt.rounded(math.sqrt(hunt.passed * hunt.above))
        if middle in (hunt.passed, hunt.above):
            break
        hunt.judge(middle)
    return hunt.answer(resolution)


class _Hunt:
    """What is known so far."""

    def __init__(
        self, probe: Callable[[float, int], Probe], target: float, whole: bool, confidence: float
    ) -> None:
        self._probe = probe
        self._target = target
        self._whole = whole
        self._confidence = confidence
        self.left = MOST_PROBES
        self._number = 0
        self.judged: list[Judged] = []

    def rounded(self, load: float) -> float:
        """A load that can be tried."""
        return max(1.0, float(round(load))) if self._whole else load

    @property
    def passed(self) -> float | None:
        """Highest load that passed."""
        return max((j.load for j in self.judged if j.verdict == "pass"), default=None)

    @property
    def above(self) -> float | None:
        """Lowest load above it that did not pass."""
        passed = self.passed or 0.0
        others = [j.load for j in self.judged if j.verdict != "pass" and j.load > passed]
        return min(others, default=None)

    def judge(self, load: float) -> Judged:
        """Probe a load until its interval decides, or the repeats are spent."""
        good = n = repeats = 0
        verdict, invalid = "open", list[str]()
        while verdict == "open" and repeats < MOST_REPEATS and self.left:
            self.left -= 1
            self._number += 1
            repeats += 1
            found = self._probe(load, self._number)
            if found.invalid:
                verdict, invalid = "invalid", found.invalid
                break
            good, n = good + found.good, n + found.n
            share = proportion_interval(good, n, self._confidence)
            if n and share.low >= self._target:
                verdict = "pass"
            elif n and share.high < self._target:
                verdict = "fail"
        judged = Judged(
            load=load,
            share=proportion_interval(good, n, self._confidence),
            verdict=verdict,
            repeats=repeats,
            invalid=invalid,
        )
        self.judged.append(judged)
        return judged

    def answer(self, resolution: float) -> Found:
        """The interval and what it rests on."""
        low = self.passed
        fails = [j.load for j in self.judged if j.verdict == "fail"]
        high = min((f for f in fails if low is None or f > low), default=None)
        near = low is not None and high is not None
        step = max(resolution, (low + 1) / low) if self._whole and low else resolution
        resolved = bool(near and high is not None and low is not None and high / low <= step + 1e-9)
        return Found(
            target=self._target,
            best=low,
            low=low,
            high=high,
            resolved=resolved,
            because=self._because(low, high, resolved),
            judged=sorted(self.judged, key=lambda j: j.load),
        )

    def _because(self, low: float | None, high: float | None, resolved: bool) -> str:
        invalid = [j for j in self.judged if j.verdict == "invalid"]
        if resolved:
            return "the highest load that passes and the lowest that fails are next to each other"
        if invalid:
            return f"at {invalid[0].load:g} the client was the bottleneck: {invalid[0].invalid[0]}"
        if low is None:
            return "no load that was tried meets the SLO"
        if high is None:
            return "every load that was tried meets the SLO"
        return "between the two the share was too near the target to tell with these requests"
