"""``seatrial watch TRIAL``: the roll-back trigger, live or as Prometheus rules."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.decide import Decision
    from seatrial.decide.watch import Watch
    from seatrial.telemetry.prometheus import Series

app = App(name="watch", help="The roll-back trigger, live or as Prometheus rules.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]
EXIT = {"quiet": 0, "fired": 1, "unknown": 3}
SAMPLES = 4


@app.default
def watch(
    trial: Path,
    /,
    *,
    endpoint: str | None = None,
    window: float = 30.0,
    metrics_path: str | None = None,
    probe: int = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Print the trigger as a Prometheus rule file, or check it against a live endpoint.

    Without --endpoint the rule file is printed. With it /metrics is read over the window. Exit code
    0 quiet, 1 the trigger fired, 3 it could not be told (no such metric, no traffic, no answer).

    Parameters
    ----------
    trial
        The trial's folder.
    endpoint
        Base URL of the engine that serves, e.g. http://127.0.0.1:8000
    window
        Seconds between the first and the last reading.
    probe
        Instead of reading metrics send this many requests, one after another, as long as the
        trace's median one; for engines that export no latency (llama.cpp).
    metrics_path
        Where the metrics are; the engine's usual path if not given.
    """
    from seatrial.core.errors import PrerequisiteError, UsageError

    console = Console(as_json=json, quiet=quiet)
    decision, engine, workload = _read(trial)
    if decision.rollback.trigger is None:
        raise PrerequisiteError(
            f"this trial's outcome is {decision.outcome}: there is nothing to watch",
            where=str(trial),
            remedy="seatrial decide TRIAL says what is missing",
        )
    if endpoint is None:
        from seatrial.decide.rules import rule_file

        text = rule_file(decision, workload)
        console.document({"schema": "seatrial/rules/1", "rules": text})
        console.line(text.rstrip("\n"))
        return 0
    if window <= 0:
        raise UsageError("the window must be longer than 0 s", remedy="leave --window out")
    if probe > 0:
        found = _probe(console, trial, decision, engine, endpoint, probe)
        console.document(found)
        _show(console, found)
        return EXIT[found.state]
    path = metrics_path or ("/prometheus/metrics" if engine == "tensorrt-llm" else "/metrics")
    found = _live(console, decision, engine, endpoint, path, window)
    console.document(found)
    _show(console, found)
    return EXIT[found.state]


def _read(trial: Path) -> tuple[Decision, str, str]:
    """The decision, the engine of the selected candidate, the workload's name."""
    from seatrial.decide import Decision, load_trial
    from seatrial.store import read

    decision = read(trial / "decision.json", Decision)
    files = load_trial(trial)
    engines = {arm.candidate: arm.engine for arm in files.plan.survivors}
    return decision, engines.get(decision.selected or "", "unknown"), files.spec.name


def _live(
    console: Console, decision: Decision, engine: str, endpoint: str, path: str, window: float
) -> Watch:
    from seatrial.decide.watch import SCHEMA, Watch, evaluate, verdict

    began = time.monotonic()
    samples = [_scrape(endpoint, path)]
    for i in range(1, SAMPLES):
        time.sleep(max(0.0, began + window * i / (SAMPLES - 1) - time.monotonic()))
        samples.append(_scrape(endpoint, path))
        console.progress.amount("watch", time.monotonic() - began, window, "s")
    watched = evaluate(engine, decision.rollback, samples)
    return Watch(
        schema=SCHEMA,
        candidate=decision.selected or "",
        engine=engine,
        window_s=time.monotonic() - began,
        state=verdict(watched),
        watched=watched,
        previous=decision.rollback.previous,
    )


def _probe(
    console: Console, trial: Path, decision: Decision, engine: str, endpoint: str, n: int
) -> Watch:
    from seatrial import engines
    from seatrial.bench.endpoint import EndpointBench, run
    from seatrial.bench.shape import Shape
    from seatrial.decide import read_requests
    from seatrial.decide.watch import SCHEMA, Watch, evaluate_probe, verdict
    from seatrial.store import read, scratch
    from seatrial.workload import Fingerprint

    lengths = read(trial / "fingerprint.json", Fingerprint)
    shape = Shape(
        concurrency=1,
        requests=n,
        input_tokens=max(1, round((lengths.input_tokens and lengths.input_tokens.p50) or 64)),
        output_tokens=max(2, round((lengths.output_tokens and lengths.output_tokens.p50) or 32)),
    )
    began = time.monotonic()
    with scratch("watch") as folder:
        out = folder / "probe"
        attached = engines.attach(endpoint)
        run(EndpointBench(shape=shape), attached, out, console.progress)
        watched = evaluate_probe(decision.rollback, read_requests(out / "requests.parquet"))
    return Watch(
        schema=SCHEMA,
        candidate=decision.selected or "",
        engine=engine,
        window_s=time.monotonic() - began,
        state=verdict(watched),
        watched=watched,
        previous=decision.rollback.previous,
    )


def _scrape(endpoint: str, path: str) -> list[Series]:
    from seatrial.core.errors import PrerequisiteError
    from seatrial.engines.http import get
    from seatrial.telemetry.prometheus import parse

    reply = get(endpoint, path)
    if not reply.ok:
        raise PrerequisiteError(
            f"the endpoint gives no metrics: {reply.error or f'HTTP {reply.status}'}",
            where=endpoint.rstrip("/") + path,
            unchanged="nothing was sent to it but this question",
            remedy="start it with its metrics on (llama-server --metrics, SGLang --enable-metrics),"
            " or name their place with --metrics-path",
        )
    return list(parse(reply.text()))


def _show(console: Console, found: Watch) -> None:
    style = {"fired": "worse", "quiet": "better", "unknown": "unknown"}[found.state]
    console.line(f"{found.candidate}: {found.state}", style=style)
    rows = [(w.role, w.trigger.metric, w.state, w.n, w.says) for w in found.watched]
    console.table(("", "metric", "state", "n", ""), rows, right={3})
    if found.state == "fired":
        console.line(f"go back to: {found.previous or 'the previous deployment'}")
