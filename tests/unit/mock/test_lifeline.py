from __future__ import annotations

import subprocess
import sys


def test_the_mock_ends_when_whoever_started_it_is_gone() -> None:
    command = [sys.executable, "-m", "seatrial.mock", "--lifeline"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            assert b"url" in process.stdout.readline()
            assert process.poll() is None
            process.stdin.close()
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
