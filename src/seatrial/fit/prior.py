"""A cost law without any measurement: the roofline, wide, and marked as a prior.

    step      weights' bytes / memory bandwidth          (every step reads the weights once)
    prefill   2 * parameters / attainable FLOP/s          per token (one multiply-add a weight)
    decode    the same arithmetic per token; reading is in ``step``
    context   KV bytes per token / memory bandwidth       (every step reads the caches once)

(Williams, Waterman and Patterson, CACM 52, 2009; 2 FLOP per weight and token: Kaplan et al.,
2020.) Terms are added, not overlapped, and peaks are divided by an efficiency between 0.3 and
0.9: real engines reach no more and often less. A prior orders trials and does nothing else.
"""

from __future__ import annotations

import msgspec

from seatrial.fit.cost import StepCost
from seatrial.model import ModelInfo, memory

_LOW, _BEST, _HIGH = 0.9, 0.6, 0.3  # efficiency at the fast, middle and slow end


class Prior(msgspec.Struct, frozen=True, kw_only=True):
    """Three laws: as fast as hardware allows, in between, and slow. ``basis`` is ``prior``."""

    fast: StepCost
    best: StepCost
    slow: StepCost
    basis: str
    says: str


def roofline(
    model: ModelInfo, *, bandwidth_gb_s: float, tflops: float, kv_element_bytes: float = 2.0
) -> Prior | None:
    """The prior of a model on a device (peak memory bandwidth, peak dense TFLOP/s); None where
    the model's files do not say how large it is."""
    parameters = model.weight_parameters or (model.parameters and model.parameters.total)
    if not parameters or not model.weight_bytes:
        return None
    kv = memory.kv_bytes_per_token(model, element_bytes=kv_element_bytes)

    def law(efficiency: float) -> StepCost:
        bytes_per_s = bandwidth_gb_s * 1e9 * efficiency
        per_token = 2.0 * parameters / (tflops * 1e12 * efficiency)
        return StepCost(
            step=(model.weight_bytes or 0) / bytes_per_s,
            prefill=per_token,
            decode=per_token,
            context=kv / bytes_per_s,
        )

    return Prior(
        fast=law(_LOW),
        best=law(_BEST),
        slow=law(_HIGH),
        basis="prior",
        says=f"roofline of {bandwidth_gb_s:g} GB/s and {tflops:g} TFLOP/s at efficiencies of "
        f"{_HIGH:g} to {_LOW:g}; nothing was measured",
    )
