"""``seatrial bench``: a load test of any OpenAI-compatible server.

seatrial bench --endpoint http://127.0.0.1:8000 --concurrency 16 --duration 30
seatrial bench --endpoint http://127.0.0.1:8000 --trace requests.csv
seatrial bench --endpoint http://127.0.0.1:8000 --rate 4 --requests 200 --json
seatrial bench workload.yaml --endpoint http://127.0.0.1:8000
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.bench_screen import document, exit_code, show, show_search, show_sweep
from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.bench.prepare import Cancel

app = App(name="bench", help="Load test of any OpenAI-compatible server.")


@app.default
def bench(
    workload: Path | None = None,
    /,
    *,
    endpoint: str | None = None,
    candidate: str | None = None,
    model: str | None = None,
    engine: str | None = None,
    trace: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    trace_format: str | None = None,
    bodies: Path | None = None,
    concurrency: int | None = None,
    rate: float | None = None,
    arrivals: str = "poisson",
    cv: float = 2.0,
    on_s: float = 5.0,
    off_s: float = 5.0,
    end_rate: float | None = None,
    think_s: float = 0.0,
    max_in_flight: int = 0,
    search_goodput: Annotated[bool, Parameter(negative="")] = False,
    target: float = 0.95,
    sweep: Annotated[list[float] | None, Parameter(consume_multiple=True)] = None,
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
    timeout_s: float | None = None,
    fresh_connections: bool = False,
    cancel_share: float = 0.0,
    cancel_after_tokens: int | None = None,
    cancel_after_s: float | None = None,
    api_key_env: str | None = None,
    seed: int | None = None,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
    quiet: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Load a server and say what was measured, or that it cannot be said.

    Args:
        workload: workload file whose traffic and SLO are taken, in place of the options that
            describe a load
        endpoint: address of the server, e.g. http://127.0.0.1:8000
        candidate: without an endpoint: the candidate of the workload to start and measure
        model: name that requests carry; without it the first model served
        engine: which engine it is (its metrics and sampling fields are then known)
        trace: request log to replay, in any known format
        bodies: file of request bodies to replay exactly, one JSON object a line, with
            timestamp (ms) and body
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
        search_goodput: find the highest rate (or, with --concurrency, concurrency) within the SLO
        target: share of requests that must meet every SLO, for the search
        sweep: several loads after each other, rates or (with --concurrency) users
        duration: seconds
        requests: number of requests; the run's end is bounded all the same, and says by what
        input_tokens: prompt length, without a trace
        output_tokens: answer length, without a trace
        ttft_ms: SLO on TTFT, for goodput
        tpot_ms: SLO on TPOT, for goodput
        e2e_ms: SLO on E2E, for goodput
        route: chat, completions, responses or ollama
        temperature: sampling temperature
        stall_s: silence after which a request is given up
        timeout_s: a request that is not finished so long after its scheduled time is given up and
            counts as timed out; without it 2 x stall_s and a second for each output token
        fresh_connections: a new connection for every request
        cancel_share: share of the requests that the client closes before their end
        cancel_after_tokens: closed after so many tokens
        cancel_after_s: closed after so many seconds
        api_key_env: environment variable that holds the API key
        seed: of arrivals, lengths and prompts; without it a new one each time, so that no run
            meets the prompts that an earlier run left in a prefix cache
        out: folder for the records and cell.json; without it they are not kept
        json: print one JSON document
        quiet: no progress
    """
    import secrets

    from seatrial import engines
    from seatrial.bench.endpoint import EndpointBench, run
    from seatrial.bench.endpoint import search_goodput as run_search
    from seatrial.bench.endpoint import sweep as run_sweep
    from seatrial.bench.shape import Shape

    console = Console(as_json=json, quiet=quiet)
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    if workload is not None:
        load_options: dict[str, object] = {
            "--trace": trace, "--bodies": bodies, "--concurrency": concurrency, "--rate": rate,
            "--sweep": sweep, "--search-goodput": search_goodput, "--duration": duration,
            "--requests": requests, "--ttft-ms": ttft_ms, "--tpot-ms": tpot_ms, "--e2e-ms": e2e_ms,
        }  # fmt: skip
        _only_the_workload(load_options)
        from seatrial.cli.bench_workload import bench_workload

        cell = bench_workload(
            workload, endpoint=endpoint, engine=engine, model=model, candidate=candidate,
            seed=seed, out=out, console=console,
            more={
                "route": route, "headers": _headers(api_key_env),
                "timeout_s": _positive(timeout_s, "--timeout-s"),
                "cancel": _cancel(cancel_share, cancel_after_tokens, cancel_after_s),
            },
        )  # fmt: skip
        console.document(document(cell))
        show(console, cell, out)
        return exit_code(cell)
    endpoint = _given(endpoint)
    shape = Shape(
        rate_per_s=rate,
        concurrency=concurrency,
        requests=requests,
        duration_s=duration if duration or requests or trace or not sweep else 10.0,
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
        bodies=None if bodies is None else str(bodies),
        cancel=_cancel(cancel_share, cancel_after_tokens, cancel_after_s),
        slo={"ttft_ms": ttft_ms, "tpot_ms": tpot_ms, "e2e_ms": e2e_ms},
        route=route,
        temperature=temperature,
        seed=seed,
        headers=_headers(api_key_env),
        timeout_s=_positive(timeout_s, "--timeout-s"),
    )
    attached = engines.attach(endpoint, engine=engine, model=model)
    if sweep:
        cells = run_sweep(request, attached, sweep, console.progress)
        points = [document(cell) for cell in cells]
        console.document({"schema": "seatrial/bench-sweep/1", "loads": sweep, "points": points})
        show_sweep(console, sweep, cells)
        return max(exit_code(cell) for cell in cells)
    if search_goodput:
        cell, found = run_search(request, attached, target, out, console.progress)
        console.document({**document(cell), "search": found})
        show_search(console, found, "users" if concurrency else "requests/s")
    else:
        cell = run(request, attached, out, console.progress)
        console.document(document(cell))
    show(console, cell, out)
    return exit_code(cell)


def _given(endpoint: str | None) -> str:
    from seatrial.core.errors import UsageError

    if endpoint is None:
        raise UsageError(
            "nothing to measure",
            where="seatrial bench",
            unchanged="nothing was sent",
            remedy="give --endpoint http://HOST:PORT, or a workload file",
        )
    return endpoint


def _only_the_workload(options: dict[str, object]) -> None:
    from seatrial.core.errors import UsageError

    given = [name for name, value in options.items() if value]
    if given:
        raise UsageError(
            "a workload brings its own traffic and SLO",
            where=", ".join(given),
            unchanged="nothing was sent",
            remedy="leave these options out, or the workload",
        )


def _positive(value: float | None, name: str) -> float | None:
    import math

    from seatrial.core.errors import UsageError

    if value is not None and not (0 < value < math.inf):
        raise UsageError(f"{value:g} seconds", where=name, remedy="give a positive number")
    return value


def _cancel(share: float, tokens: int | None, seconds: float | None) -> Cancel | None:
    from seatrial.bench.prepare import Cancel
    from seatrial.core.errors import UsageError

    if not share and tokens is None and seconds is None:
        return None
    if not 0 < share <= 1 or (tokens is None and seconds is None):
        raise UsageError(
            "a plan of cancellations needs a share and a moment",
            where="--cancel-share",
            unchanged="nothing was sent",
            remedy="give --cancel-share 0.1 with --cancel-after-tokens or --cancel-after-s",
        )
    return Cancel(share=share, after_tokens=tokens, after_s=seconds)


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
