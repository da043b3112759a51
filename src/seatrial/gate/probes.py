"""Probes: what would settle an ``unknown``, how long it takes, and the command to paste.

The minutes are rough: a start plus a few requests; weights that must be downloaded come on top.
"""

from __future__ import annotations

from seatrial.gate.table import Probe

_PROBES: dict[str, tuple[str, float]] = {
    "install": ("seatrial engines install {engine}{at}", 5.0),
    "facts": ("seatrial facts sync {engine}{at}", 1.0),
    "boot_log": ("seatrial probe WORKLOAD --candidate {engine}{at} --only loads", 5.0),
    "load_and_kernel": (
        "seatrial probe WORKLOAD --candidate {engine}{at} --only optimised_path",
        8.0,
    ),
    "task": ("seatrial quality WORKLOAD --candidate {engine}{at}", 15.0),
    "real_request": ("seatrial probe WORKLOAD --candidate {engine}{at}", 8.0),
    "structured_output": (
        "seatrial probe WORKLOAD --candidate {engine}{at} --only structured_output",
        8.0,
    ),
    "load_test": ("seatrial bench WORKLOAD --candidate {engine}{at}", 15.0),
    "pool_size": ("seatrial probe WORKLOAD --candidate {engine}{at} --only kv_pool", 5.0),
    "read_artefact": ("seatrial facts sync {engine}{at}", 1.0),
    "describe_hardware": ("seatrial doctor", 1.0),
    "lifecycle": ("seatrial lifecycle WORKLOAD --candidate {engine}{at}", 10.0),
}


def probe(name: str, engine: str, version: str | None) -> Probe:
    """The probe of this name for one candidate."""
    command, minutes = _PROBES[name]
    at = f"=={version}" if version else ""
    return Probe(id=name, command=command.format(engine=engine, at=at), minutes=minutes)


def names() -> list[str]:
    """All probe ids."""
    return list(_PROBES)
