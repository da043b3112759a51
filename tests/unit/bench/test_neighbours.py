from __future__ import annotations

import subprocess
import sys
import types

import msgspec
import pytest

from seatrial.bench import neighbours
from seatrial.bench.listener import find
from seatrial.telemetry import Noise, Sampler


def _telemetry(share: float | None, *, gpus: int = 0) -> object:
    row = types.SimpleNamespace(gpus=[object()] * gpus)
    noise = Noise(steal_share=0.0, others_share=share)
    return types.SimpleNamespace(rows=[row], noise=lambda: noise)


@pytest.mark.parametrize(
    ("share", "gpus", "local", "void"),
    [
        (0.80, 0, True, True),
        (0.36, 0, True, True),
        (0.35, 0, True, False),
        (None, 0, True, False),
        (0.80, 1, True, False),  # the engine computes on a GPU: the client judges itself
        (0.80, 0, False, False),  # it runs elsewhere: this machine's load is not its load
    ],
)
def test_a_cell_on_cpus_that_others_use_is_not_valid(
    share: float | None, gpus: int, local: bool, void: bool
) -> None:
    found = neighbours.reasons(_telemetry(share, gpus=gpus), local=local)  # type: ignore[arg-type]
    assert bool(found) is void
    assert all("other processes used" in reason for reason in found)


def test_a_busy_server_that_someone_else_started_is_not_its_own_neighbour() -> None:
    """A server's CPU time counts as the engine's when its process is found."""
    code = (
        "import http.server, sys, time\n"
        "server = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\n"
        "print(server.server_port, flush=True)\n"
        "sys.stdin.readline()\n"
        "while time.process_time() < 1.2: pass\n"
        "print('done', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(server.stdout.readline())
        with Sampler(find(f"http://127.0.0.1:{port}").pid) as sampler:
            server.stdin.write(b"go\n")
            server.stdin.flush()
            server.stdout.readline()
        server.stdin.close()
    told = sampler.result()
    assert told.resources()["cpu_s"] > 0.5
    with_engine = told.noise().others_share
    blind = [msgspec.structs.replace(row, tree=None) for row in told.rows]
    without = msgspec.structs.replace(told, rows=blind).noise().others_share
    assert with_engine is not None
    assert without is not None
    assert without > with_engine
