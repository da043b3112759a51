"""Ctrl-C or a closed terminal: a clean end, engines stopped, exit 130; running again goes on."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

Run = Callable[..., subprocess.Popen[str]]
pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_the_engine_and_exits_130(
    tmp_path: Path, small_workload: Path, seatrial: Run, number: signal.Signals
) -> None:
    process = seatrial("run", small_workload, "--out", tmp_path / "trial")
    events = tmp_path / "trial" / "events.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if events.exists() and b"starting the engine" in events.read_bytes():
            break
        time.sleep(0.05)
    time.sleep(1.0)
    children = psutil.Process(process.pid).children(recursive=True)
    assert children, "no engine was running when the interrupt came"
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted" in err
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert list((tmp_path / "trial").rglob("*.tmp")) == []
    assert list((tmp_path / "temporary").iterdir()) == []
