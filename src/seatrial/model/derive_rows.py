"""Tensors in slices of rows: read, dequantise, requantise, and say what the rounding cost.

A tensor is never in memory whole: slices hold at most about four million elements (16 MiB as
float32), whatever the size of the model. The arithmetic is that of ``gguf.quants``, which
follows ggml's reference implementation; Q8_0 is bit-exact with it.

Rounding is not free and is not hidden. A Q4_1 weight is d * q + m with d, m in float16 and q of
4 bits: the exact value can need more than the 11 significant bits of float16 (8 of bfloat16),
so even the "exact dequantisation" to F16 rounds. ``Loss`` keeps the relative root mean square
error over all converted tensors and the largest single error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import UsageError
from seatrial.model.derive_source import Source, Tensor, cut

Floats = NDArray[np.float32]
Edit = Callable[[str, Floats], Floats]
SLICE_ELEMENTS = 1 << 22


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """What converting cost against the source's own values.

    Attributes:
        relative_rms: sqrt(sum (w' - w)^2 / sum w^2) over the converted tensors; no unit.
        max_abs: largest |w' - w|, in units of the weight.
        changed_share: share of the converted weights whose value changed at all.
        weights: number of weights converted.
    """

    relative_rms: float
    max_abs: float
    changed_share: float
    weights: int


@dataclass(slots=True)
class LossSum:
    """Adds up the loss slice by slice."""

    error: float = 0.0
    power: float = 0.0
    largest: float = 0.0
    changed: int = 0
    weights: int = 0

    def add(self, before: Floats, after: Floats) -> None:
        """Count one slice; both arrays have the same shape."""
        gap = after.astype(np.float32) - before
        self.error += float(np.vdot(gap, gap))
        self.power += float(np.vdot(before, before))
        self.largest = max(self.largest, float(np.abs(gap).max(initial=0.0)))
        self.changed += int(np.count_nonzero(gap))
        self.weights += gap.size

    def result(self) -> Loss:
        """The loss so far; all zero where nothing was converted."""
        return Loss(
            relative_rms=math.sqrt(self.error / self.power) if self.power else 0.0,
            max_abs=self.largest,
            changed_share=self.changed / self.weights if self.weights else 0.0,
            weights=self.weights,
        )


@dataclass(slots=True)
class Converter:
    """Reads one source and yields any of its tensors as bytes of another type.

    ``edit`` (name, float32 rows) -> rows lets a caller change weights on the way: the quality
    check's own tests make damaged artefacts with it.
    """

    source: Source
    edit: Edit | None = None
    loss: LossSum = field(default_factory=LossSum)

    def copy(self, file: BinaryIO, tensor: Tensor) -> Iterator[bytes]:
        """The tensor's bytes as they are, in pieces."""
        for start in range(0, tensor.nbytes, 4 * SLICE_ELEMENTS):
            count = min(4 * SLICE_ELEMENTS, tensor.nbytes - start)
            yield self._read(file, tensor, start, count)

    def floats(self, file: BinaryIO, tensor: Tensor, multiple: int = 1) -> Iterator[Floats]:
        """The tensor's rows as float32, in slices of a multiple of ``multiple`` rows."""
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize

        kind = GGMLQuantizationType(tensor.type_id)
        row_bytes = tensor.nbytes // tensor.rows
        rows = max(1, SLICE_ELEMENTS // tensor.shape[-1] // multiple) * multiple
        for start in range(0, tensor.rows, rows):
            count = min(rows, tensor.rows - start)
            data = self._read(file, tensor, start * row_bytes, count * row_bytes)
            packed = np.frombuffer(data, dtype=np.uint8).reshape(count, row_bytes)
            try:
                values = dequantize(packed, kind)
            except NotImplementedError:
                raise UsageError(
                    f"tensor {tensor.name} is {kind.name}, which cannot be dequantised here",
                    where=str(self.source.path),
                    remedy="start from a file of type F32, F16, BF16, Q8_0, Q4_*, Q5_* or Q*_K",
                ) from None
            values = np.asarray(values, dtype=np.float32).reshape(count, tensor.shape[-1])
            yield values if self.edit is None else self.edit(tensor.name, values)

    def quantised(self, file: BinaryIO, tensor: Tensor, type_name: str) -> Iterator[bytes]:
        """The tensor's rows as GGML type ``type_name``, in slices; the loss is added up."""
        if type_name == _type_name(tensor) and self.edit is None:
            yield from self.copy(file, tensor)
            return
        for values in self.floats(file, tensor):
            packed = encode(values, type_name)
            after = decode(packed, type_name).reshape(values.shape)
            if not np.isfinite(after).all():
                raise UsageError(
                    f"{type_name} cannot hold the values of tensor {tensor.name}",
                    where=str(self.source.path),
                    remedy="take BF16, whose range is that of float32",
                )
            self.loss.add(values, after)
            yield packed.tobytes()

    def _read(self, file: BinaryIO, tensor: Tensor, start: int, count: int) -> bytes:
        file.seek(tensor.offset + start)
        data = file.read(count)
        if len(data) != count:  # shortened while we read it
            raise cut(self.source.path, f"tensor {tensor.name}", tensor.offset + start + len(data))
        return data


def encode(values: Floats, type_name: str) -> NDArray[Any]:
    """Rows of float32 as rows of a GGML type (F32, F16, BF16, Q8_0, Q4_0, Q4_1, TQ1_0, ...)."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import quantize

    packed: NDArray[Any] = quantize(values, GGMLQuantizationType[type_name])
    return packed


def decode(packed: NDArray[Any], type_name: str) -> Floats:
    """The values that ``encode`` kept."""
    from gguf.constants import GGMLQuantizationType
    from gguf.quants import dequantize

    values: Floats = dequantize(packed, GGMLQuantizationType[type_name])
    return values


def _type_name(tensor: Tensor) -> str:
    from gguf.constants import GGMLQuantizationType

    return str(GGMLQuantizationType(tensor.type_id).name)
