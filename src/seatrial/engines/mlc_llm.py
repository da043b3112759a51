"""MLC-LLM (``mlc_llm serve``): compiled per model; context and batch are ``--overrides``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

OVERRIDE = "overrides."

SIGNATURES = (
    Signature(
        id="jit",
        pattern=r"Compiling using|jit\.py.*Compil",
        meaning="the model library is compiled during the start",
    ),
)


class MlcLlm(Adapter):
    """mlc_llm; ``args`` may hold ``overrides.NAME`` keys."""

    name = "mlc-llm"
    title = "MLC-LLM"
    binary = "mlc_llm"
    routes = Routes(health=None, tokenize=None)
    metrics = MetricNames()
    signatures = SIGNATURES
    ignore_eos = False
    drain = "not documented"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """Flags, and overrides of the engine's configuration."""
        flags: dict[str, Any] = {
            "mode": "server",
            "prefix_cache_mode": "disable" if settings.prefix_cache is False else None,
            "overrides.max_total_seq_length": None,
            "overrides.context_window_size": settings.context_tokens,
            "overrides.max_num_sequence": settings.concurrency,
            "overrides.tensor_parallel_shards": settings.tp if settings.tp > 1 else None,
        }
        return merged(flags, candidate.args)

    def flag_names(self, flags: dict[str, Any]) -> list[str]:
        """Overrides are no flags of the command line."""
        return [name for name in flags if not name.startswith(OVERRIDE)]

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``mlc_llm serve MODEL``."""
        own = {"HF_HUB_OFFLINE": "1"}
        overrides = [
            f"{name.removeprefix(OVERRIDE)}={value}"
            for name, value in flags.items()
            if name.startswith(OVERRIDE) and value is not None
        ]
        argv = [*self.program(environment, "mlc_llm"), "serve", str(artefact)]
        argv += ["--host", host, "--port", str(port)]
        argv += argv_of({k: v for k, v in flags.items() if not k.startswith(OVERRIDE)})
        if overrides:
            argv += ["--overrides", ";".join(overrides)]
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)
