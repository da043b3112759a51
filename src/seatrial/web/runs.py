"""Starting a run from the form, and following its end.

A run is ``seatrial run`` as a process of its own: the pages share nothing with a load generator,
and a run outlives the pages (the same command resumes it either way). One run at a time: a second
one would be measured through the first one's noise. The workload's text is written beside the
trials, so that its relative paths lead where the gate's answer looked; nothing outside the trials
folder can be named.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import msgspec

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.dossier.escape import visible
from seatrial.store import write_bytes
from seatrial.web import trials
from seatrial.web.question import MAX_TEXT_BYTES, confined, plain_candidates

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
LOGS = ".runs"
KEPT = 50
TAIL_BYTES = 4_000


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends: the trial's name and the workload's text (YAML)."""

    name: str
    workload: str


class Run(msgspec.Struct, kw_only=True):
    """A run that was started here; ``exit_code`` is None while it goes on, times in ns (UTC)."""

    name: str
    pid: int
    started_ns: int
    ended_ns: int | None = None
    exit_code: int | None = None
    says: str = ""


class Runs:
    """The runs that this application has started over one folder of trials."""

    def __init__(self, root: Path, *, command: tuple[str, ...] | None = None) -> None:
        """``command`` is what stands before ``run WORKLOAD``; seatrial itself unless given."""
        self.root = root
        self._command = command or (sys.executable, "-m", "seatrial")
        self._runs: deque[Run] = deque(maxlen=KEPT)
        self._lock = Lock()

    def listed(self) -> list[Run]:
        """Every run started here, the latest first."""
        with self._lock:
            return [msgspec.structs.replace(run) for run in reversed(self._runs)]

    def start(self, raw: bytes) -> Run:
        """Start the run that ``raw`` (JSON of ``Wanted``) asks for.

        Raises:
            UsageError: the request or the workload has errors, or names a file elsewhere.
            PrerequisiteError: a run is working in this folder already.
        """
        wanted = _wanted(raw)
        spec = plain_candidates(confined(self.root, wanted.workload.encode()))
        folder = self.root / wanted.name
        if spec.name != wanted.name:
            raise UsageError(
                f"the workload is called {visible(spec.name, limit=80)}, the trial {wanted.name}",
                where="the form",
                unchanged="nothing was started",
                remedy="use one name for both",
            )
        if folder.is_symlink():
            raise UsageError(
                "that name is a link",
                where=wanted.name,
                unchanged="nothing was started",
                remedy="take another name",
            )
        with self._lock:
            self._refuse_second()
            file = self.root / f"{wanted.name}.workload.yaml"
            _write_once(file, wanted.workload.encode())
            run, process, log = self._launch(wanted.name, file, folder)
            self._runs.append(run)
        Thread(target=self._follow, args=(run, process, log), daemon=True).start()
        return msgspec.structs.replace(run)

    def _refuse_second(self) -> None:
        busy = [run.name for run in self._runs if run.exit_code is None]
        busy += [
            place.name
            for place in self.root.iterdir()
            if trials.is_trial(place) and trials.holder(place) is not None
        ]
        if busy:
            raise PrerequisiteError(
                f"a run is working already: {busy[0]}",
                where=busy[0],
                unchanged="nothing was started",
                remedy="wait for its end or stop it: two at once would measure each other's noise",
            )

    def _launch(
        self, name: str, file: Path, folder: Path
    ) -> tuple[Run, subprocess.Popen[bytes], Path]:
        log = self.root / LOGS / f"{name}.log"
        log.parent.mkdir(exist_ok=True)
        argv = [*self._command, "run", str(file), "--out", str(folder), "--quiet"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C on the pages is none on the run
            )
        return Run(name=name, pid=process.pid, started_ns=time.time_ns()), process, log

    def _follow(self, run: Run, process: subprocess.Popen[bytes], log: Path) -> None:
        code = process.wait()
        says = _tail(log)
        with self._lock:
            run.ended_ns, run.says, run.exit_code = time.time_ns(), says, code


def _wanted(raw: bytes) -> Wanted:
    refused = "the request is not what the form sends"
    try:
        if len(raw) > 2 * MAX_TEXT_BYTES:
            raise ValueError("it is too long")
        wanted = msgspec.json.decode(raw, type=Wanted)
        if not NAME.fullmatch(wanted.name):
            raise ValueError("a name is of a-z, 0-9, dot, dash, underline, at most 63 of them")
    except ValueError as error:
        raise UsageError(
            f"{refused}: {visible(str(error), limit=200)}",
            where="the form",
            unchanged="nothing was started",
            remedy="mend the field and start again",
        ) from error
    return wanted


def _write_once(file: Path, text: bytes) -> None:
    """The workload's file; one that is there must hold the same, or it is not ours to change."""
    if file.is_symlink() or (file.exists() and file.read_bytes() != text):
        raise UsageError(
            "a workload of this name is there already, with another text",
            where=file.name,
            unchanged="nothing was started",
            remedy="take another name",
        )
    if not file.exists():
        write_bytes(file, text)


def _tail(log: Path) -> str:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        text = file.read(TAIL_BYTES).decode("utf-8", errors="replace")
    return "\n".join(visible(line, limit=300) for line in text.splitlines()[-20:])


def described(root: Path, runs: Runs) -> dict[str, Any]:
    """The twin of the form's page: the schema of what it writes, inputs, and the runs so far."""
    from seatrial.workload import schema

    published = (schema.FOLDER / "workload-1.json").read_bytes()
    return {
        "schema": "seatrial/web-new/1",
        "workload_schema": msgspec.json.decode(published),
        "inputs": trials.inputs(root),
        "runs": runs.listed(),
    }
