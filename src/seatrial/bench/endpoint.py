"""A bench of a server that someone else runs: from the command line's wishes to a cell."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from seatrial import trace
from seatrial.bench.cell import Cell
from seatrial.bench.measure import load_for, measure
from seatrial.bench.prepare import Cancel
from seatrial.bench.replay import load as load_bodies
from seatrial.bench.search import Found, Probe, search
from seatrial.bench.shape import Shape, check, load_of, table_of
from seatrial.bench.style import Caller
from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.engines import RunningEngine
from seatrial.loadgen.body import PATHS, Sampling
from seatrial.loadgen.plan import Load
from seatrial.store import scratch, whole_folder, write
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Model, Slo, Workload


class EndpointBench(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be measured at an endpoint.

    Attributes:
        slo: a metric -> its p95 limit or None.
        timeout_s: a request is given up after so long; None: by its length.
        single_s: time of one request alone, once it has been measured.
    """

    shape: Shape
    trace: list[str] = []
    trace_format: str | None = None
    bodies: str | None = None
    cancel: Cancel | None = None
    slo: dict[str, float | None] = {}
    route: str = "chat"
    temperature: float = 0.0
    seed: int = 1
    headers: dict[str, str] = {}
    timeout_s: float | None = None
    single_s: float | None = None


def spec_of(wish: EndpointBench, model: str) -> Workload:
    """A workload that says what the command line said."""
    limits: dict[str, Any] = {k: {"p95": v} for k, v in wish.slo.items() if v is not None}
    return Workload(
        schema="seatrial/workload/1", name="bench", model=Model(path=model), slo=Slo(**limits)
    )


def run(
    wish: EndpointBench,
    engine: RunningEngine,
    out: Path | None = None,
    progress: Progress | None = None,
    *,
    start: int = 1,
) -> Cell:
    """Measure; with ``out`` the records and cell.json are kept there.

    Raises:
        UsageError: contradictory wishes, or ``out`` exists.
        EngineError: the server does not generate.
    """
    if wish.route not in PATHS:
        raise UsageError(
            f"no such route: {wish.route}", where="--route", remedy=f"one of {', '.join(PATHS)}"
        )
    return in_folder(out, lambda folder: _measure(wish, engine, folder, progress, start=start))


def in_folder(out: Path | None, fill: Callable[[Path], Cell]) -> Cell:
    """Measure into ``out``, which appears whole with its cell.json, or into nothing that stays.

    Raises:
        UsageError: ``out`` exists.
    """
    if out is None:
        with scratch("bench") as folder:
            return fill(folder)
    if out.exists():
        raise UsageError(
            "the folder exists already", where=str(out), remedy="give a new folder with --out"
        )
    with whole_folder(out) as folder:
        cell = fill(folder)
        write(folder / "cell.json", cell)
    return cell


def sweep(
    wish: EndpointBench,
    engine: RunningEngine,
    loads: list[float],
    progress: Progress | None = None,
) -> list[Cell]:
    """One cell at each load, in the order given, each with requests of its own."""
    cells = []
    for number, load in enumerate(loads, 1):
        with scratch("bench") as folder:
            at = at_load(wish, load)
            cells.append(_measure(at, engine, folder, progress, start=number))
    return cells


def at_load(wish: EndpointBench, load: float) -> EndpointBench:
    """The same wish at another rate or concurrency, whichever it has."""
    shape = wish.shape
    if shape.concurrency is not None:
        shape = msgspec.structs.replace(shape, concurrency=max(1, round(load)))
    else:
        shape = msgspec.structs.replace(shape, rate_per_s=load)
    return msgspec.structs.replace(wish, shape=shape)


