"""One cell: a running engine, a table of requests, and a folder to fill.

    cell = measure(engine=engine, candidate="llama.cpp-b11549-f16", start=1, table=table,
                   spec=spec, seed=7, folder=folder)

The caller writes ``cell.json`` last. The engine is neither started nor stopped here.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from seatrial.bench import cache, comparability, counters, neighbours, summary
from seatrial.bench import client as judge_client
from seatrial.bench.bounded import bounded as _bounded
from seatrial.bench.calibrate import Calibration, calibrate, reasons
from seatrial.bench.cell import SCHEMA, Cell, Finding
from seatrial.bench.listener import Listener
from seatrial.bench.listener import find as find_listener
from seatrial.bench.prepare import Cancel, Prepared, lexicon_for, prepare, prepare_replay
from seatrial.bench.replay import Replay
from seatrial.bench.steady import steady
from seatrial.bench.style import Caller
from seatrial.core.errors import EngineError
from seatrial.core.ids import sha256_file
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import provenance
from seatrial.core.seeds import derive_seed
from seatrial.engines import RunningEngine, http
from seatrial.loadgen import metrics
from seatrial.loadgen.body import PATHS, Sampling
from seatrial.loadgen.lexicon import Lexicon
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.records import Records, count_texts, write_parquet
from seatrial.loadgen.run import Run, execute, workers_for
from seatrial.telemetry import Sampler
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Workload

RECORDS_FILE = "requests.parquet"
_TOKENS_PER_S_GUESS = 50.0


def target_of(engine: RunningEngine, route: str, headers: dict[str, str] | None = None) -> Target:
    """Where the load generator sends to."""
    parts = urlsplit(engine.base_url)
    tls = parts.scheme == "https"
    return Target(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or (443 if tls else 80),
        path=parts.path.rstrip("/") + PATHS[route],
        route=route,
        tls=tls,
        headers=headers or {},
    )


def load_for(table: RequestTable, spec: Workload) -> Load:
    """Open loop where the table has times, else a closed loop of the workload's concurrency."""
    if table.arrival_ns is not None and spec.mode == "online":
        return Load(mode="open", connections=_connections(table))
    synthetic = spec.traffic.synthetic if spec.traffic else None
    users = (synthetic.concurrency if synthetic else None) or spec.requires.concurrency
    if users is None:
        users = min(table.n, 256) if spec.mode == "offline" else 1
    users = max(1, min(users, table.n))
    ramp = 0 if spec.mode == "offline" else min(1_000_000_000, users * 20_000_000)
    return Load(mode="closed", users=users, connections=users, ramp_ns=ramp)


def _connections(table: RequestTable) -> int:
    """How many requests will be open at once, by Little's law and a guess of 50 tokens/s."""
    arrivals, outputs = table.arrival_ns, table.output_tokens
    if arrivals is None or table.n < 2:
        return 1
    span_s = max(1e-3, float(arrivals.max() - arrivals.min()) / 1e9)
    mean = 128.0 if outputs is None else float(outputs.clip(min=1).mean())
    return int(min(table.n, 256, 1 + math.ceil(table.n / span_s * mean / _TOKENS_PER_S_GUESS)))


