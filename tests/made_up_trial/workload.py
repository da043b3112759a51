"""The made-up workload, its fingerprint, and one fact."""

from __future__ import annotations

from typing import Any

from .origin import FACT


def workload_of(name: str) -> dict[str, Any]:
    """workload.resolved.json"""
    return {
        "schema": "seatrial/workload/1",
        "name": name,
        "model": {"path": "./model/small.gguf", "precision": "f16"},
        "mode": "online",
        "traffic": {"trace": "./requests.csv", "scale": 0.05},
        "slo": {"ttft_ms": {"p95": 900.0}, "tpot_ms": {"p95": 45.0}, "error_rate": 0.001},
        "budget": {"usd_per_hour": 0.25},
        "trial": {"starts": 3, "budget_minutes": 5, "seed": 1, "margin": 0.03},
    }


def resolved(workload: dict[str, Any], n: int) -> dict[str, Any]:
    """workload.resolved.json: the workload, what was done to its traffic, the machine."""
    return {
        "schema": "seatrial/workload-resolved/1",
        "workload": workload,
        "scaling": {
            "kind": "trace",
            "format": "azure-csv",
            "requests_in": 19_366,
            "rate_factor": 0.05,
            "input_factor": 0.2,
            "output_factor": 0.2,
            "max_input_tokens": 1024,
            "max_output_tokens": 160,
            "input_capped": 12,
            "output_capped": 0,
            "requests": n,
        },
        "assumptions": ["The trace does not carry: prefix blocks, sessions."],
        "requests": n,
        "traffic_sha256": "12" * 32,
        "model_sha256": "34" * 32,
        "host": {"cpu": {"name": "made-up CPU", "cores": 2}, "memory_bytes": 25_769_803_776},
    }


def fingerprint(n: int) -> dict[str, Any]:
    """fingerprint.json by the published keys."""
    lengths = {"mean": 240.0, "p50": 180, "p90": 520, "p99": 900, "max": 1024}
    return {
        "schema": "seatrial/fingerprint/1",
        "requests": n,
        "span_s": n / 2,
        "input_tokens": lengths,
        "output_tokens": {"mean": 40.0, "p50": 30, "p90": 90, "p99": 140, "max": 160},
        "arrivals": {
            "rate_per_s": 2.0,
            "cv_interarrival": 1.4,
            "grain_s": 0.001,
            "dispersion": {"1s": 1.2, "60s": 3.1},
            "peak_per_minute": 170,
            "peak_to_mean_minute": 1.42,
        },
        "prefix": None,
        "sessions": None,
        "pressure": {"label": "prefill", "because": "input is six times the output"},
        "missing": ["prefix blocks", "sessions"],
        "rows": {"read": n, "bad": 0},
    }


def fact() -> dict[str, Any]:
    """One fact by the published keys."""
    return {
        "id": FACT,
        "engine": "vllm",
        "version": "0.33.0",
        "subject": "binary",
        "predicate": "cuda_targets",
        "value": ["sm_80", "sm_90"],
        "condition": None,
        "layer": None,
        "state": "extracted",
        "source": {
            "artefact": "vllm-0.33.0-cp38-abi3-manylinux1_x86_64.whl",
            "member": "vllm/_C.abi3.so",
            "line": None,
            "sha256": "cd" * 32,
            "integrity": "claimed",
            "kind": "binary",
        },
        "extractor": "cuda-targets/1",
        "verified_on": "2026-11-28",
        "expires": "2026-12-12",
    }
