"""How far one arm agrees with itself: the floor under every comparison of answers.

Greedy answers differ between two runs of the same engine, since batches differ under load. A
difference between engines means something only beyond that floor. (MEAS-024 of the catalogue of
measurement faults.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seatrial.stats.interval import Interval, proportion_interval


def self_agreement(runs: Sequence[Mapping[int, str]]) -> Interval:
    """Share of requests whose text is the same in every run of one arm, with its exact interval.

    Args:
        runs: request number -> text, of runs of the same requests under the same load.
    """
    common = set.intersection(*(set(run) for run in runs)) if runs else set()
    same = sum(len({run[i] for run in runs}) == 1 for i in common)
    return proportion_interval(same, len(common))
