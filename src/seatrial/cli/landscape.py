"""``seatrial landscape``: the map of engines, drawn from facts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(name="landscape", help="The map of engines: what each is for and what sets it apart.")


@app.default
def landscape(
    *,
    svg: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Draw the map of engines from the facts.

    Parameters
    ----------
    svg
        also write the map as an SVG file.
    json
        print the map as one JSON document.
    """
    from seatrial import facts
    from seatrial.gate.landscape import landscape as make
    from seatrial.gate.landscape_svg import draw
    from seatrial.store import write_bytes

    console = Console(as_json=json)
    found = make(facts.load())
    console.document(found)
    columns = (
        "engine",
        "layer",
        "place",
        "effort",
        "maintenance",
        "memory",
        "scheduling",
        "kernels",
        "runs on",
        "newest read",
    )
    console.table(
        columns,
        [
            (
                r.engine,
                r.layer,
                r.place,
                r.effort,
                r.maintenance,
                r.memory,
                r.scheduling,
                r.kernels,
                ", ".join(r.platforms),
                f"{r.version or '-'} {r.released or ''}".strip(),
            )
            for r in found.engines
        ],
    )
    console.note("each cell is a fact (seatrial facts show ENGINE); none says which one is faster")
    if svg is not None:
        write_bytes(svg, draw(found).encode())
        console.done([svg])
    return 0
