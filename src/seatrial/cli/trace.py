"""``seatrial trace``: which formats are read, parts of traces, traces like a trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.trace import RequestTable
    from seatrial.workload.twosample import Check

app = App(name="trace", help="Make traces: a representative slice, or a synthetic one alike.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.command
def formats(*, json: Json = False) -> int:
    """List the formats that are read."""
    from seatrial.trace.formats import readers

    console = Console(as_json=json)
    found = [
        *((r.id, "real files" if r.tested else "untested", r.title) for r in readers().values()),
        ("servegen", "real files", "ServeGen client folders (rates and lengths, no requests)"),
    ]
    console.document(
        {
            "schema": "seatrial/trace-formats/1",
            "formats": [{"id": i, "tested": t != "untested", "title": w} for i, t, w in found],
        }
    )
    console.table(("format", "tested on", "what"), found)
    console.note("untested: written after the format's description, no real sample was at hand")
    return 0


@app.command(name="slice")
def slice_trace(
    trace: str,
    /,
    *,
    out: Path,
    minutes: float | None = None,
    requests: int | None = None,
    start: float = 0.0,
    rule: Literal["representative", "busiest", "first"] = "representative",
    format: str | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Cut a part out of a trace, for a benchmark of some minutes.

    Parameters
    ----------
    trace
        File, glob or folder.
    out
        Where to write it: .jsonl (Mooncake rows) or .csv (seconds and lengths).
    minutes
        Length of the part, chosen by the rule.
    requests
        That many requests from --start on, in place of minutes.
    start
        Seconds from the first arrival.
    rule
        representative: least unlike the whole in rate and lengths; busiest; first.
    format
        Force a reader (see seatrial trace formats).
    """
    from seatrial import trace as traces
    from seatrial.core.errors import UsageError
    from seatrial.workload import transform
    from seatrial.workload.part import choose

    if (minutes is None) == (requests is None):
        raise UsageError("one of --minutes and --requests is needed", remedy="give one of them")
    if (requests is not None and requests < 1) or (minutes is not None and not minutes > 0):
        raise UsageError(
            "a slice of nothing", where="--minutes, --requests", remedy="give a number above 0"
        )
    console = Console(as_json=json, quiet=quiet)
    source = traces.load(trace, format=format, progress=console.progress)
    if minutes is not None:
        part = choose(source, minutes, rule)
        made, start = part.table, part.start_s
    else:
        made = transform.window(source, start_s=start, requests=requests)
    if made.n == 0:
        raise UsageError("no request is left", remedy="start earlier; the trace is shorter")
    return _written(console, source, made, out, {"start_s": start, "rule": rule})


@app.command
def synth(
    trace: str,
    /,
    *,
    out: Path,
    minutes: float | None = None,
    rate_factor: float = 1.0,
    users_factor: float = 1.0,
    model: Literal["auto", "poisson", "gamma", "onoff", "profile"] = "auto",
    seed: int = 1,
    format: str | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Make a synthetic trace like a real one, and show how like it is.

    Parameters
    ----------
    trace
        File, glob or folder to learn from; a folder of ServeGen's clients too.
    out
        Where to write it: .jsonl (Mooncake rows) or .csv (seconds and lengths).
    minutes
        Length; as long as the source if not given (10 for ServeGen's clients).
    rate_factor
        Everything that many times as fast.
    users_factor
        That many times the sessions in the same time.
    model
        Of the arrivals; auto takes the one whose burstiness is nearest.
    seed
        The same seed gives the same trace.
    format
        Force a reader (see seatrial trace formats).
    """
    from seatrial import trace as traces
    from seatrial.core.errors import UsageError
    from seatrial.trace.servegen import is_servegen
    from seatrial.trace.servegen import read as read_clients
    from seatrial.workload.synth import synthesise
    from seatrial.workload.synth_clients import from_clients

    if rate_factor <= 0 or users_factor <= 0 or (minutes is not None and minutes <= 0):
        raise UsageError("minutes and factors must be above 0", remedy="give a positive number")
    console = Console(as_json=json, quiet=quiet)
    if format == "servegen" or (format is None and is_servegen(trace)):
        table = from_clients(
            read_clients(trace), seed=seed, minutes=minutes or 10.0, rate_factor=rate_factor
        )
        return _written(console, table, table, out, {"model": "servegen", "seed": seed})
    source = traces.load(trace, format=format, progress=console.progress)
    made = synthesise(
        source,
        seed=seed,
        minutes=minutes,
        rate_factor=rate_factor,
        users_factor=users_factor,
        model=model,
    )
    about = {"model": made.model, "scores": made.scores, "seed": seed}
    return _written(console, source, made.table, out, about)


@app.command
def compare(
    source: str,
    other: str,
    /,
    *,
    format: str | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Is one trace like another: a replay like its source? Exit code 1 if it is not.

    Parameters
    ----------
    source
        File, glob or folder.
    other
        File, glob or folder to compare with it; the format of each is recognised by itself.
    format
        Force a reader for both.
    """
    from seatrial import trace as traces
    from seatrial.workload.twosample import compare as compared

    console = Console(as_json=json, quiet=quiet)
    first = traces.load(source, format=format, progress=console.progress)
    second = traces.load(other, format=format, progress=console.progress)
    checks = compared(first, second)
    alike = all(check.ok for check in checks)
    console.document({"schema": "seatrial/trace-compared/1", "alike": alike, "checks": checks})
    _show(console, second, checks)
    if not json:
        console.line("alike within every tolerance" if alike else "not alike")
    return 0 if alike else 1


def _written(
    console: Console,
    source: RequestTable,
    made: RequestTable,
    out: Path,
    about: Mapping[str, object],
) -> int:
    from seatrial.trace.write import write
    from seatrial.workload.twosample import compare

    lost = write(made, out)
    checks = [] if made is source else compare(source, made)
    console.document(
        {
            "schema": "seatrial/trace-made/1",
            "path": str(out),
            "requests": made.n,
            **about,
            "checks": checks,
            "not_written": lost,
        }
    )
    if checks:
        _show(console, made, checks)
    if lost:
        console.note(f"note: the form of {out.name} cannot hold: {', '.join(lost)}")
    console.done([out], f"seatrial profile {out}")
    return 0


def _show(console: Console, made: RequestTable, checks: list[Check]) -> None:
    console.title(f"{made.n} requests against the source")
    rows = [
        (
            check.name,
            f"{check.source:.4g}",
            f"{check.made:.4g}",
            f"{check.kind} {check.value:.3g}",
            f"{check.tolerance:g}",
            "" if check.p is None else f"{check.p:.2g}",
            "within" if check.ok else "outside",
        )
        for check in checks
    ]
    columns = ("quantity", "source", "made", "distance", "tolerance", "p", "")
    console.table(columns, rows, right=(1, 2, 4, 5))
