"""``workload.load``: the user's YAML file in, a typed workload out, or every error in it.

Paths in the file are relative to the file. A version number that YAML would read as a number
(``0.10`` becomes 0.1) is refused unless it is in quotes or a whole number (llama.cpp's builds).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_bytes
from seatrial.trace.source import matches
from seatrial.workload import check, document
from seatrial.workload.spec import Workload

_WEIGHT_SUFFIXES = (".gguf", ".safetensors")


@dataclass(frozen=True, slots=True)
class LoadedWorkload:
    """A workload and the file it came from.

    Attributes:
        path: the file, resolved; paths in ``spec`` are relative to its folder.
        raw: its bytes. sha256: of them.
    """

    spec: Workload
    path: Path
    raw: bytes
    sha256: str

    def resolve(self, relative: str) -> Path:
        """A path of the file as a path of this machine."""
        return relative_to(self.path.parent, relative)


def relative_to(folder: Path, text: str) -> Path:
    """``text`` as a path, relative to ``folder`` unless it is absolute or begins with ``~``."""
    return folder / Path(text).expanduser()


def load(path: str | Path) -> LoadedWorkload:
    """Read and check a workload file.

    Raises:
        UsageError: it cannot be read, or has errors; the message lists all of them.
    """
    file = Path(path).expanduser()
    try:
        with file.open("rb") as stream:
            raw = stream.read(document.MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"the workload file cannot be read: {error.strerror}",
            where=str(path),
            remedy="give the path of a YAML file with schema: seatrial/workload/1",
        ) from error
    spec = parse(raw, name=str(path), folder=file.resolve().parent)
    return LoadedWorkload(spec=spec, path=file.resolve(), raw=raw, sha256=sha256_bytes(raw))


def parse(raw: bytes, *, name: str, folder: Path | None) -> Workload:
    """The workload in these bytes; files it names are looked for if ``folder`` is given.

    Raises:
        UsageError: with every error found.
    """
    data = document.parse(raw, name)
    errors = _versions(data) + check.shape_errors(data)
    if errors:
        raise _all(errors, name)
    spec = msgspec.convert(data, Workload)
    errors = check.sense_errors(spec)
    if folder is not None:
        errors += file_errors(spec, folder)
    if errors:
        raise _all(errors, name)
    return spec


def _versions(data: dict[str, Any]) -> list[str]:
    """Make whole-number versions text, and refuse fractions that YAML has already damaged."""
    errors = []
    candidates = data.get("candidates")
    for place, candidate in enumerate(candidates if isinstance(candidates, list) else ()):
        if not isinstance(candidate, dict):
            continue
        version = candidate.get("version")
        if type(version) is int:
            candidate["version"] = str(version)
        elif isinstance(version, float):
            candidate["version"] = None
            errors.append(f'candidates[{place}].version: write it in quotes ("{version}")')
    hardware = data.get("hardware")
    if isinstance(hardware, dict) and type(hardware.get("driver")) in (int, float):
        hardware["driver"] = str(hardware["driver"])
    return errors


def file_errors(spec: Workload, folder: Path) -> list[str]:
    """Files that the workload names and that are not there."""
    errors = []
    traffic = spec.traffic
    if traffic is not None and traffic.trace is not None:
        many = [traffic.trace] if isinstance(traffic.trace, str) else traffic.trace
        if not many:
            errors.append("traffic.trace: an empty list")
        errors.extend(
            f"traffic.trace: no such file: {item}" for item in many if not _there(folder, item)
        )
    if _is_local(spec.model.path) and not relative_to(folder, spec.model.path).exists():
        errors.append(f"model.path: no such file or folder: {spec.model.path}")
    for place, candidate in enumerate(spec.candidates or ()):
        weights = candidate.artefact.path if candidate.artefact else None
        if weights is not None and not relative_to(folder, weights).exists():
            errors.append(f"candidates[{place}].artefact.path: no such file: {weights}")
    return errors


def _is_local(path: str) -> bool:
    """A path, as against a hub id (``owner/name``)."""
    return path.startswith((".", "/", "~")) or path.endswith(_WEIGHT_SUFFIXES)


def _there(folder: Path, item: str) -> bool:
    path = relative_to(folder, item)
    return path.exists() or bool(matches(path))


def _all(errors: list[str], name: str) -> UsageError:
    count = len(errors)
    shown = errors[:50]
    more = [f"and {count - 50} more"] if count > 50 else []
    listing = "".join(f"\n  - {line}" for line in [*shown, *more])
    noun = "error" if count == 1 else "errors"
    return UsageError(
        f"{count} {noun} in the workload file:{listing}",
        where=name,
        unchanged="nothing was started",
        remedy="mend these keys; the schema is seatrial/workload/1",
    )
