"""docker compose (Compose Specification)."""

from __future__ import annotations

from typing import Any

import yaml

from seatrial.decide.deploy.order import PORT, Order, pin_note


def compose(order: Order) -> str:
    """compose.yaml: one service on loopback, weights read-only, health check, stop grace."""
    service: dict[str, Any] = {
        "image": order.image,
        "entrypoint": [],
        "command": [_literal(part) for part in order.command],
        "environment": {name: _literal(value) for name, value in order.env.items()},
        "ports": [f"127.0.0.1:{PORT}:{PORT}"],
        "volumes": ["./models:/models:ro"],
        "restart": "unless-stopped",
        "stop_grace_period": f"{round(order.drain_s)}s",
        "healthcheck": {
            "test": ["CMD-SHELL", f"curl -fsS http://127.0.0.1:{PORT}{order.health} || exit 1"],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": f"{max(10, round(3 * order.cold_start_s))}s",
        },
        "labels": {
            "seatrial.candidate": order.candidate,
            "seatrial.artefact.sha256": order.artefact_sha256 or "unknown",
        },
    }
    if order.engine == "ollama":
        service["volumes"] = ["ollama:/models"]
    limits: dict[str, Any] = {}
    if order.memory_bytes and not order.gpus:
        limits["limits"] = {"memory": str(order.memory_bytes)}
    if order.gpus:
        device = {"driver": "nvidia", "count": order.gpus, "capabilities": ["gpu"]}
        limits["reservations"] = {"devices": [device]}
        service["ipc"] = "host"
    if limits:
        service["deploy"] = {"resources": limits}
    document: dict[str, Any] = {"name": order.name, "services": {"engine": service}}
    if order.engine == "ollama":
        document["volumes"] = {"ollama": {}}
    return f"# {order.candidate} for {order.workload}: {pin_note(order)}\n" + yaml.safe_dump(
        document, sort_keys=False, width=100
    )


def _literal(text: str) -> str:
    """A value that Compose is not to interpolate (compose-spec, 12-interpolation.md)."""
    return text.replace("$", "$$")
