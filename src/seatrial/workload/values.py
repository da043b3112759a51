"""Values that are of the right type and still mean nothing: a precision called ``bf61``.

Names are compared with what is known and the error says the nearest one; numbers have a ceiling
far above anything that exists, so that a slip of the keyboard is not planned for. An unknown GPU
is no error (DESIGN 4.1): the gate keeps it by name and says which known names are near.
"""

from __future__ import annotations

import re
from difflib import get_close_matches

from seatrial.model.gguf_types import FILE_BITS
from seatrial.workload.spec import Workload

_WORDS = (
    "auto", "bf16", "bfloat16", "fp16", "f16", "float16", "half", "fp32", "f32", "float32", "float",
    "fp8", "fp8_e4m3", "fp8_e5m2", "int8", "int4", "w4a16", "w8a8", "w8a16", "awq", "gptq", "nvfp4",
    "mxfp4",
)  # fmt: skip
PRECISIONS = tuple(dict.fromkeys((*_WORDS, *(name.lower() for name in FILE_BITS))))
"""Types of weights and of arithmetic, and llama.cpp's file recipes (Q4_K_M and its like)."""

VENDORS = ("nvidia", "amd", "intel", "gaudi", "apple", "cpu")
CEILINGS = {
    "requires.concurrency": 10_000_000,
    "requires.context_tokens": 1_000_000_000,
    "hardware.count": 100_000,
    "hardware.nodes": 100_000,
    "trial.starts": 10_000,
    "trial.seed": (1 << 63) - 1,
}
"""More than any of these is a slip: the largest clusters have some 100,000 accelerators."""

_DRIVER = re.compile(r"\d{1,4}(\.\d{1,4}){0,3}")


def value_errors(spec: Workload) -> list[str]:
    """One line for each value that means nothing, with the nearest that does."""
    errors: list[str] = []
    precision = spec.model.precision
    if precision is not None and precision.strip().lower() not in PRECISIONS:
        errors.append(f"model.precision: {_said(precision)} is none{_near(precision, PRECISIONS)}")
    driver = spec.hardware.driver
    if driver is not None and _DRIVER.fullmatch(driver.strip()) is None:
        errors.append(
            f"hardware.driver: {_said(driver)} is no version; write it like 580.1 or 535.161.08"
        )
    errors += [
        f"portability.vendors: {_said(v)} is none{_near(v, VENDORS)}"
        for v in spec.portability.vendors
        if v.strip().lower() not in VENDORS
    ]
    for path, ceiling in CEILINGS.items():
        part, _, name = path.partition(".")
        value = getattr(getattr(spec, part), name)
        if value is not None and value > ceiling:
            errors.append(f"{path}: {value} is beyond anything that exists (at most {ceiling})")
    return errors


def _near(text: str, known: tuple[str, ...]) -> str:
    found = get_close_matches(text.strip().lower(), known, n=1, cutoff=0.5)
    return f"; did you mean {found[0]}?" if found else f" (known: {', '.join(known)})"


def _said(text: str) -> str:
    return repr("".join(c if c.isprintable() else "?" for c in text)[:60])
