"""Memory of engines that place whole layers: on cards, on the host, or on both."""

from __future__ import annotations

from seatrial.core.units import format_bytes
from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case, Numbers
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.fits import need_per_sequence
from seatrial.gate.lengths import ollama_default
from seatrial.gate.pool import at_least
from seatrial.model import memory
from seatrial.model.memory import Band

_HOST_OVERHEAD = 512 << 20
APPLE_SHARE = 0.75
"""Default share of unified memory that Metal lets the GPU wire on machines above 32 GB."""
_SMALLER = "a smaller quantisation, a shorter context or cache type, or more devices"


@constraint(
    "memory_pooled",
    asks="Do weights and cache fit the devices, or the host, of an engine that places layers?",
    needs="weight bytes, cache layout, device and host memory",
    verdicts=("infeasible", "degraded", "conditional", "unknown"),
    remedy="a smaller quantisation, a shorter context, fewer slots, more memory",
)
def memory_pooled(case: Case) -> Finding | None:
    if not (case.pooled or case.target.on_cpu) or case.loaded is None:
        return None
    weights = memory.weight_bytes(case.loaded)
    if weights is None:
        return (
            None
            if case.model is None
            else Finding(
                verdict=Verdict.UNKNOWN,
                probe=case.probe("boot_log"),
                says="the weight bytes are not known from the model's files",
            )
        )
    cache = _pooled_cache(case)
    least, most = weights.lower + cache.lower, weights.upper + cache.upper + _HOST_OVERHEAD
    device = _device_bytes(case)
    host = case.target.memory_bytes
    numbers = {
        "weights_bytes": weights.best,
        "cache_bytes": cache.best,
        "device_bytes": device,
        "host_bytes": host,
    }
    says = f"weights {format_bytes(weights.best)} + cache {format_bytes(cache.best)}"
    if case.target.on_cpu:
        return _on_host(case, says, least, most, host, dict(numbers))
    if (away := _experts_on_host(case, weights.best)) > 0:
        return _with_host(case, says, least, most, (device, host, away), dict(numbers))
    return _on_devices(case, says, least, most, device, host, dict(numbers))


def _pooled_cache(case: Case) -> Band:
    slots = max(case.set.slots or 1, 1)
    length = case.set.context_total or _context(case) * slots
    per = -(-length // slots)
    one = need_per_sequence(case, per)
    if one is None or not case.loaded or not case.loaded.cache_known:
        return Band(lower=0, best=0, upper=0)
    return Band(lower=one.lower * slots, best=one.best * slots, upper=one.upper * slots)


def _context(case: Case) -> int:
    """Tokens of one slot that the memory must hold: the flag, else what is required. Ollama lays
    out its default at least, and at most the model's own length."""
    if case.set.length:
        return case.set.length
    if case.engine != "ollama":
        return case.context or 4096
    own = case.model.shape.max_positions if case.model else None
    asked = max(ollama_default(case), case.context or 0)
    return min(asked, own or asked)


def _device_bytes(case: Case) -> int:
    gpu = case.target.gpu
    if gpu is None:
        return 0
    size, stated = gpu.memory_bytes, case.spec.hardware.memory_gb
    if gpu.unified_memory and stated:  # this machine, not the largest of its kind
        size = min(size, int(stated * (1 << 30)))  # sold in binary units
    whole = case.target.vendor == "apple"  # what macOS keeps back is in APPLE_SHARE
    return int(size * case.target.devices * (1 if whole else 0.97))


def _on_host(
    case: Case,
    says: str,
    least: int,
    most: int,
    host: int | None,
    numbers: Numbers,
) -> Finding:
    if host is None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}; the host's memory is not given",
            numbers=numbers,
            probe=case.probe("describe_hardware"),
        )
    says += f" on {format_bytes(host)} of memory"
    if least > host:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{says}: does not fit",
            numbers=numbers,
            remedy="a smaller quantisation, a shorter context, or more memory",
        )
    if most <= host * 0.95:
        return Finding(verdict=Verdict.FEASIBLE, says=says, numbers=numbers)
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{says}: near the limit",
        numbers=numbers,
        probe=case.probe("boot_log"),
        remedy="a smaller quantisation",
    )


def _part_asked(
    case: Case,
    says: str,
    least: int,
    device: int,
    numbers: Numbers,
) -> Finding | None:
    """llama.cpp: fewer layers are asked onto the device than the model has."""
    layers, asked = case.model.shape.layers if case.model else None, case.set.gpu_layers
    if case.engine != "llama.cpp" or not layers or asked is None or asked >= layers:
        return None
    if least * asked > device * (layers + 1):
        return None  # not even these fit: said below
    return Finding(
        verdict=Verdict.DEGRADED,
        numbers=numbers | {"gpu_layers": asked, "layers": layers},
        says=f"{says}: {asked} of {layers} layers are asked onto the device, the "
        "processor computes the others",
        remedy="--n-gpu-layers 99 where the device has room",
    )


def _none_by_default(case: Case) -> Fact | None:
    """llama.cpp long put no layer onto a card unless it was told to (Metal apart). Said, not held
    against a candidate: whoever names a card asks for its layers."""
    fact = case.known.get("default", "n_gpu_layers") if case.engine == "llama.cpp" else None
    if fact is None or fact.value != 0 or case.set.gpu_layers is not None or not case.written:
        return None
    return None if case.target.vendor == "apple" else fact


def _experts_on_host(case: Case, weights: int) -> int:
    """Bytes of the routed experts that flags keep in the host's memory."""
    count, layers = (case.model.parameters, case.model.shape.layers) if case.model else (None, None)
    core = case.engine == "llama.cpp" or (case.engine == "ollama" and at_least(case, "0.30.0"))
    if not core or not count or not count.experts or not layers:
        return 0
    part = min(case.set.host_experts, layers) / layers
    return int(weights * part * count.experts / max(count.total, 1))


