"""transformers serve: the reference implementation as a server, with continuous batching.

Requests name the model's folder. Unknown fields are refused with 422, ``ignore_eos`` among them;
there are no metrics and no tokenize route.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, merged
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.settings import Settings, default_threads
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

CPU_MEMORY_SHARE = 0.1
"""Share of the host's free memory for the KV cache on a CPU; the engine's default of 0.9 starves
everything else on the machine."""

SIGNATURES = (
    Signature(
        id="one-at-a-time",
        pattern=r"continuous_batching=False",
        meaning="requests are answered one after another",
        level="warning",
        optimised=False,
    ),
)


class TransformersServe(Adapter):
    """transformers serve; version is that of transformers."""

    name = "transformers"
    title = "transformers serve"
    distribution = "transformers"
    binary = "transformers"
    routes = Routes(metrics=None, tokenize=None, completions=None, embeddings=None)
    metrics = MetricNames()
    signatures = SIGNATURES
    structured = frozenset()
    ignore_eos = False
    drain = "waits for open connections as any uvicorn server"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """serve's flags; it has none for context, slots or KV dtype."""
        flags: dict[str, Any] = {
            "continuous_batching": True,
            "dtype": settings.dtype,
            "default_seed": settings.seed,
        }
        if candidate.args.get("device") == "cpu":
            flags["cb_max_memory_percent"] = CPU_MEMORY_SHARE
        return merged(flags, candidate.args)

    def served_name(self, artefact: Path, settings: Settings) -> str:
        """The folder itself."""
        return settings.served_name or str(artefact)

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """``transformers serve MODEL``; False leaves a flag out."""
        own = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(default_threads())}
        argv = [*self.program(environment, "transformers"), "serve", str(artefact)]
        argv += ["--host", host, "--port", str(port)]
        argv += argv_of({k: v for k, v in flags.items() if v is not False})
        return Launch(argv=argv, env=clean_environ(own), flags=flags, own_env=own)
