"""Charts: plain Vega-Lite specifications, the rows in them, and their drawing as SVG."""

from seatrial.charts.distribution import distribution
from seatrial.charts.figure import Basis, Column, Figure, Row
from seatrial.charts.interval import intervals, spans
from seatrial.charts.load import against_load
from seatrial.charts.render import PIP, library, svg
from seatrial.charts.theme import NARROW, WIDE, css, narrowed, with_rows, without_rows
from seatrial.charts.timeline import lines, over_time, steps

__all__ = [
    "NARROW",
    "PIP",
    "WIDE",
    "Basis",
    "Column",
    "Figure",
    "Row",
    "against_load",
    "css",
    "distribution",
    "intervals",
    "library",
    "lines",
    "narrowed",
    "over_time",
    "spans",
    "steps",
    "svg",
    "with_rows",
    "without_rows",
]
