"""Write a GGUF of another type from a GGUF: metadata copied byte for byte, tensors converted.

Which tensor gets which type follows what ``llama-quantize`` and llama.cpp's converter do
(llama.cpp src/llama-quant.cpp, read at build 11549), so that the derived file is one that users
meet in the field:

* one-dimensional tensors, norms, router and position tensors keep the source's type (F32);
* a row that the type's block does not divide falls back to F16;
* Q4_0 and Q4_1 keep the output matrix (``output.weight``, or ``token_embd.weight`` where the two
  are tied) finer: llama-quantize takes Q6_K, and Q8_0 where the row is no multiple of 256.
  Here it is Q8_0 in both cases, because gguf.quants cannot write Q6_K: a named difference;
* a tensor that has its target type already is copied, never requantised.

Only ``general.file_type`` and ``general.quantization_version`` are set anew.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress
from seatrial.model.derive_rows import Converter, Edit, Loss
from seatrial.model.derive_source import MAGIC, Source, Tensor, tensor_bytes

FILE_TYPES = {"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "BF16": 32, "TQ1_0": 36}
"""general.file_type of a file whose tensors are mostly this (gguf.constants.LlamaFileType)."""

TypeRule = Callable[[Tensor], str]
_QUANTIZATION_VERSION = 2
_NEVER = ("_norm.weight", "ffn_gate_inp.weight", "position_embd.weight", "token_types.weight")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written: SHA-256 and size of the file, tensors by type, loss by rounding."""

    sha256: str
    nbytes: int
    types: dict[str, int]
    loss: Loss


def type_name(tensor: Tensor) -> str:
    """The GGML name of a tensor's type, e.g. ``Q4_1``."""
    from gguf.constants import GGMLQuantizationType

    return str(GGMLQuantizationType(tensor.type_id).name)


def rule_for(target: str, source: Source) -> TypeRule:
    """The rule that gives each tensor its type for ``target`` (F16, BF16, Q8_0, Q4_0, Q4_1)."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    block = GGML_QUANT_SIZES[GGMLQuantizationType[target]][0]
    tied = all(tensor.name != "output.weight" for tensor in source.tensors)
    output = "token_embd.weight" if tied else "output.weight"

    def rule(tensor: Tensor) -> str:
        if len(tensor.shape) < 2 or not tensor.name.endswith("weight"):
            return type_name(tensor)
        if tensor.name.endswith(_NEVER):
            return type_name(tensor)
        wanted = "Q8_0" if target in ("Q4_0", "Q4_1") and tensor.name == output else target
        return wanted if tensor.shape[-1] % block == 0 else "F16"

    return rule


def is_already(source: Source, target: str) -> bool:
    """Whether every tensor has the type that ``target`` would give it."""
    rule = rule_for(target, source)
    return all(rule(tensor) == type_name(tensor) for tensor in source.tensors)


def write_gguf(
    source: Source,
    out: Path,
    *,
    rule: TypeRule,
    file_type: int,
    progress: Progress,
    edit: Edit | None = None,
) -> Written:
    """Write ``out`` from ``source`` with each tensor in the type that ``rule`` gives it.

    Memory is bounded by one slice of rows, whatever the model's size. ``edit`` may change
    weights on the way (tests make damaged artefacts with it).

    Raises:
        UsageError: a type that cannot be read or written, or cannot hold the values.
        IntegrityError: the source became shorter while it was read.
    """
    plan = [(tensor, _checked(rule(tensor), tensor, source)) for tensor in source.tensors]
    head = _header(source, plan, file_type)
    converter = Converter(source, edit)
    digest = hashlib.sha256()
    total = sum(tensor.nbytes for tensor, _ in plan)
    done = 0
    with source.path.open("rb") as file, out.open("wb") as target:

        def put(data: bytes) -> None:
            digest.update(data)
            target.write(data)

        put(head)
        for tensor, name in plan:
            before = target.tell()
            for piece in converter.quantised(file, tensor, name):
                put(piece)
            _pad(put, target.tell() - before, source.alignment)
            done += tensor.nbytes
            progress.amount("derive", done, total, "bytes")
        size = _sync(target)
    types = Counter(name for _, name in plan)
    return Written(digest.hexdigest(), size, dict(types), converter.loss.result())


def _checked(name: str, tensor: Tensor, source: Source) -> str:
    from gguf.constants import GGMLQuantizationType

    if name not in GGMLQuantizationType.__members__:
        raise UsageError(
            f"{name} is not a GGML type",
            where=tensor.name,
            remedy="take one of F16, BF16, Q8_0, Q4_0, Q4_1",
        )
    tensor_bytes(source.path, tensor.name, GGMLQuantizationType[name].value, tensor.shape)
    return name


def _pad(put: Callable[[bytes], None], nbytes: int, alignment: int) -> None:
    if rest := -nbytes % alignment:
        put(b"\x00" * rest)


def _sync(target: BinaryIO) -> int:
    target.flush()
    os.fsync(target.fileno())
    return target.tell()


def _header(source: Source, plan: list[tuple[Tensor, str]], file_type: int) -> bytes:
    from gguf.constants import GGMLQuantizationType

    own = {"general.file_type": file_type, "general.quantization_version": _QUANTIZATION_VERSION}
    entries = [
        _u32(key, own.pop(key)) if key in own else source.raw(entry)
        for key, entry in source.entries.items()
    ]
    entries += [_u32(key, value) for key, value in own.items()]
    described, offset = [], 0
    for tensor, name in plan:
        kind = GGMLQuantizationType[name].value
        shape = tensor.shape[::-1]
        described.append(
            _string(tensor.name)
            + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)
        )
        nbytes = tensor_bytes(source.path, tensor.name, kind, tensor.shape)
        offset += -(-nbytes // source.alignment) * source.alignment
    head = MAGIC + struct.pack("<IQQ", 3, len(plan), len(entries))
    head += b"".join(entries) + b"".join(described)
    return head + b"\x00" * (-len(head) % source.alignment)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _u32(key: str, value: int) -> bytes:
    return _string(key) + struct.pack("<II", 4, value)
