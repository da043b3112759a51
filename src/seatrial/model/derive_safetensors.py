"""A safetensors file, written tensor by tensor.

Layout: u64 little endian length of a JSON header, the header (padded with spaces to 8 bytes), the
data of all tensors without gaps. Header: name -> {dtype, shape, data_offsets}; offsets count from
the start of the data. Source: huggingface/safetensors README, "Format". Sizes are known before the
first byte is written, so memory stays bounded.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

BYTES = {"BF16": 2, "F16": 2, "F32": 4}


@dataclass(frozen=True, slots=True)
class Planned:
    """One tensor to write: its name, dtype (BF16, F16, F32) and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of its data."""
        return math.prod(self.shape) * BYTES[self.dtype]


def header(tensors: list[Planned]) -> bytes:
    """The length and the padded JSON header of a file with these tensors in this order."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for tensor in tensors:
        entries[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.nbytes],
        }
        offset += tensor.nbytes
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def write(path: Path, tensors: list[Planned], data: Iterable[Iterator[bytes]]) -> str:
    """Write the file; ``data`` gives the pieces of each tensor in order. Returns its SHA-256.

    Raises:
        ValueError: a tensor's pieces do not add up to its size (a defect of the caller).
    """
    digest = hashlib.sha256()
    with path.open("wb") as file:
        head = header(tensors)
        digest.update(head)
        file.write(head)
        for tensor, pieces in zip(tensors, data, strict=True):
            written = 0
            for piece in pieces:
                digest.update(piece)
                written += file.write(piece)
            if written != tensor.nbytes:
                raise ValueError(f"{tensor.name}: {written} of {tensor.nbytes} bytes")
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()
