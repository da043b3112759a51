"""The registry of running engines: found, named, stopped; reused pids are not mistaken."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec
import psutil
import pytest

from seatrial.engines import leftovers


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path))


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def _entry(pid: int, *, owner: int | None = None, detached: bool = False) -> leftovers.Running:
    return leftovers.Running(
        schema=leftovers.SCHEMA,
        engine="llama.cpp",
        version="1",
        model="m",
        base_url="http://127.0.0.1:1",
        log="",
        started_at="",
        pid=pid,
        created=psutil.Process(pid).create_time(),
        keeper_pid=0,
        owner_pid=owner or os.getpid(),
        owner_created=leftovers.own_created() if owner is None else 0.0,
        detached=detached,
    )


def test_an_engine_whose_seatrial_is_gone_is_stopped_and_named(
    sleeper: subprocess.Popen[bytes],
) -> None:
    leftovers.note(_entry(sleeper.pid, owner=2**22 - 1))
    stopped = leftovers.sweep(grace_s=2.0)
    assert [s.pid for s in stopped] == [sleeper.pid]
    assert not leftovers.same_process(sleeper.pid, stopped[0].created)
    assert leftovers.running() == []


@pytest.mark.parametrize("detached", [True, False])
def test_engines_of_the_living_and_detached_ones_are_left_alone(
    sleeper: subprocess.Popen[bytes], detached: bool
) -> None:
    leftovers.note(_entry(sleeper.pid, owner=2**22 - 1 if detached else None, detached=detached))
    assert leftovers.sweep() == []
    assert [r.pid for r in leftovers.running()] == [sleeper.pid]


def test_a_reused_pid_is_not_the_engine(sleeper: subprocess.Popen[bytes]) -> None:
    entry = msgspec.structs.replace(_entry(sleeper.pid, owner=2**22 - 1), created=time.time() - 999)
    leftovers.note(entry)
    assert leftovers.sweep() == []
    assert sleeper.poll() is None
    assert list(leftovers.folder().glob("*.json")) == []


def test_a_damaged_note_is_removed() -> None:
    leftovers.folder().mkdir(parents=True)
    (leftovers.folder() / "1-1.json").write_text("{")
    assert leftovers.running() == []
    assert list(leftovers.folder().iterdir()) == []
