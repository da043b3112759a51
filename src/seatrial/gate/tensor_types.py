"""Tensor types of a GGUF file against the build that reads it.

A type is a number in the file: a build that is older than the type, or newer than one that was
taken out, refuses the file whatever its name says.
"""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding

_READERS = ("llama.cpp", "ollama")
_UNKNOWN = "type-"


def unread_type(case: Case) -> Finding | None:
    """The first tensor type of the file that this build has not, or that nobody has."""
    if case.engine not in _READERS or case.loaded is None or case.form != "gguf":
        return None
    for name in sorted({tensor.dtype for tensor in case.loaded.tensors}):
        fact = case.known.get("quantization", name)
        if fact is not None and fact.value == "absent":
            return Finding(
                verdict=Verdict.INFEASIBLE,
                facts=[fact],
                says=f"tensors of type {name} are not read by {case.engine} {case.version or ''}",
                remedy=str(fact.detail.get("remedy") or "a GGUF of another type"),
            )
        if name.startswith(_UNKNOWN):
            number = name.removeprefix(_UNKNOWN)
            return Finding(
                verdict=Verdict.UNKNOWN,
                says=f"tensors of type {number}: no build of llama.cpp that was read has it, a "
                "fork's may",
                remedy="a GGUF made with llama.cpp itself",
                probe=case.probe("boot_log"),
            )
    return None
