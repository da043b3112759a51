"""What a trial measures: candidates with their weights at hand.

The gate names candidates; here each survivor gets its artefact: the one named in the workload,
the model itself, or a derivation of it (GGUF in another quantisation, or a Hugging Face folder for
engines that read safetensors). Derivations are content-addressed, so a second trial finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_file, sha256_value
from seatrial.core.progress import Progress
from seatrial.facts import FactStore
from seatrial.gate.candidate import every_engine, resolve, unique_ids
from seatrial.model import derive as derivations
from seatrial.workload import CandidateSpec, Workload

READS_GGUF = frozenset({"llama.cpp", "ollama"})
_PRECISION_ORDER = ("F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_1", "Q5_0", "Q4_1", "Q4_0")


@dataclass(frozen=True, slots=True)
class TrialCandidate:
    """One candidate on trial: its id (and folder name), what was asked, what it loads."""

    id: str
    spec: CandidateSpec
    artefact: Path
    artefact_sha256: str
    derived: str  # how the artefact was made, empty if it is the user's own file

    @property
    def beginning(self) -> str:
        """What happens first, in words: a running server is not started."""
        running = self.spec.endpoint
        return f"at the running server {running}" if running else "starting the engine"


def named(spec: Workload, facts: FactStore, present: dict[str, list[str]]) -> Workload:
    """The workload with its candidates spelled out: each with a version where one is known.

    Without a list of its own it gets every known engine. From here on a candidate's id is the
    same in every stage, also when a trial is resumed after something else was installed.
    """
    asked = spec.candidates
    if asked is None:
        return msgspec.structs.replace(spec, candidates=every_engine(spec, facts, present))
    return msgspec.structs.replace(spec, candidates=[resolve(c, facts, present) for c in asked])


def on_trial(spec: Workload, names: list[str]) -> dict[str, CandidateSpec]:
    """Candidate id -> specification, for the ids in ``names``; ``spec`` comes from ``named``."""
    asked = spec.candidates or []
    given = dict(zip(unique_ids(asked), asked, strict=True))
    return {name: given[name] for name in names}


def prepare(
    name: str, spec: CandidateSpec, model: Path, base: Path, progress: Progress
) -> TrialCandidate:
    """Find or make the weights of one candidate.

    Args:
        model: the workload's model.
        base: folder of the workload file; relative paths start there.
    """
    wanted = spec.artefact
    if wanted is not None and wanted.path is not None:
        path = (base / wanted.path).resolve()
        if not path.exists():
            raise UsageError(
                "a candidate's artefact is missing",
                where=f"candidates: {name}: artefact.path {wanted.path}",
                remedy="correct the path; it is relative to the workload file",
            )
        return TrialCandidate(name, spec, path, identity(path), "")
    target = _target(spec, model)
    if target is None:
        return TrialCandidate(name, spec, model, identity(model), "")
    path = derivations.derive(model, target, progress=progress)
    if path == model:
        return TrialCandidate(name, spec, model, identity(model), "")
    record = derivations.derivation(path)
    return TrialCandidate(name, spec, path, record.sha256, record.says)


def _target(spec: CandidateSpec, model: Path) -> str | None:
    """The derivation a candidate needs; None: the model as it is."""
    quantization = spec.artefact.quantization if spec.artefact else None
    if model.suffix != ".gguf":
        return None
    if spec.engine in READS_GGUF:
        return quantization.upper() if quantization else None
    return derivations.HF_TARGET


def identity(path: Path) -> str:
    """SHA-256 of a file, or of a folder's file names and hashes."""
    if path.is_file():
        return sha256_file(path)
    return sha256_value(
        {str(p.relative_to(path)): sha256_file(p) for p in sorted(path.rglob("*")) if p.is_file()}
    )


def reference_of(candidates: list[TrialCandidate]) -> TrialCandidate | None:
    """What quality is compared with: the named reference, else the finest weights on trial."""
    for candidate in candidates:
        if candidate.spec.role == "reference":
            return candidate
    return min(candidates, key=_coarseness, default=None)


def _coarseness(candidate: TrialCandidate) -> int:
    wanted = candidate.spec.artefact
    name = (wanted.quantization or "").upper() if wanted else ""
    return _PRECISION_ORDER.index(name) if name in _PRECISION_ORDER else len(_PRECISION_ORDER)
