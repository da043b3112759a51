"""CUDA targets of the shared objects in a wheel.

Reading them moves the objects' compressed bytes (60 to 330 MB a wheel), so it is done when asked
for (``facts sync --binaries``, the snapshot) and not with every sync. The subject is the object's
name without ABI suffix; the value its machine-code targets; ``detail.ptx`` the PTX ones.
"""

from __future__ import annotations

import re

from seatrial.facts.extract.findings import Findings
from seatrial.facts.fatbin import targets
from seatrial.facts.reach.artefact import Wheel

_SIZE_MIN = 200_000


def objects(wheel: Wheel) -> list[str]:
    """Shared objects large enough to hold device code, bundled third-party ones left out."""
    return [
        name
        for name in wheel.names
        if name.endswith(".so") and wheel.size(name) >= _SIZE_MIN and ".libs/" not in name
    ]


def add_targets(findings: Findings, wheel: Wheel, names: list[str]) -> None:
    """Facts ``cuda_targets`` of these objects; one without a fat binary is unresolved."""
    for name in names:
        found = targets(wheel.stream(name))
        subject = object_name(name)
        if found.fatbins:
            findings.add_binary(
                "cuda_targets",
                subject,
                found.code,
                name,
                detail={"ptx": found.ptx, "fatbins": found.fatbins, "stubs": found.stubs},
            )
        else:
            findings.add_binary(
                "cuda_targets",
                subject,
                None,
                name,
                unresolved="no device code in it: it may be compiled when the engine runs",
            )


def object_name(path: str) -> str:
    """``vllm/_C.abi3.so`` -> ``_C``; two of one name keep their folder (``sm90/common_ops``)."""
    base = path.rpartition("/")[2]
    short = base.split(".")[0]
    parent = path.rpartition("/")[0].rpartition("/")[2]
    return f"{parent}/{short}" if re.fullmatch(r"sm\d+\w?", parent) else short
