"""One real llama.cpp for the whole contract suite, and mocks dressed as other engines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seatrial import engines
from seatrial.engines import RunningEngine, Settings
from seatrial.workload.spec import CandidateSpec

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def llamacpp_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of this suite's own in which the installed engine is found."""
    installed = ROOT / ".demo" / "home" / "engines"
    if not installed.is_dir():
        pytest.fail(f"{installed} is missing: run make demo-engine", pytrace=False)
    home = tmp_path_factory.mktemp("contract-home")
    (home / "engines").symlink_to(installed)
    return home


@pytest.fixture
def own_home(llamacpp_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That home, for a test that starts engines itself."""
    monkeypatch.setenv("SEATRIAL_HOME", str(llamacpp_home))
    return llamacpp_home


@pytest.fixture(scope="module")
def real(
    llamacpp_home: Path, small_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningEngine]:
    """llama.cpp, started once a module."""
    before = os.environ["SEATRIAL_HOME"]
    os.environ["SEATRIAL_HOME"] = str(llamacpp_home)
    try:
        with engines.start(
            CandidateSpec(engine="llama.cpp"),
            artefact=small_model,
            settings=Settings(context_tokens=512, concurrency=2, seed=1, prefix_cache=True),
            log=tmp_path_factory.mktemp("log") / "engine.log",
        ) as engine:
            yield engine
    finally:
        os.environ["SEATRIAL_HOME"] = before


Dressed = Callable[..., RunningEngine]


@pytest.fixture
def dressed() -> Iterator[Dressed]:
    """Starts the mock in an engine's dress and attaches to it."""
    started: list[subprocess.Popen[bytes]] = []

    def start(engine: str = "endpoint", *options: str) -> RunningEngine:
        command = [sys.executable, "-m", "seatrial.mock", "--port", "0", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        return engines.attach(url, engine=engine)

    yield start
    for process in started:
        process.terminate()
        process.wait(10)
        assert process.stdout is not None
        process.stdout.close()
