"""Intervals, comparisons, sequential decisions: pure functions on arrays."""

from seatrial.stats.interval import Interval, proportion_interval

__all__ = ["Interval", "proportion_interval"]
