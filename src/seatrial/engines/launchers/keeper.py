"""The keeper: a small process between seatrial and an engine, so that no engine outlives it.

Run as ``python -I -S keeper.py`` by ``process.spawn``; imports the standard library only. Its
stdin is a pipe whose other end seatrial holds: when seatrial ends, however it ends (kill -9
too), the pipe closes and the keeper stops the engine and everything the engine started. The
engine in turn dies with the keeper (PR_SET_PDEATHSIG), and processes that an engine orphans are
adopted by the keeper (PR_SET_CHILD_SUBREAPER) and ended with it.

A process of its own, because PR_SET_PDEATHSIG follows the *thread* that forked: set by seatrial
itself, it would kill an engine whose starting thread has ended.

stdin, first line: {"argv", "env", "log", "cwd", "cpus", "cgroup_procs",
"grace_s", "detached", "after"}. stdout: one line
{"pid", "ns"} after the start and one {"exit", "signal", "ns"} at the end; ns is monotonic.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the lifeline alone has to do."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def say(**fields: Any) -> None:
    """One line to seatrial; if nobody listens any more that is all right."""
    with suppress(OSError):
        os.write(1, json.dumps(fields).encode() + b"\n")


def read_order() -> dict[str, Any]:
    """The first line of stdin, unbuffered so that the lifeline stays readable."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(1)
        line += piece
    order: dict[str, Any] = json.loads(line)
    return order


def spawn(order: dict[str, Any]) -> int:
    """Fork and exec the engine in a process group of its own; returns its pid.

    Returns when the exec has happened (that closes the pipe): from then on the engine dies with
    this keeper.
    """
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    executed, write_end = os.pipe()
    keeper = os.getpid()
    pid = os.fork()
    if pid:
        for end in (log, null, write_end):
            os.close(end)
        os.read(executed, 1)
        os.close(executed)
        return pid
    try:
        become_engine(order, log, null, keeper)
    except OSError as error:
        os.write(2, f"seatrial: cannot run {order['argv'][0]}: {error.strerror}\n".encode())
    os._exit(127)


def become_engine(order: dict[str, Any], log: int, null: int, keeper: int) -> None:
    """In the child: own group, default signals, log as output, then exec."""
    os.setpgid(0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:  # it died before the line above
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if order.get("cwd"):
        os.chdir(order["cwd"])
    if order.get("cgroup_procs"):
        Path(order["cgroup_procs"]).write_text(str(os.getpid()))
    if order.get("cpus"):
        os.sched_setaffinity(0, order["cpus"])
    os.execvpe(order["argv"][0], order["argv"], order["env"])


def children() -> list[int]:
    """Pids whose parent is this keeper: the engine, and what it orphaned."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            if int(stat.read_bytes().rpartition(b")")[2].split()[1]) == os.getpid():
                found.append(int(stat.parent.name))
    return found


def signal_engine(pid: int, number: int, *, group: bool) -> None:
    """Send a signal to the engine, or to its whole group."""
    with suppress(OSError):
        (os.killpg if group else os.kill)(pid, number)


def finish(pid: int) -> None:
    """Kill what is left of the engine's group and of the orphans it left behind."""
    signal_engine(pid, signal.SIGKILL, group=True)
    for _ in range(50):
        left = children()
        for child in left:
            signal_engine(child, signal.SIGKILL, group=False)
            with suppress(OSError):
                os.waitpid(child, os.WNOHANG)
        if not left:
            return
        time.sleep(0.02)


def clean_up(order: dict[str, Any]) -> None:
    """Run the order's last command, output to the log; it gets 20 s."""
    if not order.get("after"):
        return
    with suppress(OSError, subprocess.SubprocessError), Path(order["log"]).open("ab") as log:
        subprocess.run(
            order["after"], env=order["env"], stdout=log, stderr=log, timeout=20, check=False
        )


def watch(pid: int, order: dict[str, Any], wakeup: int) -> int:
    """Until the engine ends; returns its wait status. Stops it when seatrial is gone."""
    deadline: float | None = None
    lifeline = not order.get("detached")
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        wait = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = select.select([wakeup] + ([0] if lifeline else []), [], [], wait)[0]
        asked = wakeup in ready and bool(set(os.read(wakeup, 64)) & set(STOP_SIGNALS))
        if lifeline and 0 in ready and not os.read(0, 64):
            lifeline, asked = False, True
        if asked:
            signal_engine(pid, signal.SIGTERM, group=False)
            signal_engine(pid, signal.SIGCONT, group=True)
            deadline = deadline or time.monotonic() + order["grace_s"]
        if deadline is not None and time.monotonic() >= deadline:
            signal_engine(pid, signal.SIGKILL, group=True)
            deadline = None


def main() -> None:
    """Read the order, start, watch, clean up, report."""
    with suppress(OSError):
        os.setsid()
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    order = read_order()
    wakeup, write_end = os.pipe()
    for end in (wakeup, write_end):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (*STOP_SIGNALS, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    started = time.monotonic_ns()
    pid = spawn(order)
    say(pid=pid, ns=started)
    status = watch(pid, order, wakeup)
    ended = time.monotonic_ns()
    finish(pid)
    clean_up(order)
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    killer = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    say(exit=code, signal=killer, ns=ended)


if __name__ == "__main__":
    main()
