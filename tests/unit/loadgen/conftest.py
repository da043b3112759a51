"""The mock engine as a process, and short ways to run a load against it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from seatrial.loadgen.body import BodyStyle, Sampling, make_body
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.run import Run, execute, planned


class Mock:
    """A running mock engine."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "seatrial.mock", *options], stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.port = int(self.url.rsplit(":", 1)[1])

    def truth(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(self.url + "/truth", timeout=10) as answer:
            return [json.loads(line) for line in answer]

    def metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.split() for line in lines)}

    def target(self, route: str = "chat", **more: Any) -> Target:
        paths = {
            "chat": "/v1/chat/completions",
            "completions": "/v1/completions",
            "responses": "/v1/responses",
            "ollama": "/api/chat",
        }
        return Target(host="127.0.0.1", port=self.port, path=paths[route], route=route, **more)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture
def mock() -> Iterator[Callable[..., Mock]]:
    started: list[Mock] = []

    def start(*options: str) -> Mock:
        started.append(Mock(*options))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def bodies(
    n: int, tokens: int = 5, route: str = "chat", stream: bool = True, **features: Any
) -> list[bytes]:
    style = BodyStyle(route=route)
    out = []
    for i in range(n):
        text = f"number {i}"
        said: Any = text if route == "completions" else [{"role": "user", "content": text}]
        out.append(
            make_body("mock", said, tokens, Sampling(), style, stream=stream, features=features)
        )
    return out


@pytest.fixture
def make_bodies() -> Callable[..., list[bytes]]:
    """Request bodies as ``drive`` makes them."""
    return bodies


@pytest.fixture(params=["plain", pytest.param("compiled", marks=pytest.mark.slow)])
def drive(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """Send ``n`` requests of ``tokens`` output tokens to a mock engine and read the answers."""

    def run(
        mock: Mock,
        n: int = 8,
        *,
        tokens: int = 5,
        route: str = "chat",
        workers: int = 1,
        load: Load | None = None,
        stream: bool = True,
        features: dict[str, Any] | None = None,
        own_bodies: list[bytes] | None = None,
        keep_text: bool = False,
        target: Target | None = None,
        **columns: Any,
    ) -> Run:
        columns.setdefault("scheduled_ns", np.arange(n, dtype=np.int64) * 2_000_000)
        columns.setdefault("output_tokens", np.full(n, tokens, np.int64))
        plan = planned(
            own_bodies or bodies(n, tokens, route, stream, **(features or {})), n, **columns
        )
        load = load or Load(connections=2, stall_ns=500_000_000)
        load = msgspec.structs.replace(load, reader=request.param)
        return execute(
            plan, target or mock.target(route), load, seed=1, workers=workers, keep_text=keep_text
        )

    return run


@pytest.fixture
def tls_files(tmp_path: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key
