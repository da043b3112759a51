"""Which candidates are judged, and what they are called.

A candidate's id is the name of its folder under ``cells/``: readable, safe as a file name, and
different for any two candidates that differ in anything that could change a measurement.
"""

from __future__ import annotations

import re

import msgspec

from seatrial.core.ids import sha256_value
from seatrial.facts import ENGINES, FactStore
from seatrial.facts import version as order
from seatrial.workload.spec import CandidateSpec, Workload

_UNSAFE = re.compile(r"[^A-Za-z0-9.+_=-]+")
_SHORT = {
    "tensor_parallel_size": "tp",
    "tp_size": "tp",
    "pipeline_parallel_size": "pp",
    "pp_size": "pp",
    "data_parallel_size": "dp",
    "dp_size": "dp",
}


def candidate_id(spec: CandidateSpec) -> str:
    """``llama.cpp-b11549-f16``, ``vllm-0.33.0-tp4-9c1a``: engine, version, artefact, a digest of
    the rest. A ``name`` in the workload file is used as it is (made safe)."""
    if spec.name:
        return _safe(spec.name)[:80] or "candidate"
    parts: list[str] = [spec.engine, _version_label(spec)]
    if spec.backend:
        parts.append(spec.backend)
    if spec.artefact:
        label = spec.artefact.quantization or spec.artefact.format
        parts += [label.lower()] if label else []
    rest = {"args": spec.args, "env": spec.env, "endpoint": spec.endpoint}
    path = spec.artefact.path if spec.artefact else None
    for flag, word in _SHORT.items():
        value = spec.args.get(flag)
        if isinstance(value, int):
            parts.append(f"{word}{value}")
    if spec.args or spec.env or spec.endpoint or path:
        parts.append(sha256_value({**rest, "path": path})[:4])
    return _safe("-".join(p for p in parts if p))[:80]


def _version_label(spec: CandidateSpec) -> str:
    version = spec.version or "newest"
    if spec.engine == "llama.cpp" and version[:1].isdigit():
        return f"b{version.rpartition('.')[2]}" if version.count(".") == 2 else f"b{version}"
    return version


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip(".-")


def unique_ids(specs: list[CandidateSpec]) -> list[str]:
    """Ids of several candidates; a repeated one gets a number, so no two share a folder."""
    seen: dict[str, int] = {}
    names = []
    for spec in specs:
        name = candidate_id(spec)
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return names


def newest_version(engine: str, facts: FactStore, installed: dict[str, list[str]]) -> str | None:
    """The newest version known of an engine, from the facts and from what is installed."""
    known = [*facts.versions(engine), *installed.get(engine, [])]
    final = [v for v in known if not order.is_prerelease(v)]
    best = max(final or known, key=order.key, default=None)
    here = installed.get(engine, [])  # one version, spelled as the installation spells it
    return next((v for v in here if best is not None and order.same(v, best)), best)


def resolve(
    spec: CandidateSpec, facts: FactStore, installed: dict[str, list[str]]
) -> CandidateSpec:
    """The candidate with a version where any is known."""
    if spec.version is not None:
        return spec
    return msgspec.structs.replace(spec, version=newest_version(spec.engine, facts, installed))


def layer_of(spec: CandidateSpec) -> str | None:
    """Which of LMDeploy's two engines: as the candidate says, or its flag; TurboMind by default."""
    if spec.engine != "lmdeploy":
        return spec.backend
    return spec.backend or ("pytorch" if spec.args.get("backend") == "pytorch" else "turbomind")


def every_engine(
    workload: Workload, facts: FactStore, installed: dict[str, list[str]]
) -> list[CandidateSpec]:
    """Each known engine at its newest version, and once more at each installed version."""
    found: list[CandidateSpec] = []
    for engine in ENGINES:
        newest = newest_version(engine, facts, installed)
        here = installed.get(engine, [])
        versions = [newest, *(v for v in here if v != newest)]
        for version in dict.fromkeys(versions):
            plain = CandidateSpec(engine=engine, version=version)  # type: ignore[arg-type]
            if engine == "lmdeploy":
                found.append(msgspec.structs.replace(plain, backend="turbomind"))
                found.append(msgspec.structs.replace(plain, backend="pytorch"))
            else:
                found.append(plain)
    return found
