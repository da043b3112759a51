"""One hash for one set of weights, whatever file format holds them.

Two engines are compared only over the same model. A GGUF and a Hugging Face folder of the same
weights have different bytes: other names, other order, llama.cpp's interleaved query and key rows,
norms in F32 beside bf16. So what is hashed is the values:

    identity = sha256 of {Hugging Face name: sha256(shape, values as little-endian float32)}

The hash is equal exactly when every weight has the same value. It is computed for plain llama
GGUFs and for safetensors in F32, F16 and BF16; for anything else there is none, and the artefact's
own hash stands in (two formats are then never called the same model).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.folders import cache_dir
from seatrial.core.ids import sha256_value
from seatrial.model.derive_hf import hf_name, unpermute
from seatrial.model.derive_rows import Converter
from seatrial.model.derive_source import Source, Tensor, open_source
from seatrial.model.safetensors_file import weight_files
from seatrial.store.artifact import read, write

SCHEMA = "seatrial/weights-identity/1"
_SLICE_BYTES = 16 << 20
_WIDTH = {"F32": 4, "F16": 2, "BF16": 2}


class WeightsIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept in the cache: the identity of the artefact with that SHA-256."""

    schema: str
    artefact_sha256: str
    weights_sha256: str
    tensors: int


def weights_sha256(path: Path, artefact_sha256: str) -> str | None:
    """Hash of the weights' values; None where this format's values cannot be read here.

    Args:
        path: a .gguf file or a folder with safetensors.
        artefact_sha256: of the artefact as it is; the result is kept in the cache under it.
    """
    kept = cache_dir() / "identities" / f"{artefact_sha256}.json"
    if kept.is_file():
        return read(kept, WeightsIdentity).weights_sha256
    hashes = _of_folder(path) if path.is_dir() else _of_gguf(path)
    if not hashes:
        return None
    found = WeightsIdentity(
        schema=SCHEMA,
        artefact_sha256=artefact_sha256,
        weights_sha256=sha256_value(hashes),
        tensors=len(hashes),
    )
    kept.parent.mkdir(parents=True, exist_ok=True)
    write(kept, found)
    return found.weights_sha256


def _of_gguf(path: Path) -> dict[str, str] | None:
    """Name -> hash of every tensor of a plain llama GGUF."""
    try:
        source = open_source(path)
        if source.value("general.architecture") != "llama":
            return None
        return _gguf_tensors(source)
    except (UsageError, IntegrityError):
        return None  # not a GGUF, damaged, or of types that are not dequantised here


def _gguf_tensors(source: Source) -> dict[str, str] | None:
    heads = source.value("llama.attention.head_count")
    hidden = source.value("llama.embedding_length")
    if not isinstance(heads, int) or not isinstance(hidden, int) or heads <= 0:
        return None
    head_dim = source.value("llama.attention.key_length", hidden // heads)
    converter, found = Converter(source), {}
    with source.path.open("rb") as file:
        for tensor in source.tensors:
            name = hf_name(tensor.name)
            if name is None:
                return None
            digest = _digest(tensor.shape)
            turned = _turned(tensor)
            for values in converter.floats(file, tensor, head_dim if turned else 1):
                rows = unpermute(values, head_dim) if turned else values
                digest.update(np.ascontiguousarray(rows, dtype="<f4").tobytes())
            found[name] = digest.hexdigest()
    return found


def _turned(tensor: Tensor) -> bool:
    """Does llama.cpp interleave the rows of this tensor's heads?"""
    return tensor.name.endswith(("attn_q.weight", "attn_k.weight"))


def _digest(shape: tuple[int, ...]) -> hashlib._Hash:
    return hashlib.sha256(repr(tuple(int(n) for n in shape)).encode())


def _of_folder(folder: Path) -> dict[str, str] | None:
    """Name -> hash of every tensor of a folder's safetensors files."""
    try:
        files, notes = weight_files(folder)
        if notes or not files:
            return None
        found: dict[str, str] = {}
        for path in files:
            mine = _of_file(path)
            if mine is None:
                return None
            found |= mine
        return found
    except (UsageError, IntegrityError):
        return None


def _of_file(path: Path) -> dict[str, str] | None:
    """The tensors of one file; None where one has another type than F32, F16 or BF16."""
    from seatrial.model.safetensors_file import places

    found = {}
    with path.open("rb") as file:
        for tensor, start in places(path):
            width = _WIDTH.get(tensor.dtype)
            if width is None:
                return None
            digest = _digest(tuple(tensor.shape))
            file.seek(start)
            left = tensor.bytes
            while left > 0:
                data = file.read(min(left, _SLICE_BYTES))
                if not data or len(data) % width:
                    return None  # shortened while it was read
                left -= len(data)
                digest.update(_floats(data, tensor.dtype).tobytes())
            found[tensor.name] = digest.hexdigest()
    return found


def _floats(data: bytes, dtype: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """The values as float32; bf16 is the upper half of a float32."""
    if dtype == "BF16":
        return (np.frombuffer(data, dtype="<u2").astype("<u4") << 16).view("<f4")
    kind = "<f4" if dtype == "F32" else "<f2"
    return np.frombuffer(data, dtype=kind).astype("<f4")