def search_goodput(
    wish: EndpointBench,
    engine: RunningEngine,
    target: float,
    out: Path | None = None,
    progress: Progress | None = None,
) -> tuple[Cell, Found]:
    """The highest load within the SLO, and a cell measured there (at the first load if none is).

    Raises:
        UsageError: no SLO was given.
    """
    if not any(value is not None for value in wish.slo.values()):
        raise UsageError(
            "a search for goodput needs an SLO",
            where="--search-goodput",
            remedy="give --ttft-ms, --tpot-ms or --e2e-ms",
        )
    shape = wish.shape
    if shape.requests is None and shape.duration_s is None:
        wish = msgspec.structs.replace(wish, shape=msgspec.structs.replace(shape, requests=150))
    if shape.rate_per_s is None and shape.concurrency is None:
        wish = at_load(wish, 1.0)
    wish = with_single(wish, engine, Sampling(temperature=wish.temperature, seed=wish.seed))
    first = float(wish.shape.concurrency or wish.shape.rate_per_s or 1.0)

    def probe(load: float, number: int) -> Probe:
        with scratch("bench") as folder:
            at = at_load(wish, load)
            cell = _measure(at, engine, folder, progress, start=number, calibrated=False)
        n = cell.requests.offered - cell.requests.in_flight
        good = round((cell.goodput or 0.0) * n)
        return Probe(load=load, good=good, n=n, invalid=cell.invalid_because)

    whole = wish.shape.concurrency is not None
    found = search(probe, start=first, target=target, whole=whole)
    cell = run(at_load(wish, found.best or first), engine, out, progress, start=10_000)
    return cell, found


def _measure(
    wish: EndpointBench,
    engine: RunningEngine,
    folder: Path,
    progress: Progress | None,
    *,
    start: int = 1,
    calibrated: bool = True,
) -> Cell:
    sampling = Sampling(temperature=wish.temperature, seed=wish.seed)
    spec = spec_of(wish, engine.model)
    replay = None if wish.bodies is None else load_bodies(Path(wish.bodies))
    wish = with_single(wish, engine, sampling)
    if replay is not None:
        table = replay.table
        closed = wish.shape.concurrency is not None
        load = load_of(wish.shape, table) if closed else load_for(table, spec)
    else:
        table, load = requests_for(wish, spec, progress)
    return measure(
        engine=engine,
        candidate=engine.adapter.name,
        start=start,
        table=table,
        spec=spec,
        seed=wish.seed,
        folder=folder,
        progress=progress,
        load=load,
        sampling=sampling,
        route=wish.route,
        headers=wish.headers,
        calibrated=calibrated,
        replay=replay,
        cancel=wish.cancel,
        timeout_s=wish.timeout_s,
        single_s=wish.single_s,
        exact=False,
    )


def requests_for(
    wish: EndpointBench,
    spec: Workload,
    progress: Progress | None = None,
) -> tuple[RequestTable, Load]:
    """The table and the load that the wish stands for."""
    if wish.trace:
        if wish.shape.rate_per_s is not None:
            raise UsageError(
                "a trace has its own arrival times",
                where="--trace, --rate",
                remedy="leave --rate out; --concurrency replays it as a closed loop",
            )
        table = trace.load(wish.trace, format=wish.trace_format, progress=progress or Silent())
        if wish.shape.requests is not None and wish.shape.requests < table.n:
            from seatrial.workload import transform

            table = transform.window(table, requests=wish.shape.requests)
        if wish.shape.concurrency is not None:
            return table, load_of(wish.shape, table)
        return table, load_for(table, spec)
    table = table_of(wish.shape, wish.seed, single_e2e_s=wish.single_s or 1.0)
    return table, load_of(wish.shape, table)


def with_single(wish: EndpointBench, engine: RunningEngine, sampling: Sampling) -> EndpointBench:
    """The wish with the time of one request alone, where a closed loop of made requests needs it.

    A duration needs enough requests to its end; a number of requests an end of its run.
    """
    made = not wish.trace and wish.bodies is None
    if not made or wish.shape.concurrency is None or wish.single_s is not None:
        return wish
    check(wish.shape)
    caller = Caller(engine, wish.route, sampling, wish.headers)
    tokens = wish.shape.output_tokens
    began = time.perf_counter()
    caller.generate("Say", round(tokens if isinstance(tokens, int) else tokens.mean))
    return msgspec.structs.replace(wish, single_s=time.perf_counter() - began)
