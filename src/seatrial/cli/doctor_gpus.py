"""``seatrial doctor --gpus``: the table of accelerators, and how far each figure was confirmed.

    seatrial doctor --gpus           every accelerator: which figures were read, what differs
    seatrial doctor --gpu h100       one of them: each figure with the sources it was read in

A figure that no reachable source confirmed says so; it is used all the same, because the gate
has nothing better, and the reader can see on what a verdict rests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seatrial.cli.console import Console
    from seatrial.hardware import Gpu


def show(console: Console, name: str | None) -> int:
    """Print the whole table, or one record; always 0.

    Raises:
        UsageError: there is no such accelerator.
    """
    from seatrial.hardware import all_gpus, gpu, gpu_sources
    from seatrial.hardware.document import GPUS, GpusDocument, entry

    chosen = [gpu(name)] if name else list(all_gpus().values())
    sources = gpu_sources()
    keys = {k for g in chosen for group in g.read.values() for k in group}
    keys |= {k for g in chosen for said in g.differs.values() for k in said}
    console.document(
        GpusDocument(
            schema=GPUS,
            gpus=[entry(g) for g in chosen],
            sources={k: sources[k] for k in sorted(keys)},
        )
    )
    if name:
        _one(console, chosen[0])
    else:
        _all(console, chosen)
    return 0


def _one(console: Console, gpu: Gpu) -> None:
    from seatrial.hardware import gpu_sources
    from seatrial.hardware.document import standing

    sources = gpu_sources()
    console.title(f"{gpu.name}: {gpu.product}, {gpu.architecture}; compared on {gpu.checked}")
    rows = [
        (
            name,
            value,
            standing(gpu, name),
            ", ".join(gpu.read.get(name, [])),
            ", ".join(f"{k}: {v}" for k, v in gpu.differs.get(name, {}).items()),
        )
        for name, value in gpu.figures.items()
    ]
    console.table(("figure", "value", "standing", "read in", "differs"), rows)
    console.line(f"from: {gpu.source}")
    for key in sorted({k for group in gpu.read.values() for k in group}):
        console.line(f"{key}: {sources[key].title} ({sources[key].kind})")


def _all(console: Console, gpus: list[Gpu]) -> None:
    console.title("Accelerators: figures that were read in a source, and those that were not")
    console.table(
        ("gpu", "figures", "read", "unread", "disputed"),
        [
            (
                g.name,
                len(g.figures),
                len(g.figures) - len(g.unread),
                ", ".join(g.unread),
                ", ".join(g.differs),
            )
            for g in gpus
        ],
        right={1, 2},
    )
    console.note("seatrial doctor --gpu NAME: each figure with its sources")
