"""Probes: what would settle an ``unknown``, how long it takes, and the command to paste.

The minutes are rough: a start plus a few requests; weights that must be downloaded come on top.
"""

from __future__ import annotations

from seatrial.gate.table import Probe

_PROBES: dict[str, tuple[str, float]] = {
    "install": ("seatrial engines install {engine}{at}", 5.0),
    "facts": ("seatrial facts sync {engine}{at}", 1.0),
    "boot_log": ("seatrial probe WORKLOAD --candidate {candidate} --only answers", 5.0),
    "load_and_kernel": (
        "seatrial probe WORKLOAD --candidate {candidate} --only answers",
        8.0,
    ),
    "task": ("seatrial quality WORKLOAD", 15.0),
    "real_request": ("seatrial probe WORKLOAD --candidate {candidate}", 8.0),
    "structured_output": (
        "seatrial probe WORKLOAD --candidate {candidate} --only json_schema "
        "--only json_schema.stream",
        8.0,
    ),
    "load_test": ("seatrial run WORKLOAD", 30.0),
    "pool_size": ("seatrial probe WORKLOAD --candidate {candidate} --only answers", 5.0),
    "describe_hardware": ("seatrial doctor", 1.0),
    "license": ("read the LICENSE file beside the model", 60.0),
    "lifecycle": ("seatrial lifecycle WORKLOAD --candidate {candidate}", 10.0),
}


def probe(name: str, engine: str, version: str | None, candidate: str) -> Probe:
    """The probe of this name for one candidate."""
    command, minutes = _PROBES[name]
    at = f"=={version}" if version else ""
    text = command.format(engine=engine, at=at, candidate=candidate)
    return Probe(id=name, command=text, minutes=minutes)


def commands() -> dict[str, str]:
    """Probe id -> command, with placeholders in capitals."""
    return {
        name: command.format(engine="ENGINE", at="==VERSION", candidate="CANDIDATE")
        for name, (command, _) in _PROBES.items()
    }


def minutes() -> dict[str, float]:
    """Probe id -> rough minutes."""
    return {name: cost for name, (_, cost) in _PROBES.items()}


def names() -> list[str]:
    """All probe ids."""
    return list(_PROBES)