def measure(
    *,
    engine: RunningEngine,
    candidate: str,
    start: int,
    table: RequestTable,
    spec: Workload,
    seed: int,
    folder: Path,
    progress: Progress | None = None,
    load: Load | None = None,
    sampling: Sampling | None = None,
    route: str = "chat",
    headers: dict[str, str] | None = None,
    hardware: str | None = None,
    model_sha256: str | None = None,
    calibrated: bool = True,
    keep_text: bool = False,
    extra: dict[str, Any] | None = None,
    replay: Replay | None = None,
    cancel: Cancel | None = None,
    timeout_s: float | None = None,
    single_s: float | None = None,
    exact: bool = True,
) -> Cell:
    """Load the engine with the table and say what was seen.

    Args:
        candidate, start: where the cell stands in the trial.
        seed: the trial's; candidate-independent, so that all arms get the same requests. The
            start enters the prompts, so that no start repeats another's.
        folder: empty; gets requests.parquet, telemetry.parquet, server_metrics.parquet.
        load: None: by the table and the workload's mode.
        extra: further fields of every request of the load (adapters, response_format).
        replay: a file's own bodies instead of made ones; ``table`` is then its table.
        cancel: which share of the requests the client closes before their end.
        timeout_s: a request is given up after so long; None: see ``loadgen.limits.bounds``.
        single_s: time of one request alone, where known: a closed loop's end rests on it.
        exact: prompts must have exactly the planned tokens; False: where the server's counts do
            not allow it, about so many, and the cell says so.
        calibrated: hold the client against the mock engine at the planned load first.

    Raises:
        EngineError: the engine does not generate, or nothing listens.
    """
    progress = progress or Silent()
    sampling = sampling or Sampling(seed=spec.trial.seed)
    load = load or load_for(table, spec)
    caller = Caller(engine, route, sampling, headers)
    cell_seed = derive_seed(seed, "cell", start) >> 1
    progress.step("bench", f"{candidate}, start {start}: {table.n} requests")
    streams = max(load.users, load.connections)
    kept = load.fresh or caller.keeps_connections(min(timeout_s or 60.0, 60.0))
    if not kept:
        load = msgspec.structs.replace(load, fresh=True, connections=0)
    prepared = _prepared(table, caller, cell_seed, replay, extra, cancel, exact)
    bounded = _bounded(prepared.plan, load, table, timeout_s, single_s)
    progress.step("bench", bounded.says)
    target = target_of(engine, route, headers)
    rate = _events_per_s(table, load)
    workers = workers_for(rate)
    calibration = None
    if calibrated:
        progress.step("bench", "the client against a known truth")
        calibration = calibrate(streams, rate)
    floor = path_floor(engine)
    before = counters.read(engine)
    listener = _listener(engine)
    with Sampler(listener.pid, metrics_url=engine.metrics_url) as sampler:
        run = execute(
            bounded.plan,
            target,
            bounded.load,
            seed=cell_seed,
            workers=workers,
            keep_text=keep_text,
            progress=progress,
        )
    telemetry = sampler.result()
    _count_missing(run.records, engine)
    after = counters.read(engine)
    write_parquet(run.records, folder / RECORDS_FILE)
    telemetry.write(folder)
    void, seen = counters.judge(before, after, run.records)
    void = (
        judge_client.invalid_because(run.client, run.records, capped=load.max_in_flight > 0) + void
    )
    void += cache.reasons(run.records, prepared.lexicon, table)
    void += neighbours.reasons(telemetry, local=listener.pid is not None)
    if calibration is not None:
        void += _calibration_reasons(calibration, run.records)
    if not kept:
        seen.append(_SINGLE_USE)
    findings = [*seen, *judge_client.stream_findings(run.records), *_findings(run, prepared)]
    findings += neighbours.findings(telemetry, listener)
    findings += bounded.findings(run.records)
    effective = engine.effective()
    key = comparability.key(
        spec=spec,
        table=table,
        sampling=sampling,
        lexicon=prepared.lexicon,
        effective=effective,
        hardware=hardware,
        model_sha256=model_sha256,
        route=route,
        forced_length=caller.style.force_length and replay is None,
        bodies_sha256=None if replay is None else replay.sha256,
    )
    return _cell(
        run, spec, engine, folder,
        candidate=candidate, start=start, void=void, findings=findings, effective=effective,
        key=key, calibration=calibration, seed=cell_seed, floor=floor,
        assumptions=prepared.assumptions, bounds=bounded.bounds,
        estimated=not prepared.lexicon.exact,
        resources=neighbours.resources(telemetry, listener),
    )  # fmt: skip


def _listener(engine: RunningEngine) -> Listener:
    """The engine's process: our own child, or whoever listens at the endpoint."""
    if engine.pid is not None:
        return Listener(local=True, pid=engine.pid)
    return find_listener(engine.base_url)


def _prepared(
    table: RequestTable,
    caller: Caller,
    seed: int,
    replay: Replay | None,
    extra: dict[str, Any] | None,
    cancel: Cancel | None,
    exact: bool,
) -> Prepared:
    if replay is not None:
        return prepare_replay(replay)
    lexicon = lexicon_for(caller, exact=exact)
    if extra:
        caller.style = msgspec.structs.replace(caller.style, extra={**caller.style.extra, **extra})
    return prepare(table, caller, seed, lexicon=lexicon, cancel=cancel)


def _cell(
    run: Run,
    spec: Workload,
    engine: RunningEngine,
    folder: Path,
    *,
    candidate: str,
    start: int,
    void: list[str],
    findings: list[Finding],
    effective: dict[str, Any],
    key: dict[str, Any],
    calibration: Calibration | None,
    seed: int,
    floor: dict[str, float | None],
    assumptions: list[str],
    resources: dict[str, float | int | None],
    bounds: dict[str, float],
    estimated: bool,
) -> Cell:
    records = run.records
    tokens = metrics.output_tokens(records)
    duration = metrics.window_s(records)
    unusable = any(f.id == "itl-unusable" for f in findings)
    itl = metrics.Itl.values(records)
    window = steady(records)
    return Cell(
        schema=SCHEMA,
        candidate=candidate,
        start=start,
        valid=not void,
        invalid_because=void,
        requests=summary.counts(records),
        ttft_ms=summary.summary(metrics.Ttft.values(records)),
        itl_ms=summary.summary(itl[:0] if unusable else itl),
        tpot_ms=summary.summary(metrics.Tpot.values(records)),
        e2e_ms=summary.summary(metrics.E2e.values(records)),
        output_tokens=tokens,
        output_tokens_per_s=tokens / duration if duration else None,
        duration_s=duration,
        goodput=summary.goodput(records, spec.slo),
        failure_rate=summary.failure_rate(records),
        resources=resources,
        bounds=bounds,
        input_tokens_estimated=estimated,
        effective=effective,
        client=msgspec.structs.replace(
            judge_client.report(
                run.client,
                records,
                None if calibration is None else msgspec.to_builtins(calibration),
            ),
            path_floor_ms=floor,
        ),
        findings=findings,
        cold_start_s=dict(engine.cold_start_s),
        comparability=key,
        steady=None if window is None else msgspec.to_builtins(window),
        more=summary.more(records),
        by_length=summary.by_length(records),
        fluidity=summary.fluidity(records, spec.slo),
        assumptions=assumptions,
        provenance=provenance(
            inputs={"trace": key["trace"]}, seeds={"cell": seed, "trial": spec.trial.seed}
        ),
        files={path.name: sha256_file(path) for path in sorted(folder.glob("*.parquet"))},
    )


