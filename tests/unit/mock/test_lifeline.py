from __future__ import annotations

import subprocess
import sys
import time


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


def test_the_mock_ends_in_silence_while_the_lifeline_holds() -> None:
    command = [sys.executable, "-m", "seatrial.mock", "--lifeline"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert b"url" in process.stdout.readline()
            time.sleep(0.3)  # it says its address before it listens to signals
            process.terminate()
            assert process.wait(timeout=30) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()
