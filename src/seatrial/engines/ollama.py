"""Ollama: a local platform around llama.cpp. Settings are environment variables, not flags.

``args`` are its variables in lower case without ``OLLAMA_`` (``num_parallel``). The weights are
uploaded after the start and registered under the served name; that time counts as ``weights``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.core.errors import EngineError
from seatrial.core.ids import sha256_file
from seatrial.engines import http
from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

SIGNATURES = (
    Signature(
        id="projector-on-cpu",
        pattern=r"retrying with projector CPU offload",
        meaning="the vision part runs on the CPU",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="placement-unknown",
        pattern=r"VRAM tracking: no per-device buffer sizes",
        meaning="where the layers are is not known",
        level="warning",
    ),
    Signature(
        id="offloaded",
        pattern=r"offloaded (\d+)/(\d+) layers to GPU",
        meaning="{1} of {2} layers are on the GPU",
    ),
)


class Ollama(Adapter):
    """Ollama; reads GGUF in one file."""

    name = "ollama"
    title = "Ollama"
    binary = "ollama"
    routes = Routes(health="/api/version", metrics=None, tokenize=None, version="/api/version")
    metrics = MetricNames()
    signatures = SIGNATURES
    ignore_eos = False
    drain = "closes its listener at once and unloads: requests in flight are cut"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """Environment variables without their prefix."""
        flags: dict[str, Any] = {
            "context_length": settings.context_tokens,
            "num_parallel": settings.concurrency,
            "kv_cache_type": settings.kv_cache_dtype,
            "flash_attention": 1 if settings.kv_cache_dtype else None,
        }
        return merged(flags, candidate.args)

    def flag_names(self, flags: dict[str, Any]) -> list[str]:
        """Facts know the variables by their whole names."""
        return [f"OLLAMA_{name.upper()}" for name in flags]

    def served_name(self, artefact: Path, settings: Settings) -> str:
        """Ollama's names are lower case."""
        return super().served_name(artefact, settings).lower()

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``ollama serve`` with a model store of its own, gone with the log's folder."""
        own = {"OLLAMA_HOST": f"{host}:{port}", "OLLAMA_MODELS": "@scratch@/models"}
        own |= {f"OLLAMA_{k.upper()}": str(v) for k, v in flags.items() if v is not None}
        argv = [*self.program(environment, "ollama"), "serve"]
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)

    def load(self, base_url: str, artefact: Path, model: str) -> None:
        """Upload the GGUF and register it.

        Raises:
            EngineError: it was refused.
        """
        digest = f"sha256:{sha256_file(artefact)}"
        with artefact.open("rb") as file:
            sent = http.upload(base_url, f"/api/blobs/{digest}", file, artefact.stat().st_size)
        body = {"model": model, "files": {artefact.name: digest}, "stream": False}
        made = http.post(base_url, "/api/create", body, timeout_s=600.0) if sent.ok else sent
        if not made.ok:
            raise EngineError(
                f"Ollama did not take the model (status {made.status} {made.error})".rstrip(),
                where=base_url,
                remedy="look at the end of its log; it reads GGUF in one file only",
            )

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """From /api/version and /api/ps."""
        version = (http.get(base_url, "/api/version").json() or {}).get("version")
        running = (http.get(base_url, "/api/ps").json() or {}).get("models") or [{}]
        return {"version": version, "context_tokens": running[0].get("context_length")}
