"""The trials in a folder as pages show them: what is finished, what is running, how far it is.

Only small files are read: cell.json, decision.json, the ends of logs. A trial of a million
requests opens as fast as one of ten.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import msgspec
import psutil

from seatrial.bench.cell import Cell
from seatrial.core.errors import SeatrialError
from seatrial.dossier.escape import visible
from seatrial.dossier.trial import cells, document
from seatrial.web.guard import inside

MARKERS = ("workload.yaml", "gate.json")
LOG_TAIL_BYTES = 16_384
EVENT_LINE_BYTES = 65_536
MAX_TRIALS = 500
MAX_INPUTS = 200
TRACES = (".csv", ".jsonl", ".json", ".parquet", ".log")


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of events.jsonl."""

    seq: int
    t_ns: int
    stage: str
    text: str


class TrialLine(msgspec.Struct, frozen=True, kw_only=True):
    """One trial in the list; ``state`` is running, finished, stopped or damaged."""

    name: str
    state: str
    outcome: str
    selected: str
    cells: int
    planned: int | None
    changed_ns: int
    stage: str
    candidates: list[str]


class CellLine(msgspec.Struct, frozen=True, kw_only=True):
    """One finished cell, in a few numbers; ms."""

    candidate: str
    start: int
    valid: bool
    because: str
    offered: int
    completed: int
    ttft_p95_ms: float | None
    tpot_p95_ms: float | None
    goodput: float | None
    duration_s: float


def is_trial(folder: Path) -> bool:
    """Whether a folder holds a trial."""
    return folder.is_dir() and any((folder / name).is_file() for name in MARKERS)


def listed(root: Path) -> list[TrialLine]:
    """Every trial directly in ``root``, the latest first."""
    found = [p for p in sorted(root.iterdir()) if not p.name.startswith(".") and is_trial(p)]
    lines = [line(folder) for folder in found[:MAX_TRIALS]]
    return sorted(lines, key=lambda entry: -entry.changed_ns)


def line(folder: Path) -> TrialLine:
    """One trial's line; a damaged one says so and breaks nothing."""
    decision: dict[str, Any] = {}
    plan: dict[str, Any] = {}
    damaged = False
    for name, target in (("decision.json", decision), ("plan.json", plan)):
        try:
            target.update(document(folder / name) or {})
        except SeatrialError:
            damaged = True
    last = events(folder, after=-1)[-1:]
    planned = plan.get("cells")
    running = holder(folder) is not None
    finished = bool(decision)
    state = "running" if running else "finished" if finished else "stopped"
    return TrialLine(
        name=folder.name,
        state="damaged" if damaged else state,
        outcome=visible(str(decision.get("outcome") or "")),
        selected=visible(str(decision.get("selected") or "")),
        cells=sum(1 for _ in folder.glob("cells/*/*/cell.json")),
        planned=len(planned) if isinstance(planned, list) else None,
        changed_ns=last[0].t_ns if last else folder.stat().st_mtime_ns,
        stage=last[0].stage if last else "",
        candidates=sorted(p.name for p in folder.glob("cells/*") if not p.name.startswith(".")),
    )


def inputs(root: Path) -> dict[str, list[str]]:
    """What a form may name: request logs and models in ``root``, outside of its trials.

    Three levels deep and ``MAX_INPUTS`` of each at most; links are left out.
    """
    found: dict[str, list[str]] = {"traces": [], "models": []}
    places = [(root, 0)]
    while places:
        place, depth = places.pop()
        for path in sorted(place.iterdir()):
            if path.name.startswith(".") or path.is_symlink():
                continue
            name = str(path.relative_to(root))
            if path.is_dir():
                if (path / "config.json").is_file():
                    found["models"].append(name)
                elif depth < 2 and not is_trial(path):
                    places.append((path, depth + 1))
            elif path.suffix == ".gguf":
                found["models"].append(name)
            elif path.name.removesuffix(".gz").endswith(TRACES):
                found["traces"].append(name)
    return {kind: names[:MAX_INPUTS] for kind, names in found.items()}


def holder(folder: Path) -> int | None:
    """Process id of the run that works on this trial; None when there is none.

    The lock itself is not touched: taking it, if only for a moment, could refuse a run.
    """
    try:
        text = (folder / ".lock").read_bytes()[:20].decode("ascii").strip()
        pid = int(text)
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        words = " ".join(process.cmdline())
    except (OSError, ValueError, psutil.Error):
        return None
    return pid if "seatrial" in words else None


def events(folder: Path, *, after: int, limit: int = 2_000) -> list[Event]:
    """Events with a number above ``after``, at most the last ``limit``; half lines wait."""
    try:
        data = (folder / "events.jsonl").read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for raw in data[: data.rfind(b"\n") + 1].splitlines()[-limit:]:
        if len(raw) > EVENT_LINE_BYTES:
            continue
        with contextlib.suppress(msgspec.DecodeError):
            event = msgspec.json.decode(raw, type=Event)
            if event.seq > after:
                found.append(
                    msgspec.structs.replace(
                        event, stage=visible(event.stage, limit=40), text=visible(event.text)
                    )
                )
    return found


def cell_lines(folder: Path) -> list[CellLine]:
    """The finished cells."""
    return [_cell(cell) for cell in cells(folder)]


def _cell(cell: Cell) -> CellLine:
    return CellLine(
        candidate=visible(cell.candidate),
        start=cell.start,
        valid=cell.valid,
        because=visible("; ".join(cell.invalid_because)),
        offered=cell.requests.offered,
        completed=cell.requests.completed,
        ttft_p95_ms=cell.ttft_ms.p95,
        tpot_p95_ms=cell.tpot_ms.p95,
        goodput=cell.goodput,
        duration_s=cell.duration_s,
    )


def open_cell(folder: Path) -> Path | None:
    """The folder of the cell that is being measured now (its name is still hidden)."""
    found = [p for p in folder.glob("cells/*/.*.tmp") if p.is_dir()]
    return max(found, key=lambda p: p.stat().st_mtime_ns, default=None)


def log_tail(folder: Path, *, candidate: str | None = None, start: int | None = None) -> str:
    """The end of an engine's log: of the cell named, else of the one measured now.

    Control and bidi characters are made visible; a cut first line is dropped.
    """
    if candidate is None or start is None:
        place = open_cell(folder)
        if place is None:
            return ""
    else:
        place = inside(folder, f"cells/{candidate}/{start:03d}")
    path = place / "engine.log"
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LOG_TAIL_BYTES))
            text = file.read(LOG_TAIL_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    if size > LOG_TAIL_BYTES:
        text = text.partition("\n")[2]
    return "\n".join(visible(row, limit=500) for row in text.splitlines())


def fresh_key(folder: Path) -> tuple[tuple[str, int], ...]:
    """What a cached view of a trial depends on: names and times of its artefacts."""
    names = [*folder.glob("*.json"), *folder.glob("cells/*/*/cell.json"), *folder.glob("*/*.json")]
    own = ("dossier.", "manifest.")
    return tuple(
        sorted(
            (str(p.relative_to(folder)), p.stat().st_mtime_ns)
            for p in names
            if not p.name.startswith((*own, "."))
        )
    )
