"""Intervals, comparisons, sequential decisions: pure functions on arrays."""

from seatrial.stats.compare import Comparison, Outcome, compare
from seatrial.stats.family import holm
from seatrial.stats.interval import Interval, proportion_interval
from seatrial.stats.mean import bootstrap_mean, mean_interval, prediction_bound
from seatrial.stats.modes import find_modes
from seatrial.stats.outlying import outlying
from seatrial.stats.percentile import percentile, percentile_interval, percentiles, values_needed
from seatrial.stats.sequential import ALPHA, looks, spend
from seatrial.stats.steady import busy_window, mser

__all__ = [
    "ALPHA",
    "Comparison",
    "Interval",
    "Outcome",
    "bootstrap_mean",
    "busy_window",
    "compare",
    "find_modes",
    "holm",
    "looks",
    "mean_interval",
    "mser",
    "outlying",
    "percentile",
    "percentile_interval",
    "percentiles",
    "prediction_bound",
    "proportion_interval",
    "spend",
    "values_needed",
]
