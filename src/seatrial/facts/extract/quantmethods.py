"""Quantisation methods in the shape that vLLM, its forks and SGLang share.

A dict from method name to config class; on the class ``get_min_capability`` and
``get_supported_act_dtypes``, mostly one constant, at times one per platform. A number that
depends on a condition is kept with it; one that is computed is unresolved.
"""

from __future__ import annotations

from typing import Any

from seatrial.facts.extract.classes import Place, Returned, find_class, method_returns
from seatrial.facts.extract.findings import Findings
from seatrial.facts.extract.pyast import Dotted, Item, Module
from seatrial.facts.record import State

_DTYPES = {
    "half": "float16",
    "float": "float32",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
}


def dtype_name(value: Any) -> str:
    """``torch.half`` -> float16; what is not known keeps its own name."""
    short = str(value).rpartition(".")[2]
    return _DTYPES.get(short, short)


def add_method(
    findings: Findings, module: Module, item: Item, *, condition: str | None = None, **detail: Any
) -> None:
    """One entry of the table: the method itself, its capability and dtypes."""
    name = str(item.value) if isinstance(item.value, Dotted) else ""
    findings.add(
        "quantization",
        item.key,
        "native",
        module.path,
        item.line,
        condition=condition,
        detail={"class": name, **detail},
    )
    place = find_class(findings.source, module, name) if name else None
    if place is None:
        why = f"the class is chosen when the engine runs: {item.value}"
        findings.add(
            "min_capability",
            item.key,
            None,
            module.path,
            item.line,
            state="unresolved",
            condition=condition,
            detail={"why": why},
        )
        return
    add_class(findings, item.key, place, condition=condition)


def add_class(
    findings: Findings, subject: str, place: Place, *, condition: str | None = None
) -> None:
    """Capability and dtypes of one config class."""
    source = findings.source
    capability = method_returns(source, place, "get_min_capability")
    if capability is not None:
        for when, value in _with(capability, condition):
            state: State = "extracted" if when is None or when == condition else "conditional"
            if isinstance(value, bool) or not isinstance(value, int):
                value, state = None, "unresolved"
            findings.add(
                "min_capability",
                subject,
                value,
                capability.path,
                capability.line,
                state=state,
                condition=when,
            )
    dtypes = method_returns(source, place, "get_supported_act_dtypes")
    if dtypes is not None:
        for when, value in _with(dtypes, condition):
            if isinstance(value, list):
                state = "extracted" if when is None or when == condition else "conditional"
                findings.add(
                    "act_dtypes",
                    subject,
                    [dtype_name(v) for v in value],
                    dtypes.path,
                    dtypes.line,
                    state=state,
                    condition=when,
                )


def _with(found: Returned, condition: str | None) -> list[tuple[str | None, Any]]:
    """Values with the outer condition put before each; the text of a computed one as last."""
    listed = [
        (" and ".join(c for c in (condition, when) if c) or None, value)
        for when, value in found.values
    ]
    if found.text:
        listed.append((f"computed: {found.text}", None))
    return listed
