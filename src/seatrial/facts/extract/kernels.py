"""A wheel of compiled kernels alone (sglang-kernel): requirements; its CUDA targets are the point.

They are read with ``facts sync --binaries``: see ``extract.binaries``.
"""

from __future__ import annotations

from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.metadata import add_metadata

NAME = "kernels"
VERSION = 1


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Requirements and licence."""
    findings.step("requires", lambda: add_metadata(findings))