def _with_host(
    case: Case,
    says: str,
    least: int,
    most: int,
    places: tuple[int, int | None, int],
    numbers: Numbers,
) -> Finding:
    """Experts stay with the processor as the flags say: each side must hold its part. How large
    they are is known to a tenth only (tensor types differ by layer)."""
    device, host, away = places
    says += f", {format_bytes(away)} of experts kept on the host, {format_bytes(device)} of device "
    says += "memory"
    remedy = "experts of fewer layers on the host where the device has room"
    if least - away * 1.1 > device or (host is not None and away * 0.9 > host):
        more = "experts of more layers on the host" if least - away > device else "more host memory"
        return Finding(
            verdict=Verdict.CONDITIONAL if least - away > device else Verdict.INFEASIBLE,
            says=f"{says}: does not fit",
            numbers=numbers,
            remedy=f"{more}, a smaller quantisation, or a shorter context",
        )
    if most - away * 0.9 > device and host is not None and away * 1.1 > host:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}: near the limits of both",
            numbers=numbers,
            remedy=remedy,
            probe=case.probe("boot_log"),
        )
    return Finding(
        verdict=Verdict.DEGRADED,
        says=f"{says}: they are computed by the processor",
        numbers=numbers,
        remedy=remedy,
    )


def _whole_or_none(case: Case, says: str, least: int, numbers: Numbers) -> Finding | None:
    """Early Ollama on macOS put a model on the GPU whole or not at all."""
    fact, memory_bytes = case.known.excludes("metal+partial"), case.target.memory_bytes
    if fact is None or case.target.vendor != "apple" or memory_bytes is None:
        return None
    steps = fact.detail["share"]
    share = next((part for gib, part in steps if memory_bytes <= gib << 30), steps[-1][1])
    if least <= memory_bytes * share or least > memory_bytes:
        return None
    return Finding(
        verdict=Verdict.DEGRADED,
        numbers=numbers | {"share": share},
        facts=[fact],
        says=f"{says}, {share:g} of the host's memory counts for the GPU: {fact.condition}",
        remedy="a smaller quantisation, or a later version",
    )


def _on_devices(
    case: Case,
    says: str,
    least: int,
    most: int,
    device: int,
    host: int | None,
    numbers: Numbers,
) -> Finding | None:
    if device == 0:
        return None
    says += f" on {format_bytes(device)} of device memory"
    if (alone := _whole_or_none(case, says, least, numbers)) is not None:
        return alone
    if case.target.vendor == "apple" and least <= device < most / APPLE_SHARE:
        return _over_apple_share(case, says, numbers)
    if (part := _part_asked(case, says, least, device, numbers)) is not None:
        return part
    if most <= device:
        none = _none_by_default(case)
        return Finding(
            verdict=Verdict.FEASIBLE,
            says=f"{says}; {none.condition}" if none else says,
            numbers=numbers,
            facts=[none] if none else [],
            remedy=str(none.detail["remedy"]) if none else "",
        )
    if least <= device:
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}: inside the bound",
            numbers=numbers,
            remedy=_SMALLER,
            probe=case.probe("boot_log"),
        )
    return _over_devices(case, says, (least, most), (device, host), numbers)


def _over_apple_share(case: Case, says: str, numbers: Numbers) -> Finding:
    """It fits the memory, not the part of it that macOS gives the GPU."""
    says += ": macOS gives the GPU about three quarters of the memory by default"
    if case.engine == "ollama":
        return Finding(
            verdict=Verdict.DEGRADED,
            says=f"{says}, layers beyond it run on the processor",
            numbers=numbers,
            remedy="sysctl iogpu.wired_limit_mb to more, a shorter context, or a smaller "
            "quantisation",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        says=says,
        numbers=numbers,
        remedy="sysctl iogpu.wired_limit_mb to more (leave some GiB to the system), or a "
        "smaller quantisation",
    )


def _over_devices(
    case: Case,
    says: str,
    need: tuple[int, int],
    places: tuple[int, int | None],
    numbers: Numbers,
) -> Finding:
    """It surely does not fit the devices: the host takes the rest, where there is one apart."""
    (least, _), (device, host) = need, places
    unified = case.target.gpu is not None and case.target.gpu.unified_memory
    if unified or case.engine == "transformers" or (host is not None and least > device + host):
        return Finding(
            verdict=Verdict.INFEASIBLE,
            says=f"{says}: does not fit",
            numbers=numbers,
            remedy=_SMALLER,
        )
    if (many := _too_many_asked(case, says, need, device, numbers)) is not None:
        return many
    return Finding(
        verdict=Verdict.DEGRADED,
        numbers=numbers,
        remedy=_SMALLER,
        says=f"{says}: layers beyond it run on the processor (offloaded N/M in the log)",
    )


def _too_many_asked(
    case: Case, says: str, need: tuple[int, int], device: int, numbers: Numbers
) -> Finding | None:
    """llama.cpp: more layers are asked onto the device than it holds."""
    layers = case.model.shape.layers if case.model else None
    if case.engine != "llama.cpp" or not case.set.gpu_layers or not layers:
        return None
    (least, most), asked = need, min(case.set.gpu_layers, layers + 1)
    if least * asked <= device * (layers + 1):
        return None
    most_layers = max(int(device * 0.95 * (layers + 1) / max(most, 1)), 1)
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=numbers | {"gpu_layers": case.set.gpu_layers, "layers": layers},
        says=f"{says}: {asked} of {layers + 1} layers are asked onto the device, "
        "more than it holds: allocation fails",
        remedy=f"--n-gpu-layers {most_layers} or less; {_SMALLER}",
    )
