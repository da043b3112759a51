"""An engine as a process: started behind a keeper, signalled, waited for, stopped for good."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from seatrial.core.errors import EngineError

KEEPER = Path(__file__).with_name("launchers") / "keeper.py"
ORPHAN_GRACE_S = 5.0
"""What an engine gets between SIGTERM and SIGKILL when seatrial itself is gone."""


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine ended: ``code`` or ``signal`` (one is None), and when (monotonic ns)."""

    code: int | None
    signal: int | None
    ns: int

    def __str__(self) -> str:
        if self.signal is not None:
            return f"killed by {signal.Signals(self.signal).name}"
        return f"exit code {self.code}"


class Process:
    """One running engine process (and all it starts). Made by ``spawn``."""

    def __init__(self, keeper: subprocess.Popen[bytes], pid: int, started_ns: int) -> None:
        self.pid = pid
        self.started_ns = started_ns
        self.keeper_pid = keeper.pid
        self.created = _create_time(pid)
        self._keeper = keeper
        self._exit: Exit | None = None

    def poll(self) -> Exit | None:
        """How it ended, or None while it runs."""
        return self.wait(0.0)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait for the end; None when it still runs after ``timeout_s``."""
        if self._exit is None:
            line = _line(self._keeper, timeout_s)
            if line is not None:
                self._exit = _exit_of(line)
                self._close()
        return self._exit

    def signal(self, number: int) -> None:
        """Send a signal to the engine's main process, as an init or a kubelet would."""
        if self.poll() is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def signal_all(self, number: int) -> None:
        """Send a signal to the engine's whole process group."""
        if self.poll() is None:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return

    def stop(self, grace_s: float = 10.0) -> Exit:
        """SIGTERM, up to ``grace_s`` seconds, then SIGKILL for the whole group; idempotent."""
        self.signal(signal.SIGTERM)
        ended = self.wait(grace_s)
        if ended is None:
            self.signal_all(signal.SIGCONT)
            self.signal_all(signal.SIGKILL)
            ended = self.wait(10.0)
        if ended is None:  # unkillable (state D): let the keeper go on trying
            raise EngineError(
                f"process {self.pid} did not end after SIGKILL",
                where=f"pid {self.pid}",
                unchanged="its files",
                remedy="it is waiting in the kernel (a driver or a disk); see dmesg",
            )
        return ended

    def _close(self) -> None:
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            if pipe:
                pipe.close()
        self._keeper.wait()


def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    log: Path,
    cwd: Path | None = None,
    cpus: Sequence[int] | None = None,
    cgroup_procs: str | None = None,
    detached: bool = False,
    after: Sequence[str] = (),
) -> Process:
    """Start ``argv`` behind a keeper, output appended to ``log``.

    ``detached``: it goes on when seatrial ends (``seatrial engines start``). ``after`` is a
    command that the keeper runs when the engine has ended.

    Raises:
        EngineError: the keeper itself could not start.
    """
    keeper = subprocess.Popen(
        [sys.executable, "-I", "-S", str(KEEPER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    order = {
        "argv": list(argv),
        "env": dict(env),
        "log": str(log),
        "cwd": str(cwd) if cwd else None,
        "cpus": list(cpus) if cpus else None,
        "cgroup_procs": cgroup_procs,
        "grace_s": ORPHAN_GRACE_S,
        "detached": detached,
        "after": list(after),
    }
    line = None
    if keeper.stdin is not None:
        try:
            keeper.stdin.write(msgspec.json.encode(order) + b"\n")
            keeper.stdin.flush()
            line = _line(keeper, 30.0)
        except BrokenPipeError:
            line = None
    if not line or "pid" not in line:
        keeper.kill()
        raise EngineError(
            "the engine's keeper did not start",
            where=str(log),
            remedy="check that the log's folder is writable and that the process limit allows it",
        )
    return Process(keeper, int(line["pid"]), int(line["ns"]))


def _line(keeper: subprocess.Popen[bytes], timeout_s: float | None) -> dict[str, Any] | None:
    """The keeper's next line; {} when it is gone without a word; None on timeout."""
    if keeper.stdout is None or keeper.stdout.closed:
        return {}
    fd, line = keeper.stdout.fileno(), b""
    if not select.select([fd], [], [], timeout_s)[0]:
        return None
    while not line.endswith(b"\n"):
        piece = os.read(fd, 1)
        if not piece:
            return {}
        line += piece
    value: dict[str, Any] = msgspec.json.decode(line)
    return value


def _exit_of(line: dict[str, Any]) -> Exit:
    if "ns" not in line:  # the keeper was killed; the engine died with it
        return Exit(code=None, signal=signal.SIGKILL, ns=time.monotonic_ns())
    return Exit(code=line["exit"], signal=line["signal"], ns=line["ns"])


def _create_time(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0
