"""What a workload presses on: four demands in one unit, and the largest of them.

The unit is device-seconds per second on a reference device with a reference model, that is the
number of such devices kept busy. Prefill is bound by arithmetic, decode by memory traffic (the
roofline of Williams, Waterman and Patterson, CACM 52, 2009):

    prefill  = rate x E[(1 - h) (2 P i + 2 L d i^2)] / (F eF)
    saved    = the same with h in place of 1 - h: what the prefix cache takes away
    decode   = rate x E[o] x (W / Bmax + c k) / (M eM)
    queueing = load of the busiest 10 s in a hundred - whole devices that carry the mean

with i, o input and output tokens, h the token-weighted hit of an LRU cache as large as the
device's KV memory, P parameters, L layers, d width, F and M peak arithmetic and bandwidth with
the shares eF, eM of them that good kernels reach, W bytes of weights, k KV bytes per token,
c = E[o (i + o / 2)] / E[o] the mean context of an output token, Bmax = KV memory / c. The decode
figure is for a full batch, so it is the least that decode can cost. This is arithmetic on the
trace, not a prediction of any engine: it says what to benchmark, and eliminates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.workload.profile import Arrivals, Family, Prefix, Pressure, PressureLabel

WINDOW_S = 10
_CONSEQUENCE: dict[PressureLabel, str] = {
    "prefill": "Benchmark TTFT at the trace's own long inputs, and compare chunked-prefill "
    "settings: short requests wait behind long ones.",
    "decode_kv": "Benchmark TPOT and the number of requests in flight at full KV memory: batch "
    "limits, KV dtype and preemption decide.",
    "prefix_cache": "Benchmark with the trace's own prefixes and a warm cache: the size of the "
    "prefix cache and routing to it decide, and a trace without reuse would mislead.",
    "queueing": "Benchmark the busiest minutes at their real arrival times, open loop: a mean "
    "rate hides the queue.",
    "nothing": "Benchmark one request at a time: cold start, memory and single-stream speed "
    "decide, not batching.",
    "not_derivable": "Log input and output tokens per request, then profile again.",
}


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """Device and model of the arithmetic. Defaults: an 8B model of the Llama 3 shape on one H100.

    Attributes:
        peak_flops: dense bf16, per s. bandwidth: bytes per s (NVIDIA H100 SXM data sheet:
            989 TFLOPS, 3.35 TB/s, 80 GB).
        flops_share, bandwidth_share: what good kernels reach of them.
        memory_share: of memory, what an engine takes (gpu_memory_utilization 0.9).
    """

    name: str = "8B bf16 model on one h100-80gb"
    parameters: float = 8.03e9
    layers: int = 32
    width: int = 4096
    weight_bytes: float = 16.06e9
    kv_bytes_per_token: float = 131_072.0
    peak_flops: float = 989e12
    flops_share: float = 0.5
    bandwidth: float = 3.35e12
    bandwidth_share: float = 0.7
    memory_bytes: float = 80e9
    memory_share: float = 0.9

    @property
    def kv_tokens(self) -> float:
        """Tokens that fit beside the weights."""
        free = self.memory_bytes * self.memory_share - self.weight_bytes
        return max(0.0, free) / self.kv_bytes_per_token


@dataclass(frozen=True, slots=True)
class _Costs:
    """Device-seconds per request, and what one request alone would take."""

    prefill: NDArray[np.float64]
    decode: NDArray[np.float64]
    alone: NDArray[np.float64]
    context: float


def pressure(
    table: RequestTable, when: Arrivals | None, reuse: Prefix | None, reference: Reference
) -> Pressure:
    """The label, its arithmetic in words, and what it means for a benchmark."""
    costs = _costs(table, reference)
    if costs is None:
        return _not_derivable(reference)
    hit = 0.0 if reuse is None else _hit(reuse, reference)
    per = 1.0 if when is None else when.rate_per_s
    prefill = float(costs.prefill.mean()) * per
    loads = {
        "prefill": prefill * (1 - hit),
        "prefix_cache": prefill * hit,
        "decode_kv": float(costs.decode.mean()) * per,
    }
    because = f"prefill {loads['prefill']:.3g}, "
    if reuse is None:
        because += "counted in full because the trace shows no prefixes, "
    else:
        because += (
            f"taken away by the prefix cache {loads['prefix_cache']:.3g} (hit {hit:.0%} at "
            f"{reference.kv_tokens:.0f} tokens of KV), "
        )
    because += f"decode {loads['decode_kv']:.3g} (mean context {costs.context:.0f} tokens)"
    if when is None:
        unit = "device-seconds per request"
        label = _largest(loads)
        because = f"in {unit}: {because}; no arrival times, so queueing cannot be said"
        return _made(label, because, reference, loads, table)
    busy, devices = _busiest(table, costs, hit)
    loads["queueing"] = max(0.0, busy - devices)
    flight = per * float(costs.alone.mean())
    because = (
        f"in devices kept busy: {because}; the busiest 10 s in a hundred needs {busy:.3g}, the "
        f"mean fits on {devices}; in flight on average {flight:.3g} (Little's law)"
    )
    label = "nothing" if flight < 1 and busy <= 1 else _largest(loads)
    return _made(label, because, reference, loads, table)


def _largest(loads: dict[str, float]) -> PressureLabel:
    names: tuple[PressureLabel, ...] = ("prefill", "decode_kv", "prefix_cache", "queueing")
    return max(names, key=lambda name: loads.get(name, 0.0))


def _costs(table: RequestTable, reference: Reference) -> _Costs | None:
    if table.input_tokens is None or table.output_tokens is None or table.n == 0:
        return None
    both = (table.input_tokens >= 0) & (table.output_tokens >= 0)
    if not both.any():
        return None
    i = np.where(both, table.input_tokens, 0).astype(np.float64)
    o = np.where(both, table.output_tokens, 0).astype(np.float64)
    flops = 2 * reference.parameters * i + 2 * reference.layers * reference.width * i * i
    prefill = flops / (reference.peak_flops * reference.flops_share)
    context = float((o * (i + o / 2)).sum() / o.sum()) if o.sum() else 0.0
    batch = max(1.0, reference.kv_tokens / context) if context else 1.0
    speed = reference.bandwidth * reference.bandwidth_share
    own = (i + o / 2) * reference.kv_bytes_per_token
    decode = o * (reference.weight_bytes / batch + own) / speed
    alone = prefill + o * (reference.weight_bytes + own) / speed
    return _Costs(prefill, decode, alone, context)


def cache_blocks(reference: Reference, block_tokens: int) -> int:
    """Whole blocks of a trace that fit into the reference's KV memory."""
    return int(reference.kv_tokens // block_tokens)


def _hit(reuse: Prefix, reference: Reference) -> float:
    """Token-weighted LRU hit at the reference's KV memory, which the curve contains."""
    return reuse.lru.get(str(cache_blocks(reference, reuse.block_tokens)), 0.0)


def _busiest(table: RequestTable, costs: _Costs, hit: float) -> tuple[float, int]:
    """(load of the 99th percentile of 10 s windows, whole devices that carry the mean)."""
    assert table.arrival_ns is not None
    work = costs.prefill * (1 - hit) + costs.decode
    bins = table.arrival_ns // (WINDOW_S * NS_PER_S)
    kept, place = np.unique(bins, return_inverse=True)
    load = np.bincount(place.reshape(-1), weights=work) / WINDOW_S
    windows = int(bins[-1]) + 1
    empty = windows - len(kept)
    rank = int(np.ceil(0.99 * windows)) - 1 - empty
    busy = 0.0 if rank < 0 else float(np.sort(load)[min(rank, len(load) - 1)])
    span_s = max(float(table.arrival_ns[-1]) / NS_PER_S, float(WINDOW_S))
    return busy, max(1, int(np.ceil(work.sum() / span_s)))


def _made(
    label: PressureLabel,
    because: str,
    reference: Reference,
    loads: dict[str, float],
    table: RequestTable,
) -> Pressure:
    structured = max(
        (float(table.features[k].mean()) for k in ("schema", "tools") if k in table.features),
        default=0.0,
    )
    family: Family = "multi_tenant_chat"
    if label == "nothing":
        family = "single_user"
    elif label == "prefix_cache" or structured > 0.5:
        family = "structured_programs"
    return Pressure(
        label=label,
        because=because,
        consequence=_CONSEQUENCE[label],
        family=family,
        reference=reference.name,
        loads=loads,
    )


def _not_derivable(reference: Reference) -> Pressure:
    return Pressure(
        label="not_derivable",
        because="the trace does not carry both input and output tokens",
        consequence=_CONSEQUENCE["not_derivable"],
        family=None,
        reference=reference.name,
        loads={},
    )
