"""A real browser, and the made-up trials to look at in it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _load(name: str, path: Path) -> ModuleType:
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


_trials = _load("made_up_trial", ROOT / "tests" / "made_up_trial" / "__init__.py")
_browser = _load("chromium_pipe", ROOT / "tests" / "browser" / "chromium.py")
made_up = _trials.made_up


@pytest.fixture
def make_trial() -> Callable[..., Path]:
    """``make_trial(folder, case, ...)`` writes a trial nobody ran."""
    return _trials.make_trial


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """The browser; a machine without one fails, with the line that installs it."""
    if _browser.find() is None:
        pytest.fail("there is no Chromium: apt-get install chromium", pytrace=False)
    with _browser.Chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: SEATRIAL_PICTURES, else a folder of this run."""
    folder = os.environ.get("SEATRIAL_PICTURES")
    path = Path(folder) if folder else tmp_path_factory.mktemp("pictures")
    path.mkdir(parents=True, exist_ok=True)
    return path
