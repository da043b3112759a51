"""``seatrial bench``: a load test of any OpenAI-compatible server.

seatrial bench --endpoint http://127.0.0.1:8000 --concurrency 16 --duration 30
seatrial bench --endpoint http://127.0.0.1:8000 --trace requests.csv
seatrial bench --endpoint http://127.0.0.1:8000 --rate 4 --requests 200 --json
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.bench import Cell, Summary

app = App(name="bench", help="Load test of any OpenAI-compatible server.")


@app.default
def bench(
    *,
    endpoint: str,
    model: str | None = None,
    engine: str | None = None,
    trace: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    trace_format: str | None = None,
    concurrency: int | None = None,
    rate: float | None = None,
    arrivals: str = "poisson",
    cv: float = 2.0,
    on_s: float = 5.0,
    off_s: float = 5.0,
    end_rate: float | None = None,
    think_s: float = 0.0,
    max_in_flight: int = 0,
    duration: float | None = None,
    requests: int | None = None,
    input_tokens: int = 256,
    output_tokens: int = 128,
    ttft_ms: float | None = None,
    tpot_ms: float | None = None,
    e2e_ms: float | None = None,
    route: str = "chat",
    temperature: float = 0.0,
    stall_s: float = 60.0,
    fresh_connections: bool = False,
    api_key_env: str | None = None,
    seed: int = 1,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Load a server and say what was measured, or that it cannot be said.

    Args:
        endpoint: address of the server, e.g. http://127.0.0.1:8000
        model: name that requests carry; without it the first model served
        engine: which engine it is (its metrics and sampling fields are then known)
        trace: request log to replay, in any known format
        trace_format: format of the trace; found out without it
        concurrency: closed loop of that many users
        rate: open loop, requests per second
        arrivals: poisson, constant, gamma, on-off or ramp
        cv: coefficient of variation of the gaps, for gamma
        on_s: seconds of load of an on-off period
        off_s: seconds of silence of an on-off period
        end_rate: rate at the end, for ramp
        think_s: mean pause of a closed-loop user
        max_in_flight: cap on requests in flight of an open loop; 0 is none
        duration: seconds
        requests: number of requests
        input_tokens: prompt length, without a trace
        output_tokens: answer length, without a trace
        ttft_ms: SLO on TTFT, for goodput
        tpot_ms: SLO on TPOT, for goodput
        e2e_ms: SLO on E2E, for goodput
        route: chat, completions, responses or ollama
        temperature: sampling temperature
        stall_s: silence after which a request is given up
        fresh_connections: a new connection for every request
        api_key_env: environment variable that holds the API key
        seed: of arrivals, lengths and prompts
        out: folder for the records and cell.json; without it they are not kept
        json: print one JSON document
        quiet: no progress
    """
    from seatrial import engines
    from seatrial.bench.endpoint import EndpointBench, run
    from seatrial.bench.shape import Shape

    console = Console(as_json=json, quiet=quiet)
    shape = Shape(
        rate_per_s=rate,
        concurrency=concurrency,
        requests=requests,
        duration_s=duration,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        arrivals=arrivals,
        cv=cv,
        on_s=on_s,
        off_s=off_s,
        end_rate_per_s=end_rate,
        think_s=think_s,
        max_in_flight=max_in_flight,
        stall_s=stall_s,
        fresh=fresh_connections,
    )
    request = EndpointBench(
        shape=shape,
        trace=[str(path) for path in trace or []],
        trace_format=trace_format,
        slo={"ttft_ms": ttft_ms, "tpot_ms": tpot_ms, "e2e_ms": e2e_ms},
        route=route,
        temperature=temperature,
        seed=seed,
        headers=_headers(api_key_env),
    )
    attached = engines.attach(endpoint, engine=engine, model=model)
    cell = run(request, attached, out, console.progress)
    console.document(document(cell))
    show(console, cell, out)
    return exit_code(cell)


def _headers(api_key_env: str | None) -> dict[str, str]:
    import os

    from seatrial.core.errors import UsageError

    if api_key_env is None:
        return {}
    key = os.environ.get(api_key_env)
    if not key or not key.isprintable():
        raise UsageError(
            f"the environment variable {api_key_env} holds no key",
            where="--api-key-env",
            unchanged="nothing was sent",
            remedy=f"export {api_key_env}=...",
        )
    return {"Authorization": f"Bearer {key}"}


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
