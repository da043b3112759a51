"""Processes behind a keeper: they end as asked, and never outlive seatrial."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from seatrial.engines.process import spawn

STUBBORN = (
    "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', flush=True)\ntime.sleep(60)"
)
WITH_CHILD = (
    "import subprocess,sys,time\n"
    "sleep = [sys.executable, '-c', 'import time; time.sleep(60)']\n"
    "p = subprocess.Popen(sleep, start_new_session=True)\n"
    "print(p.pid, flush=True)\ntime.sleep(60)"
)
OWNER = """
import sys, time
from pathlib import Path
from seatrial.engines.process import spawn
import os
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
p = spawn(sleep, env=dict(os.environ), log=Path(sys.argv[1]))
print(p.pid, p.keeper_pid, flush=True)
time.sleep(60)
"""


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def _until(condition: object, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_output_goes_to_the_log_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = spawn(
        _python("import sys; print('hello'); print('err', file=sys.stderr); sys.exit(7)"),
        env=dict(os.environ),
        log=log,
    )
    ended = process.wait(20)
    assert ended is not None
    assert ended.code == 7
    assert str(ended) == "exit code 7"
    assert {"hello", "err"} <= set(log.read_text().split())
    assert process.stop().code == 7


def test_a_program_that_does_not_exist_says_so_in_the_log(tmp_path: Path) -> None:
    process = spawn(["no-such-engine"], env=dict(os.environ), log=tmp_path / "log")
    ended = process.wait(20)
    assert ended is not None
    assert ended.code == 127
    assert "cannot run no-such-engine" in (tmp_path / "log").read_text()


def test_one_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = spawn(_python(STUBBORN), env=dict(os.environ), log=log)
    assert _until(lambda: log.exists() and "up" in log.read_text())
    began = time.monotonic()
    ended = process.stop(grace_s=0.3)
    assert ended.signal == signal.SIGKILL
    assert 0.3 <= time.monotonic() - began < 5


def test_what_the_engine_started_ends_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = spawn(_python(WITH_CHILD), env=dict(os.environ), log=log)
    assert _until(lambda: log.exists() and log.read_text().strip())
    child = int(log.read_text())
    process.signal(signal.SIGKILL)
    assert process.wait(10) is not None
    assert _until(lambda: _gone(child))


@pytest.mark.parametrize("victim", ["owner", "keeper"])
def test_kill_9_of_seatrial_or_its_keeper_ends_the_engine(tmp_path: Path, victim: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "log")], stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    pid, keeper = map(int, owner.stdout.readline().split())
    assert not _gone(pid)
    try:
        os.kill(owner.pid if victim == "owner" else keeper, signal.SIGKILL)
        assert _until(lambda: _gone(pid) and _gone(keeper))
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()


def test_a_killed_keeper_is_told_as_a_killed_engine(tmp_path: Path) -> None:
    process = spawn(
        _python("import time; time.sleep(60)"), env=dict(os.environ), log=tmp_path / "log"
    )
    os.kill(process.keeper_pid, signal.SIGKILL)
    ended = process.wait(10)
    assert ended is not None
    assert ended.signal == signal.SIGKILL


def test_cpus_can_be_pinned(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import os, json; print(json.dumps(sorted(os.sched_getaffinity(0))))"
    one = sorted(os.sched_getaffinity(0))[:1]
    process = spawn(_python(code), env=dict(os.environ), log=log, cpus=one)
    assert process.wait(20) is not None
    assert json.loads(log.read_text()) == one
