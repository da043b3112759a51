"""``seatrial export``: a cell or a trace in the formats of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(
    name="export", help="Write a cell as llm-d report or Prometheus text, a trace as Mooncake."
)


@app.default
def export(
    source: Path,
    *,
    to: Annotated[Literal["llm-d", "prometheus", "mooncake"], Parameter(name="--to")],
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Write what others read.

    Args:
        source: cell folder or cell.json (llm-d, prometheus); a trace of any known format (mooncake)
        to: llm-d (benchmark report 0.2.1), prometheus (text) or mooncake (JSON lines)
        out: file to write; without it stdout
        json: print one JSON document that names what was written (needs --out)
    """
    from seatrial.core.errors import UsageError
    from seatrial.core.ids import sha256_bytes
    from seatrial.store import write_bytes

    console = Console(as_json=json)
    if json and out is None:
        raise UsageError(
            "stdout cannot hold both", where="--json", remedy="give --out FILE with --json"
        )
    data = _text(source, to).encode()
    if out is None:
        import sys

        sys.stdout.write(data.decode())
        return 0
    write_bytes(out, data)
    console.document(
        {"schema": "seatrial/export/1", "to": to, "file": str(out), "sha256": sha256_bytes(data)}
    )
    console.done([out])
    return 0


def _text(source: Path, to: str) -> str:
    import msgspec

    from seatrial import trace
    from seatrial.bench.cell import Cell
    from seatrial.bench.exports import llmd_report, mooncake_lines, prometheus_text
    from seatrial.store import read

    if to == "mooncake":
        return "".join(mooncake_lines(trace.load([str(source)])))
    cell = read(source / "cell.json" if source.is_dir() else source, Cell)
    if to == "prometheus":
        return prometheus_text(cell)
    return msgspec.json.format(msgspec.json.encode(llmd_report(cell)), indent=2).decode() + "\n"
