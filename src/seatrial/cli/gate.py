"""``seatrial gate``: strike out what cannot do the job, with the number that binds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.gate.table import GateRow, GateTable, Reason
    from seatrial.workload import Fingerprint
    from seatrial.workload.spec import Workload

app = App(name="gate", help="Which candidates can do the job at all, and why the others cannot.")

PASSES = ("feasible", "degraded")


@app.default
def gate(
    workload: Path | None = None,
    /,
    *,
    model: str | None = None,
    gpu: str | None = None,
    count: int = 1,
    engine: Annotated[list[str] | None, Parameter(negative=())] = None,
    context: int | None = None,
    concurrency: int | None = None,
    what_if: Annotated[list[str] | None, Parameter(name="--what-if", negative=())] = None,
    explain: str | None = None,
    all: Annotated[bool, Parameter(name="--all", negative=())] = False,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """The elimination table of a workload, or of one question asked without a file.

    Parameters
    ----------
    workload
        the workload file (YAML).
    model
        without a file: a folder with config.json, or a .gguf.
    gpu
        without a file: h100-80gb, t4, ...; without it this machine's processor.
    count
        without a file: devices.
    engine
        without a file: vllm==0.33.0; may be repeated. None: every engine known.
    context
        without a file: tokens of the longest sequence.
    concurrency
        without a file: sequences at once.
    what_if
        a change, name=value: gpu=l4, tp=4, context_tokens=65536. May be repeated.
    explain
        a candidate (or engine) whose every finding is shown, with the facts behind it.
    all
        show every engine in the terminal, also where the workload names its candidates.
    json
        print the table as one JSON document.
    """
    from seatrial.gate.what_if import changed

    console = Console(as_json=json)
    spec, base, traffic = _question(workload, model, gpu, count, engine, context, concurrency)
    spec = _on_disk(changed(spec, what_if or []), base, console)
    table = _judged(spec, base, traffic)
    console.document(table)
    if explain:
        _explain(console, table, explain)
        _turning(console, table, explain, spec, base, traffic)
    else:
        _show(console, table, everything=all)
    return exit_code(table)


def exit_code(table: GateTable) -> int:
    """0: one may serve. 1: all are out. 3: only unknown or conditional ones remain. Judged over
    the candidates; over the whole landscape where none is named."""
    named = [r for r in table.candidates if r.role in ("candidate", "reference")]
    rows = named or [r for r in table.candidates if r.role != "study"]
    verdicts = {r.verdict.value for r in rows}
    if verdicts & set(PASSES):
        return 0
    return 3 if verdicts & {"unknown", "conditional"} else 1


def _question(
    path: Path | None,
    model: str | None,
    gpu: str | None,
    count: int,
    engines: list[str] | None,
    context: int | None,
    concurrency: int | None,
) -> tuple[Workload, Path, Fingerprint | None]:
    from seatrial import workload as stage
    from seatrial.core.errors import UsageError
    from seatrial.gate.short import workload as short

    if path is not None and model is not None:
        raise UsageError(
            "both a workload file and --model were given",
            where="seatrial gate",
            remedy="give one of them; --what-if model=PATH changes the file's model",
        )
    if path is None:
        if model is None:
            raise UsageError(
                "no question was asked",
                where="seatrial gate",
                remedy="seatrial gate WORKLOAD, or seatrial gate --model PATH --gpu NAME",
            )
        spec = short(
            model,
            gpu=gpu,
            count=count,
            engines=engines or [],
            context=context,
            concurrency=concurrency,
        )
        return spec, Path.cwd(), None
    extra = {"gpu": gpu, "engine": engines, "context": context, "concurrency": concurrency}
    extra |= {"count": count if count != 1 else None}
    given = [f"--{name}" for name, value in extra.items() if value]
    if given:
        raise UsageError(
            f"a workload file and {', '.join(given)} were given: the file says that already",
            where="seatrial gate",
            remedy="--what-if gpu=l4, --what-if context_tokens=65536 ... change what it says",
        )
    loaded = stage.load(path)
    traffic = None
    if loaded.spec.traffic is not None and loaded.spec.traffic.trace is not None:
        traffic = stage.fingerprint(stage.resolve_traffic(loaded).table)
    return loaded.spec, path.resolve().parent, traffic


def _on_disk(spec: Workload, base: Path, console: Console) -> Workload:
    """The workload with a hub id replaced by the folder that holds that model here, or by one
    that describes it (headers from the hub)."""
    import msgspec

    from seatrial.model import hub, place

    if not place.is_hub_id(spec.model.path, base):
        return spec
    folder = place.located(spec.model.path, base, spec.model.revision) or hub.fetch(
        spec.model.path, spec.model.revision, progress=console.progress
    )
    return msgspec.structs.replace(
        spec, model=msgspec.structs.replace(spec.model, path=str(folder))
    )


def _judged(spec: Workload, base: Path, traffic: Fingerprint | None) -> GateTable:
    from seatrial import facts, hardware
    from seatrial import gate as stage
    from seatrial.engines import installed

    return stage.run(
        spec,
        base_dir=base,
        fingerprint=traffic,
        facts=facts.load(),
        host=hardware.detect(),
        installed=installed(),
    )


def _show(console: Console, table: GateTable, *, everything: bool) -> None:
    named = [r for r in table.candidates if r.role != "landscape"]
    rest = [r for r in table.candidates if r.role == "landscape"]
    _table(console, named or rest)
    if named and rest:
        if everything:
            console.line()
            console.title("every other engine known, at its newest version")
            _table(console, rest)
        else:
            console.note(f"{len(rest)} more engines were judged: --all shows them")
    ordered = sorted((r for r in named or rest if r.order), key=lambda r: r.order or 0)
    if ordered:
        names = ", ".join(r.candidate for r in ordered)
        console.line(f"order of trials (a prior, no verdict): {names}")
    console.note("next: seatrial gate ... --explain CANDIDATE shows every finding and its facts")


def _table(console: Console, rows: list[GateRow]) -> None:
    columns = ("candidate", "verdict", "constraint", "why", "what would turn it")
    body = []
    for row in rows:
        first = row.reasons[0] if row.reasons else None
        passed = row.verdict.value == "feasible"
        body.append(
            (
                row.candidate,
                row.verdict.value,
                "" if passed or first is None else first.constraint,
                _why(row, first),
                "" if first is None else _turn(first),
            )
        )
    console.table(columns, body)


def _why(row: GateRow, first: Reason | None) -> str:
    if first is None:
        return "nothing was checked"
    if row.verdict.value == "feasible":
        return f"{len(row.reasons)} constraints hold"
    more = sum(1 for r in row.reasons if r.verdict == row.verdict) - 1
    return first.says + (f" (+{more} more)" if more else "")


def _turn(reason: Reason) -> str:
    if reason.probe and reason.verdict.value == "unknown":
        return f"{reason.probe.command} (about {reason.probe.minutes:g} min)"
    return reason.remedy


def _explain(console: Console, table: GateTable, name: str) -> None:
    from seatrial import facts
    from seatrial.core.errors import UsageError

    rows = [r for r in table.candidates if name in (r.candidate, r.engine)]
    if not rows:
        known = ", ".join(r.candidate for r in table.candidates)
        raise UsageError(f"no candidate called {name}", where="--explain", remedy=f"one of {known}")
    store = facts.load()
    for row in rows:
        console.title(f"{row.candidate}: {row.verdict.value}")
        for reason in row.reasons:
            console.line(
                f"{reason.verdict.value:>12}  {reason.constraint}: {reason.says}",
                style=reason.verdict.value,
            )
            if reason.remedy and reason.verdict.value != "feasible":
                console.line(f"{'':>14}do: {reason.remedy}")
            if reason.probe:
                console.line(f"{'':>14}settle it: {reason.probe.command}")
            for fact_id in reason.facts:
                fact = store.resolve(fact_id)
                if fact is not None:
                    console.line(
                        f"{'':>14}fact: {fact.source.artefact} {fact.source.member}"
                        f" (read {fact.verified_on}, expires {fact.expires})"
                    )
        console.line()


def _turning(
    console: Console,
    table: GateTable,
    name: str,
    spec: Workload,
    base: Path,
    traffic: Fingerprint | None,
) -> None:
    """Single changes that would let the explained candidates serve, tried with the gate itself."""
    import msgspec

    from seatrial import facts, hardware
    from seatrial.engines import installed
    from seatrial.gate.turns import turns
    from seatrial.workload.spec import CandidateSpec

    named: dict[str, CandidateSpec] = {c.engine: c for c in spec.candidates or []}
    for row in table.candidates:
        if name not in (row.candidate, row.engine) or row.verdict.value in PASSES:
            continue
        known = named.get(row.engine) or CandidateSpec(engine=row.engine)  # type: ignore[arg-type]
        found = turns(
            spec,
            msgspec.structs.replace(known, version=row.version),
            base_dir=base,
            fingerprint=traffic,
            facts=facts.load(),
            host=hardware.detect(),
            installed=installed(),
        )
        words = ", ".join(f"{t.change} ({t.verdict.value})" for t in found)
        console.line(
            f"{row.candidate} would pass with one change: {words or 'none of those tried'}"
        )
