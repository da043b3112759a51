"""Load tests: one start of one candidate under one load is a cell.

``measure`` fills a cell's folder from a running engine and a table of requests.
"""

from seatrial.bench.cell import Cell, ClientReport, Counts, Finding, Summary
from seatrial.bench.measure import measure

__all__ = ["Cell", "ClientReport", "Counts", "Finding", "Summary", "measure"]
