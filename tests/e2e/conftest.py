"""A small real trial: two quantisations of the small model, one start, five requests each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

WORKLOAD = """\
schema: seatrial/workload/1
name: small
model: {{path: {model}, precision: f16}}
traffic: {{trace: {trace}, slice: {{requests: 5}}, input_scale: 0.02, output_scale: 0.03,
           max_input_tokens: 60, max_output_tokens: 8}}
slo: {{ttft_ms: {{p95: 5000}}, error_rate: 0.01}}
requires: {{context_tokens: 256, concurrency: 2, api: [openai.chat]}}
hardware: {{cpu: auto}}
candidates:
  - {{engine: llama.cpp, artefact: {{format: gguf, quantization: Q8_0}}}}
  - {{engine: llama.cpp, artefact: {{format: gguf, quantization: Q4_0}}}}
trial: {{starts: 1, budget_minutes: 1, seed: 7, margin: 0.05}}
"""
Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def small_workload(tmp_path: Path, small_model: Path, repo_root: Path) -> Path:
    """The workload file of the small trial."""
    trace = repo_root / "examples" / "chat-cpu" / "azure-conv-slice.csv"
    path = tmp_path / "small.yaml"
    path.write_text(WORKLOAD.format(model=small_model, trace=trace))
    return path


@pytest.fixture
def seatrial(engine_home: Path, model_cache: Path, tmp_path: Path) -> Run:
    """Start the command line in a process of its own, in ``tmp_path``, temporary files and all."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def start(*args: str | Path, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "seatrial", *map(str, args)],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(temporary), **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start
