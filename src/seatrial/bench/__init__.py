"""Load tests: one start of one candidate under one load is a cell."""

from seatrial.bench.cell import Cell, ClientReport, Counts, Finding, Summary

__all__ = ["Cell", "ClientReport", "Counts", "Finding", "Summary"]
