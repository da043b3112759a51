"""What ``seatrial bench`` shows: one screen a cell, and the JSON document."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.bench import Cell, Summary
    from seatrial.bench.search import Found


def exit_code(cell: Cell) -> int:
    """0 done; 4 no request completed; 5 the client was the bottleneck."""
    if cell.requests.completed == 0:
        return 4
    return 0 if cell.valid else 5


def document(cell: Cell) -> dict[str, Any]:
    """The document of ``--json``: the cell under the schema of ``bench``."""
    import msgspec

    return {**msgspec.to_builtins(cell), "schema": "seatrial/bench/1"}


def show(console: Console, cell: Cell, out: Path | None) -> None:
    """One screen."""
    n = cell.requests
    console.title(f"{cell.effective.get('model') or cell.candidate}: {n.offered} requests")
    if not cell.valid:
        console.line("INVALID: these numbers are not the engine's", style="invalid")
        for reason in cell.invalid_because:
            console.line(f"  {reason}", style="invalid")
    others = [
        f"{getattr(n, name)} {name.replace('_', ' ')}"
        for name in ("failed", "cut", "timed_out", "cancelled", "in_flight")
        if getattr(n, name)
    ]
    console.line(", ".join([f"{n.completed} completed", *others]))
    rows = [
        _row("TTFT ms", cell.ttft_ms),
        _row("ITL ms", cell.itl_ms),
        _row("TPOT ms", cell.tpot_ms),
        _row("E2E ms", cell.e2e_ms),
    ]
    if cell.input_tokens_estimated:
        console.line("input lengths are estimates: this server's token counts do not add up")
    console.table(["", "mean", "p50", "p90", "p95", "p99", "n"], rows, right=range(1, 7))
    rate = cell.output_tokens_per_s
    console.line(
        f"{cell.output_tokens} output tokens in {cell.duration_s:.1f} s"
        + (f": {rate:.1f} tokens/s" if rate else "")
    )
    if cell.goodput is not None:
        console.line(f"goodput {cell.goodput:.1%} of the requests meet every SLO")
    _show_client(console, cell)
    for finding in cell.findings:
        console.line(f"{finding.level}: {finding.says}")
    if out is not None:
        console.done([out])


def _show_client(console: Console, cell: Cell) -> None:
    client = cell.client
    parts = [f"client: late {_ms(client.lateness_ms.get('p99'))} ms p99"]
    parts.append(f"loop lag {_ms(client.loop_lag_ms.get('p99'))} ms p99")
    parts.append(f"{client.cpu_share:.0%} of a core")
    if client.cpu_s_per_million_tokens is not None:
        parts.append(f"{client.cpu_s_per_million_tokens:.1f} CPU-s per million tokens")
    console.line(", ".join(parts))


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _row(name: str, summary: Summary) -> list[str]:
    numbers = (summary.mean, summary.p50, summary.p90, summary.p95, summary.p99)
    return [name, *(_ms(number) for number in numbers), str(summary.n)]


def show_search(console: Console, found: Found, unit: str) -> None:
    """The answer of a search, and every load that was tried."""
    console.title(f"highest load with {found.target:.0%} of the requests within the SLO")
    low = "none" if found.low is None else f"{found.low:.4g}"
    high = "not found" if found.high is None else f"{found.high:.4g}"
    state = "resolved" if found.resolved else "not resolved"
    console.line(f"{low} {unit} passes, {high} fails: {state}; {found.because}")
    rows = [
        [f"{j.load:.4g}", f"{j.share.best:.1%}", f"{j.share.low:.1%}..{j.share.high:.1%}",
         str(j.share.n), j.verdict]
        for j in found.judged
    ]  # fmt: skip
    console.table([unit, "within", "interval", "n", "verdict"], rows, right=range(4))


def show_sweep(console: Console, loads: list[float], cells: list[Cell]) -> None:
    """One row a load."""
    rows = []
    for load, cell in zip(loads, cells, strict=True):
        numbers = (cell.ttft_ms.p50, cell.ttft_ms.p99, cell.tpot_ms.p50, cell.e2e_ms.p99)
        rate = cell.output_tokens_per_s
        rows.append(
            [f"{load:g}", *map(_ms, numbers), _ms(rate), "yes" if cell.valid else "invalid"]
        )
    names = ["load", "TTFT p50", "TTFT p99", "TPOT p50", "E2E p99", "tokens/s", "valid"]
    console.table(names, rows, right=range(6))