def _calibration_reasons(calibration: Calibration, records: Records) -> list[str]:
    ttft = metrics.Ttft.values(records)
    if not len(ttft):
        return []
    return reasons(calibration, float(ttft.mean()), float(np.percentile(ttft, 99)))


def _events_per_s(table: RequestTable, load: Load) -> float:
    """A guess of the rate of events, for the number of workers."""
    if load.mode == "closed":
        return load.users * _TOKENS_PER_S_GUESS
    arrivals, outputs = table.arrival_ns, table.output_tokens
    if arrivals is None or outputs is None or table.n < 2:
        return 0.0
    span_s = max(1e-3, float(arrivals.max() - arrivals.min()) / 1e9)
    return float(outputs.clip(min=0).sum()) / span_s


def path_floor(engine: RunningEngine, tries: int = 10) -> dict[str, float | None]:
    """Round trip of a null request (the health route) in ms: what the path itself costs."""
    route = engine.adapter.routes.health or engine.adapter.routes.models
    times = []
    for _ in range(tries):
        began = time.perf_counter_ns()
        if http.get(engine.base_url, route, timeout_s=5.0).status:
            times.append((time.perf_counter_ns() - began) / 1e6)
    if not times:
        return {"min": None, "p50": None}
    return {"min": min(times), "p50": float(np.median(times))}


def _count_missing(records: Records, engine: RunningEngine) -> None:
    """Tokens of answers without usage, by the engine's own tokenizer where it has a route."""
    if not records.text:
        return
    try:
        engine.tokenize("a")
    except EngineError:
        return
    count_texts(records, lambda text: len(engine.tokenize(text)))


_SINGLE_USE = Finding(
    id="single-use-connections",
    level="info",
    says="the server closes a connection after each streamed answer: every request opens its own,"
    " timed as connect_ns and part of its latency",
)

_MEANINGS = {
    "tokens_from_text": ("info", "answers whose tokens were counted from their whole text"),
    "no_usage": ("warning", "answers without usage: their tokens are counted from events"),
    "wrong_usage": ("warning", "usage above the limit that was asked for: events count instead"),
    "no_done": ("info", "streams ended without [DONE]"),
    "trailing_bytes": ("info", "answers with bytes after their end"),
    "malformed_event": ("warning", "answers with an event that is not JSON"),
    "cut_event": ("warning", "answers that end inside an event"),
    "output_length_differs": ("warning", "answers of another length than was asked for"),
    "no_content": ("warning", "answers without any content"),
    "no_end_of_message": ("warning", "answers whose connection ended before the message did"),
    "not_streamed": ("warning", "answers that came whole although a stream was asked for"),
}


def _findings(run: Run, prepared: Prepared) -> list[Finding]:
    records = run.records
    found = [
        Finding(id=name.replace("_", "-"), level=level, says=f"{number} {says}")
        for name, number in Counter(records.cell_findings).items()
        for level, says in [_MEANINGS.get(name, ("info", name))]
    ]
    found += [Finding(id="assumption", level="info", says=text) for text in prepared.assumptions]
    found += _input_lengths(records, prepared.lexicon)
    if run.client.stray:
        found.append(
            Finding(
                id="stray-bytes",
                level="info",
                says=f"{run.client.stray} connections got bytes after the end of an answer",
            )
        )
    return found


def _input_lengths(records: Records, lexicon: Lexicon) -> list[Finding]:
    """Prompts whose usage is not what was planned, or of which only an estimate is known."""
    planned = records.plan["planned_input_tokens"][records.ints["index"]]
    got = records.ints["input_tokens"]
    told = (got >= 0) & (planned >= 0) & ~records.input_estimated
    off = told & (got != planned)
    worst = int(np.abs(got - planned)[off].max()) if off.any() else 0
    if not lexicon.exact:
        counted = f"{int(told.sum())} of {records.n} prompts were counted by the server"
        return [
            Finding(
                id="input-tokens-estimated",
                level="warning",
                says="input lengths are estimates: the server's counts allow no exact prompts",
                evidence=f"{counted}, by up to {worst} tokens other than planned",
            )
        ]
    if not off.any():
        return []
    return [
        Finding(
            id="input-length-differs",
            level="warning",
            says=f"{int(off.sum())} prompts counted other than planned (by up to {worst} tokens)",
        )
    ]
