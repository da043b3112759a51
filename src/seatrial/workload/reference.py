"""The device and the model on which ``pressure`` reckons, from published figures and headers.

Without them it reckons on an 8B model on one H100, and says so.
"""

from __future__ import annotations

from pathlib import Path

from seatrial import hardware, model
from seatrial.core.errors import UsageError
from seatrial.model import ModelInfo, memory
from seatrial.workload.pressure import Reference

_AT_TOKENS = 4096


def reference(
    gpu: str | None = None, model_path: Path | None = None, count: int = 1
) -> Reference | None:
    """The reference for a GPU by name and a model by path; None if neither is given.

    Args:
        gpu: as the workload file spells it. count: devices that share one model; their arithmetic,
            bandwidth and memory are added, links between them are taken to cost nothing.

    Raises:
        UsageError: an unknown GPU, a model that cannot be read or whose dimensions are missing,
            or one that does not fit beside its own KV cache.
    """
    if count < 1:
        raise UsageError("a count of GPUs below 1", where="--gpus", remedy="give 1 or more")
    if gpu is None and model_path is None:
        return None
    base = Reference()
    if gpu is not None:
        base = _on(base, gpu, count)
    if model_path is not None:
        base = _of(base, model.read(model_path))
    if base.kv_tokens < 1:
        raise UsageError(
            f"the model does not fit: {base.weight_bytes / 1e9:.1f} GB of weights in "
            f"{base.memory_bytes * base.memory_share / 1e9:.1f} GB",
            where=base.name,
            remedy="name more devices, or one with more memory",
        )
    return base


def _on(base: Reference, gpu: str, count: int) -> Reference:
    device = hardware.gpu(gpu)
    tflops = device.dense_tflops.get("bf16") or device.dense_tflops.get("fp16")
    if tflops is None:
        raise UsageError(
            "no 16-bit arithmetic rate is published for this device",
            where=gpu,
            remedy="name another device",
        )
    return Reference(
        name=f"8B bf16 model on {count} x {device.name}",
        parameters=base.parameters,
        layers=base.layers,
        width=base.width,
        weight_bytes=base.weight_bytes,
        kv_bytes_per_token=base.kv_bytes_per_token,
        peak_flops=tflops * 1e12 * count,
        bandwidth=device.bandwidth_gb_s * 1e9 * count,
        memory_bytes=float(device.memory_bytes) * count,
    )


def _of(base: Reference, info: ModelInfo) -> Reference:
    counted, band = info.parameters, memory.weight_bytes(info)
    layers, width = info.shape.layers, info.shape.hidden
    if counted is None or band is None or not layers or not width:
        raise UsageError(
            "the model's files do not say its dimensions",
            where=info.name,
            remedy="give a folder with config.json, or a GGUF file",
        )
    experts, chosen = info.shape.experts, info.shape.experts_per_token
    idle = counted.experts * (1 - chosen / experts) if experts and chosen else 0.0
    device = base.name.partition(" on ")[2]
    return Reference(
        name=f"{info.name} on {device}",
        parameters=counted.total - idle,
        layers=layers,
        width=width,
        weight_bytes=float(band.best),
        kv_bytes_per_token=float(memory.kv_bytes_per_token(info, tokens=_AT_TOKENS)),
        peak_flops=base.peak_flops,
        bandwidth=base.bandwidth,
        memory_bytes=base.memory_bytes,
    )
