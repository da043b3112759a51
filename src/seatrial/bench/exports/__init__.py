"""A cell in the formats of others: llm-d benchmark report, Prometheus text, Mooncake trace."""

from seatrial.bench.exports.llmd import llmd_report
from seatrial.bench.exports.mooncake import mooncake_lines
from seatrial.bench.exports.prometheus import prometheus_text

__all__ = ["llmd_report", "mooncake_lines", "prometheus_text"]
