"""The same weights in another form: one GGUF in, another GGUF or a Hugging Face folder out.

An engine comparison needs one model in two formats; a comparison of quantisations needs one model
in several. ``derive`` makes them from a single GGUF, without a compiler, a GPU or a hub:

    F16, BF16, Q8_0, Q4_0, Q4_1   a GGUF (rules: ``derive_gguf``)
    hf-bf16                       a folder for Transformers, vLLM, SGLang (``derive_hf``)

The result lies in the cache under the source's SHA-256, the target and the deriver's version;
its folder appears whole or not at all, so a killed run leaves nothing half made and a second call
finds it. ``derivation.json`` beside it says what was done and what the rounding cost: a file
derived from a quantised source carries that source's loss and can never be better than it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.folders import cache_dir
from seatrial.core.ids import sha256_file
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import Provenance, provenance
from seatrial.model.derive_gguf import FILE_TYPES, Written, is_already, rule_for, write_gguf
from seatrial.model.derive_hf import write_folder
from seatrial.model.derive_rows import Loss
from seatrial.model.derive_source import Source, open_source
from seatrial.store.artifact import read, write
from seatrial.store.atomic import whole_folder

SCHEMA = "seatrial/derivation/1"
DERIVER_VERSION = 1
GGUF_TARGETS = ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1")
HF_TARGET = "hf-bf16"
TARGETS = (*GGUF_TARGETS, HF_TARGET)
RECORD = "derivation.json"
_STAGE = "derive"


class Derivation(msgspec.Struct, frozen=True, kw_only=True):
    """derivation.json: what was derived from what, and what rounding cost.

    Attributes:
        file: name of the weights' file in this folder; ``sha256`` and ``nbytes`` are of it.
        tensors: GGML or safetensors type -> number of tensors.
        loss: against the *source's* values, which may be quantised themselves.
    """

    schema: str
    source: str
    source_sha256: str
    target: str
    deriver_version: int
    file: str
    sha256: str
    nbytes: int
    tensors: dict[str, int]
    loss: Loss
    says: str
    provenance: Provenance


def derive(source: Path, target: str, *, progress: Progress | None = None) -> Path:
    """The model of ``source`` (a .gguf) as ``target``; made once, found afterwards.

    Args:
        source: a GGUF file whose tensors are F32, F16, BF16, Q8_0, Q4_*, Q5_* or Q*_K.
        target: one of ``TARGETS``. A source that has the target's types already is returned.
        progress: told the bytes of the source that are done.

    Returns:
        The .gguf file, or for ``hf-bf16`` the folder.

    Raises:
        UsageError: no such target, or a model that cannot be derived exactly.
        IntegrityError: the source is cut short or damaged, or the cached result is.
        PrerequisiteError: the disk is full; nothing half made is left.
    """
    progress = progress or Silent()
    if target not in TARGETS:
        raise UsageError(
            f"a model cannot be derived as {target!r}",
            where=str(source),
            remedy=f"take one of {', '.join(TARGETS)}",
        )
    opened = open_source(source)
    if target in GGUF_TARGETS and is_already(opened, target):
        return source
    sha256 = sha256_file(source)
    folder = cache_dir() / "models" / f"{sha256[:16]}-{target}-v{DERIVER_VERSION}"
    if not folder.exists():
        progress.step(_STAGE, f"deriving {target} from {source.name}")
        _make(opened, sha256, target, folder, progress)
    return _found(folder, sha256, target)


def derivation(path: Path) -> Derivation:
    """The record beside a derived artefact (the path that ``derive`` gave)."""
    return read((path if path.is_dir() else path.parent) / RECORD, Derivation)


def _make(source: Source, sha256: str, target: str, folder: Path, progress: Progress) -> None:
    try:
        with whole_folder(folder) as inside:
            if target == HF_TARGET:
                name = "model.safetensors"
                written = write_folder(source, inside, progress=progress)
            else:
                name = _file_name(source.path, target)
                written = write_gguf(
                    source,
                    inside / name,
                    rule=rule_for(target, source),
                    file_type=FILE_TYPES[target],
                    progress=progress,
                )
            write(inside / RECORD, _record(source, sha256, target, name, written))
    except OSError:
        if not (folder / RECORD).exists():  # not that another process was faster
            raise


def _record(source: Source, sha256: str, target: str, name: str, written: Written) -> Derivation:
    loss = written.loss
    return Derivation(
        schema=SCHEMA,
        source=source.path.name,
        source_sha256=sha256,
        target=target,
        deriver_version=DERIVER_VERSION,
        file=name,
        sha256=written.sha256,
        nbytes=written.nbytes,
        tensors=written.types,
        loss=loss,
        says=f"{target} made from {source.path.name}, not from the original weights; rounding "
        f"changed {100 * loss.changed_share:.1f} % of {loss.weights} converted weights, relative "
        f"root mean square {loss.relative_rms:.2e}, largest {loss.max_abs:.2e}",
        provenance=provenance({source.path.name: sha256}),
    )


def _file_name(source: Path, target: str) -> str:
    stem = source.stem
    head, dot, last = stem.rpartition(".")
    if dot and last.upper() in (*GGUF_TARGETS, "F32", "Q5_0", "Q5_1", "Q6_K"):
        stem = head
    return f"{stem}.{target}.gguf"


def _found(folder: Path, sha256: str, target: str) -> Path:
    record = read(folder / RECORD, Derivation)
    path = folder / record.file
    if record.source_sha256 != sha256 or not path.is_file() or path.stat().st_size != record.nbytes:
        raise IntegrityError(
            f"the derived {target} in the cache is not what its record says",
            where=str(folder),
            unchanged="nothing was started with it",
            remedy="remove that folder and run the same command again: it is derived anew",
        )
    return folder if target == HF_TARGET else path
