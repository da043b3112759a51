"""CUDA's own rules: which driver a toolkit needs, which GPUs a toolkit can compile for.

Minor-version compatibility: an application built with any CUDA 12.x runs on a driver of the
12 series from 525.60.13 on, 13.x from 580.65.06 on, 11.x from 450.80.02 on (NVIDIA CUDA
Compatibility guide, table of minor-version compatibility, Linux). CUDA 13 removed offline
compilation for compute capability below 7.5 (CUDA 13.0 release notes).
"""

from __future__ import annotations

import re

MIN_DRIVER_LINUX: dict[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""CUDA major version -> lowest Linux driver."""

FIRST_CAPABILITY: dict[int, int] = {11: 35, 12: 50, 13: 75}
"""CUDA major version -> lowest compute capability its compiler targets."""

SOURCE = "NVIDIA CUDA Compatibility guide; CUDA 13.0 release notes"


def driver_key(text: str) -> tuple[int, ...]:
    """``"580.65.06"`` as (580, 65, 6): comparable; () when there is no number in it."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:4])


def min_driver(cuda: str | int) -> str | None:
    """The lowest Linux driver for a CUDA version such as "13.0", 12; None if not in the table."""
    digits = re.match(r"\d+", str(cuda))
    return MIN_DRIVER_LINUX.get(int(digits[0])) if digits else None


def driver_suffices(driver: str, cuda: str | int) -> bool | None:
    """Whether ``driver`` runs binaries of that CUDA major version; None if that is not known."""
    floor = min_driver(cuda)
    return None if floor is None else driver_reaches(driver, floor)


def driver_reaches(driver: str, floor: str) -> bool | None:
    """Whether a driver is this one or newer; None where it has no number.

    A shorter number is not older: only the parts that are given are compared (580.65 against
    580.65.06)."""
    have = driver_key(driver)
    return have >= driver_key(floor)[: len(have)] if have else None
