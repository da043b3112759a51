"""Aphrodite: a fork of vLLM with another package name; the shapes are vLLM's."""

from __future__ import annotations

from seatrial.facts.extract import vllm
from seatrial.facts.extract.findings import Findings

NAME = "aphrodite"
VERSION = vllm.VERSION


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Architectures, methods, dtypes and requirements; its surface is not read."""
    vllm.extract(findings, package="aphrodite", deep=False)
