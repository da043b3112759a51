"""A systemd unit that runs the container, and an Ollama Modelfile."""

from __future__ import annotations

from seatrial.decide.deploy.order import PORT, Order, pin_note


def systemd(order: Order) -> str:
    """A unit for podman: weights under /srv/models, stop time as measured or asked for."""
    podman = ["/usr/bin/podman", "run", "--rm", "--replace", "--name", order.name]
    podman += ["--publish", f"127.0.0.1:{PORT}:{PORT}", "--volume", "/srv/models:/models:ro"]
    for name, value in order.env.items():
        podman += ["--env", f"{name}={value}"]
    if order.gpus:
        podman += ["--device", "nvidia.com/gpu=all", "--ipc", "host"]
    if order.memory_bytes and not order.gpus:
        podman += ["--memory", str(order.memory_bytes)]
    if order.command:
        podman += ["--entrypoint", order.command[0]]
    line = " \\\n  ".join(_quoted(part) for part in [*podman, order.image, *order.command[1:]])
    stop = round(order.drain_s)
    return (
        f"# {order.candidate} for {order.workload}: {pin_note(order)}\n"
        f"# weights that were measured: sha256 {order.artefact_sha256 or 'unknown'}\n"
        "[Unit]\n"
        f"Description=LLM inference engine {order.engine} {order.version} ({order.workload})\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        "[Service]\n"
        f"ExecStart={line}\n"
        f"ExecStop=/usr/bin/podman stop --time {stop} {order.name}\n"
        f"TimeoutStartSec={max(60, round(3 * order.cold_start_s))}\n"
        f"TimeoutStopSec={stop + 10}\n"
        "Restart=on-failure\nRestartSec=5\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )


def modelfile(order: Order, settings: dict[str, object]) -> str:
    """An Ollama Modelfile for the measured weights (GGUF only).

    Args:
        settings: effective settings of the trial: ``context_tokens``.
    """
    lines = [
        f"# {order.candidate} for {order.workload}",
        f"# weights that were measured: sha256 {order.artefact_sha256 or 'unknown'}",
        f"FROM ./{order.model.rpartition('/')[2]}",
    ]
    if context := settings.get("context_tokens"):
        lines.append(f"PARAMETER num_ctx {context}")
    return "\n".join(lines) + "\n"


def _quoted(part: str) -> str:
    """A word as systemd reads it: specifiers and quotes escaped (systemd.service(5))."""
    text = part.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace('"', '\\"')
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    plain = part and all((c.isascii() and c.isalnum()) or c in "-_./:=@,+" for c in part)
    return text if plain else f'"{text}"'
