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

from seatrial.core.units import NS_PER_S
from seatrial.trace import RequestTable
from seatrial.trace.table import Ints
from seatrial.workload.lengths import Floats
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
class Windows:
    """Sums over the requests of each 10 s window that has any; one window without times.

    Every demand above is linear in these sums, so they are all that pressure needs of a trace of
    any size. ``place`` are numbers of windows from the first arrival.
    """

    place: Ints
    n: Floats
    i: Floats
    ii: Floats
    o: Floats
    oi: Floats
    oo: Floats
    span_s: float

    @property
    def requests(self) -> float:
        """Requests with both lengths."""
        return float(self.n.sum())


def windows_of(table: RequestTable) -> Windows | None:
    """The sums of a table; None where it lacks one of the lengths."""
    if table.input_tokens is None or table.output_tokens is None:
        return None
    both = (table.input_tokens >= 0) & (table.output_tokens >= 0)
    if not both.any():
        return None
    i = table.input_tokens[both].astype(np.float64)
    o = table.output_tokens[both].astype(np.float64)
    bins, span_s = np.zeros(len(i), dtype=np.int64), 0.0
    if table.arrival_ns is not None:
        bins = table.arrival_ns[both] // (WINDOW_S * NS_PER_S)
        span_s = float(table.arrival_ns[-1]) / NS_PER_S
    place, at = np.unique(bins, return_inverse=True)

    def total(values: Floats) -> Floats:
        counted = np.bincount(at.reshape(-1), weights=values, minlength=len(place))
        return np.asarray(counted, dtype=np.float64)

    return Windows(
        place, total(np.ones_like(i)), total(i), total(i * i), total(o), total(o * i),
        total(o * o), span_s,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Costs:
    """Device-seconds per window, and what its requests would take alone."""

    prefill: Floats
    decode: Floats
    alone: Floats
    context: float


def pressure(
    sums: Windows | None,
    when: Arrivals | None,
    reuse: Prefix | None,
    reference: Reference,
    structured: float,
) -> Pressure:
    """The label, its arithmetic in words, and what it means for a benchmark.

    ``structured``: share of requests with a schema or tools.
    """
    if sums is None:
        return _not_derivable(reference)
    costs = _costs(sums, reference)
    hit = 0.0 if reuse is None else _hit(reuse, reference)
    per = (1.0 if when is None else when.rate_per_s) / sums.requests
    prefill = float(costs.prefill.sum()) * per
    loads = {
        "prefill": prefill * (1 - hit),
        "prefix_cache": prefill * hit,
        "decode_kv": float(costs.decode.sum()) * per,
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
        return _made(label, because, reference, loads, structured)
    busy, devices = _busiest(sums, costs, hit)
    loads["queueing"] = max(0.0, busy - devices)
    flight = per * float(costs.alone.sum())
    because = (
        f"in devices kept busy: {because}; the busiest 10 s in a hundred needs {busy:.3g}, the "
        f"mean fits on {devices}; in flight on average {flight:.3g} (Little's law)"
    )
    label = "nothing" if flight < 1 and busy <= 1 else _largest(loads)
    return _made(label, because, reference, loads, structured)


def _largest(loads: dict[str, float]) -> PressureLabel:
    names: tuple[PressureLabel, ...] = ("prefill", "decode_kv", "prefix_cache", "queueing")
    return max(names, key=lambda name: loads.get(name, 0.0))


def _costs(sums: Windows, reference: Reference) -> _Costs:
    flops = 2 * reference.parameters * sums.i + 2 * reference.layers * reference.width * sums.ii
    prefill = flops / (reference.peak_flops * reference.flops_share)
    answered = float(sums.o.sum())
    weighted = sums.oi + sums.oo / 2  # o (i + o / 2), summed
    context = float(weighted.sum()) / answered if answered else 0.0
    batch = max(1.0, reference.kv_tokens / context) if context else 1.0
    speed = reference.bandwidth * reference.bandwidth_share
    own = weighted * reference.kv_bytes_per_token
    decode = (sums.o * reference.weight_bytes / batch + own) / speed
    alone = prefill + (sums.o * reference.weight_bytes + own) / speed
    return _Costs(prefill, decode, alone, context)


def alone_s(sums: Windows, reference: Reference) -> Floats:
    """Per window: seconds that its requests would take, each alone on the reference."""
    return _costs(sums, reference).alone


def cache_blocks(reference: Reference, block_tokens: int) -> int:
    """Whole blocks of a trace that fit into the reference's KV memory."""
    return int(reference.kv_tokens // block_tokens)


def _hit(reuse: Prefix, reference: Reference) -> float:
    """Token-weighted LRU hit at the reference's KV memory, which the curve contains."""
    return reuse.lru.get(str(cache_blocks(reference, reuse.block_tokens)), 0.0)


def _busiest(sums: Windows, costs: _Costs, hit: float) -> tuple[float, int]:
    """(load of the 99th percentile of 10 s windows, whole devices that carry the mean).

    One in a hundred because an SLO on a 99th percentile allows that many; 10 s because a queue of
    that length is past any interactive TTFT.
    """
    work = costs.prefill * (1 - hit) + costs.decode
    load = np.sort(work) / WINDOW_S
    windows = max(int(sums.place.max()), int(sums.span_s // WINDOW_S)) + 1
    rank = int(np.ceil(0.99 * windows)) - 1 - (windows - len(load))
    busy = 0.0 if rank < 0 else float(load[min(rank, len(load) - 1)])
    span_s = max(sums.span_s, float(WINDOW_S))
    return busy, max(1, int(np.ceil(work.sum() / span_s)))


def _made(
    label: PressureLabel,
    because: str,
    reference: Reference,
    loads: dict[str, float],
    structured: float,
) -> Pressure:
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


def structured_share(table: RequestTable) -> float:
    """Share of requests with a schema or tools, whichever is larger; 0 where nothing is logged."""
    shares = (table.features[k].mean() for k in ("schema", "tools") if k in table.features)
    return max(map(float, shares), default=0.0)


def _not_derivable(reference: Reference) -> Pressure:
    return Pressure(
        label="not_derivable",
        because="the trace does not carry both input and output tokens",
        consequence=_CONSEQUENCE["not_derivable"],
        family=None,
        reference=reference.name,
        loads={},
    )
