"""How fine an artefact's weights are, read from its own files.

The layers decide, not the file's name: the type that holds most weights of the matrices other
than embedding and output head (those are often kept finer), or the checkpoint's quantisation.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.model import ModelInfo, read
from seatrial.model.gguf_types import bits_per_weight

_DTYPE_BITS = {"float32": 32.0, "bfloat16": 16.0, "float16": 16.0}
_TABLES = ("token_embd", "embed_tokens", "output.weight", "lm_head")


class Precision(msgspec.Struct, frozen=True, kw_only=True):
    """The type of most layer weights, e.g. ``Q4_0``, and its bits per weight."""

    name: str
    bits: float


def precision_of(artefact: Path | None) -> Precision | None:
    """The precision of a .gguf or a model folder; None where its files do not say."""
    if artefact is None:
        return None
    try:
        info = read(artefact)
    except SeatrialError:
        return None  # the margin is then the strictest; reading the model is another stage's error
    return _of(info)


def _of(info: ModelInfo) -> Precision | None:
    if info.format == "gguf":
        weights: Counter[str] = Counter()
        for tensor in info.tensors:
            if len(tensor.shape) >= 2 and not any(name in tensor.name for name in _TABLES):
                weights[tensor.dtype] += math.prod(tensor.shape)
        if not weights:
            return None
        name = weights.most_common(1)[0][0]
        bits = bits_per_weight(name)
        return Precision(name=name, bits=bits) if bits is not None else None
    if info.quantization is not None:
        return Precision(name=info.quantization.scheme, bits=info.quantization.bits)
    if info.dtype in _DTYPE_BITS:
        return Precision(name=info.dtype, bits=_DTYPE_BITS[info.dtype])
    return None
