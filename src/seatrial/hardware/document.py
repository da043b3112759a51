"""The documents of ``doctor --json`` and ``doctor --gpus --json``, as records.

The published schemas are made from these (``seatrial.hardware.schema``).
"""

from __future__ import annotations

import msgspec

from seatrial.hardware.gpu import Gpu, GpuSource
from seatrial.hardware.host import Host

DOCTOR = "seatrial/doctor/1"
GPUS = "seatrial/doctor-gpus/1"

Figure = float | int | str


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at; ``do``: what helps, "" if nothing is needed."""

    check: str
    verdict: str
    says: str
    do: str


class EngineCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One engine: ``installed``, ``possible`` or ``not possible`` here, and why."""

    engine: str
    verdict: str
    says: str
    do: str


class DoctorDocument(msgspec.Struct, frozen=True, kw_only=True):
    """This machine, what was looked at, and each engine."""

    schema: str
    host: Host
    checks: list[Check]
    engines: list[EngineCheck]


class GpuFigure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure: the sources it was read in, and those that say something else.

    ``standing``: confirmed, disputed, contradicted or unread (``docs/method/facts.md``).
    """

    value: Figure
    read_in: list[str]
    differs: dict[str, Figure]
    standing: str


class GpuEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator; ``source``: the vendor's document that the figures are from."""

    gpu: str
    vendor: str
    product: str
    architecture: str
    source: str
    checked: str
    figures: dict[str, GpuFigure]
    unread: list[str]


class GpusDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The table of accelerators, and the sources that its keys name."""

    schema: str
    gpus: list[GpuEntry]
    sources: dict[str, GpuSource]


def standing(gpu: Gpu, figure: str) -> str:
    """How far a figure can be relied on.

    ``confirmed``: read and agreed; ``disputed``: read, and another source says otherwise;
    ``contradicted``: only others were read; ``unread``: nothing was.
    """
    if figure in gpu.read:
        return "disputed" if figure in gpu.differs else "confirmed"
    return "contradicted" if figure in gpu.differs else "unread"


def entry(gpu: Gpu) -> GpuEntry:
    """One record with each figure's standing."""
    return GpuEntry(
        gpu=gpu.name,
        vendor=gpu.vendor,
        product=gpu.product,
        architecture=gpu.architecture,
        source=gpu.source,
        checked=gpu.checked,
        figures={
            name: GpuFigure(
                value=value,
                read_in=gpu.read.get(name, []),
                differs=gpu.differs.get(name, {}),
                standing=standing(gpu, name),
            )
            for name, value in gpu.figures.items()
        },
        unread=gpu.unread,
    )
