"""What is to be deployed: image, command, limits, all from what was measured.

The flags are those that ran in the trial (read back into the cell), not those somebody remembers.
The weights are named by hash; the image by tag and, where it is given, by digest. A digest that
nobody looked up is not invented: the files say how to find it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from seatrial.decide.coldstart import cold_start_s
from seatrial.decide.folder import TrialFiles
from seatrial.decide.record import Decision

IMAGES: dict[str, str] = {
    "vllm": "vllm/vllm-openai:v{version}",
    "sglang": "lmsysorg/sglang:v{version}",
    "tensorrt-llm": "nvcr.io/nvidia/tensorrt-llm/release:{version}",
    "lmdeploy": "openmmlab/lmdeploy:v{version}",
    "tgi": "ghcr.io/huggingface/text-generation-inference:{version}",
    "llama.cpp": "ghcr.io/ggml-org/llama.cpp:server-b{build}",
    "ollama": "ollama/ollama:{version}",
}
_SERVE: dict[str, list[str]] = {
    "vllm": ["vllm", "serve", "{model}"],
    "sglang": ["python3", "-m", "sglang.launch_server", "--model-path", "{model}"],
    "tensorrt-llm": ["trtllm-serve", "{model}"],
    "lmdeploy": ["lmdeploy", "serve", "api_server", "{model}"],
    "tgi": ["text-generation-launcher", "--model-id", "{model}"],
    "llama.cpp": ["/app/llama-server", "--model", "{model}"],
}
_HOST: dict[str, tuple[str, str]] = {
    "lmdeploy": ("--server-name", "--server-port"),
    "tgi": ("--hostname", "--port"),
}
_OWN = frozenset({"host", "port", "model", "model_path", "hostname", "server_name", "server_port"})
_TARGET = "/models"
PORT = 8000


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One deployment.

    Attributes:
        name: a DNS label. engine, version, image; digest is True where the image has one.
        command: argv inside the container; the weights are mounted at /models.
        health: path that answers 200 when it serves.
        model: path inside the container. artefact_sha256: of the weights that were measured.
        gpus: devices, 0 on a machine without.
        memory_bytes: resident memory at the peak of the trial plus a tenth, rounded up to 256 MiB.
        cold_start_s: worst measured; drain_s: time a stop may take.
    """

    name: str
    workload: str
    candidate: str
    engine: str
    version: str
    image: str
    digest: bool
    command: list[str]
    env: dict[str, str]
    health: str
    model: str
    artefact_sha256: str | None
    gpus: int
    memory_bytes: int | None
    cold_start_s: float
    drain_s: float


def order_of(trial: TrialFiles, decision: Decision, *, image: str | None = None) -> Order:
    """The deployment of what was selected.

    Args:
        image: image reference to use, with a digest if it is to be pinned for good.

    Raises:
        ValueError: nothing was selected, or the engine has no known way to be served.
    """
    name = decision.selected
    if name is None:
        raise ValueError("nothing was selected: there is nothing to deploy")
    arm = next(a for a in trial.plan.survivors if a.candidate == name)
    cells = [c for c in trial.cells if c.candidate == name and c.valid]
    version = arm.version or str(cells[0].effective.get("version") or "")
    if arm.engine not in IMAGES:
        raise ValueError(f"no image of {arm.engine} is known: it is served in its own environment")
    reference = image or IMAGES[arm.engine].format(version=version, build=_build(version))
    effective = cells[0].effective
    model = f"{_TARGET}/{_file_name(effective.get('model'))}"
    starts = [s for s in (cold_start_s(c.cold_start_s) for c in cells) if s is not None]
    peaks = [c.resources.get("rss_peak_bytes") or 0 for c in cells]
    return Order(
        name=_label(f"{trial.spec.name}-{name}"),
        workload=one_line(trial.spec.name),
        candidate=name,
        engine=arm.engine,
        version=version,
        image=reference,
        digest="@sha256:" in reference,
        command=_command(arm.engine, model, effective.get("flags") or {}),
        env=_env(arm.engine, effective.get("env") or {}),
        health="/" if arm.engine == "ollama" else "/health",
        model=model,
        artefact_sha256=_text(cells[0].comparability.get("artefact")),
        gpus=trial.spec.hardware.count if trial.spec.hardware.gpu else 0,
        memory_bytes=_round_up(max(peaks) * 1.1) if max(peaks) > 0 else None,
        cold_start_s=max(starts, default=60.0),
        drain_s=trial.spec.operations.drain_s or 30.0,
    )


def argv_of(flags: Mapping[str, Any]) -> list[str]:
    """Flags with underscores as arguments, spelled as the engine was started with in the trial.

    True is the flag alone, False its ``--no-`` form; a list repeats values, a mapping is JSON.
    """
    argv: list[str] = []
    for name, value in flags.items():
        dashed = name.replace("_", "-")
        if value is None or value == "(set)":
            continue
        if isinstance(value, bool):
            argv.append(f"--{dashed}" if value else f"--no-{dashed}")
        elif isinstance(value, list):
            argv += [f"--{dashed}", *map(str, value)]
        elif isinstance(value, dict):
            argv += [f"--{dashed}", msgspec.json.encode(value).decode()]
        else:
            argv += [f"--{dashed}", str(value)]
    return argv


def one_line(text: str) -> str:
    """``text`` as it may stand in a comment or a description: no line ends there early."""
    return "".join(c if c.isprintable() else " " for c in text)


def pin_note(order: Order) -> str:
    """One line on how far the image is pinned."""
    if order.digest:
        return "image pinned by digest"
    return (
        "image pinned by tag only; its digest was not looked up:"
        f" docker buildx imagetools inspect {order.image}"
    )


def _command(engine: str, model: str, flags: Mapping[str, Any]) -> list[str]:
    if engine == "ollama":
        return ["ollama", "serve"]
    host, port = _HOST.get(engine, ("--host", "--port"))
    kept = {k: v for k, v in flags.items() if k.replace("-", "_") not in _OWN}
    if engine == "llama.cpp":  # llama-server takes a word where its binding takes a boolean
        words = {True: "on", False: "off"}
        kept |= {k: words[kept[k]] for k in ("flash_attn", "fit") if isinstance(kept.get(k), bool)}
    serve = [part.format(model=model) for part in _SERVE[engine]]
    return [*serve, host, "0.0.0.0", port, str(PORT), *argv_of(kept)]  # inside the container


def _env(engine: str, found: Mapping[str, Any]) -> dict[str, str]:
    own = {str(k): str(v) for k, v in found.items() if v != "(set)"}
    if engine == "ollama":
        own |= {"OLLAMA_HOST": f"0.0.0.0:{PORT}", "OLLAMA_MODELS": _TARGET}
    return own


def _build(version: str) -> str:
    """llama.cpp's build number from a package version such as 2026.10.11549."""
    return version.rpartition(".")[2].removeprefix("b")


def _file_name(model: Any) -> str:
    name = str(model or "model").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) or "model"


def _label(text: str) -> str:
    """A DNS label (RFC 1123)."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:63].strip("-") or "model"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _round_up(num_bytes: float) -> int:
    return math.ceil(num_bytes / (256 << 20)) * (256 << 20)
