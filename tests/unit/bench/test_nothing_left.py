"""A load that ended, however it ended, leaves no temporary folder and no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """The temporary folder of the command lines under test."""
    place = tmp_path / "temporary"
    place.mkdir()
    return place


def _bench(room: Path, url: str, requests: int) -> subprocess.Popen[str]:
    words = f"bench --endpoint {url} --concurrency 2 --input-tokens 16 --requests {requests}"
    return subprocess.Popen(
        [sys.executable, "-m", "seatrial", *words.split(), "--output-tokens", "8", "--quiet"],
        env={**os.environ, "TMPDIR": str(room)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _workers(process: subprocess.Popen[str], room: Path) -> list[psutil.Process]:
    """Its processes, once the load itself has begun (single requests come before it)."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        sent = [p for p in room.glob("*/worker-0.spool") if p.stat().st_size]
        if any(p.with_name("columns.bin").stat().st_size > 10_000 for p in sent):
            return psutil.Process(process.pid).children()
        time.sleep(0.05)
    raise AssertionError("no load began")


def test_a_finished_and_a_failed_one_leave_nothing(
    mock_url: Callable[..., str], room: Path
) -> None:
    done = _bench(room, mock_url(), 6)
    assert "Traceback" not in done.communicate(timeout=60)[1]
    assert done.returncode in (0, 5)
    failed = _bench(room, "http://127.0.0.1:9", 6)
    failed.communicate(timeout=60)
    assert failed.returncode == 4
    assert list(room.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_one_leaves_nothing(
    mock_url: Callable[..., str], room: Path, number: signal.Signals
) -> None:
    process = _bench(room, mock_url("--law", "fixed", "--ttft-ms", "20"), 4_000)
    workers = _workers(process, room)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert psutil.wait_procs(workers, timeout=5)[1] == []
    assert list(room.iterdir()) == []


@pytest.mark.slow
def test_a_killed_one_stops_loading_and_the_next_one_cleans_up(
    mock_url: Callable[..., str], room: Path
) -> None:
    url = mock_url("--law", "fixed", "--ttft-ms", "20")
    process = _bench(room, url, 4_000)
    workers = _workers(process, room)
    assert workers
    process.kill()
    process.communicate(timeout=30)
    try:
        assert psutil.wait_procs(workers, timeout=5)[1] == [], "the load went on without anyone"
    finally:
        for worker in workers:
            if worker.is_running():
                worker.kill()
    assert list(room.iterdir()) != []
    _bench(room, url, 4).communicate(timeout=60)
    assert list(room.iterdir()) == []
