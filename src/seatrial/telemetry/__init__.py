"""Watching: process trees, the host's noise, GPUs, and the engine's own metrics.

``Sampler(pid, metrics_url)`` runs on a thread of its own; its ``Telemetry`` summarises itself
into a cell's ``resources`` and writes telemetry.parquet and server_metrics.parquet.
"""

from seatrial.telemetry.host import Noise
from seatrial.telemetry.prometheus import Series, base_name, names, parse, total
from seatrial.telemetry.result import MetricRow, Row, Telemetry
from seatrial.telemetry.sampler import Sampler

__all__ = [
    "MetricRow",
    "Noise",
    "Row",
    "Sampler",
    "Series",
    "Telemetry",
    "base_name",
    "names",
    "parse",
    "total",
]
