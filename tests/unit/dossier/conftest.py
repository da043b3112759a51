"""The made-up trials, for the tests of this folder."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


def _load() -> ModuleType:
    name = "made_up_trial"
    if name not in sys.modules:
        path = Path(__file__).resolve().parents[2] / name / "__init__.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


made_up = _load().made_up


@pytest.fixture
def make_trial() -> Callable[..., Path]:
    """``make_trial(folder, case, n=..., starts=..., hostile=...)`` writes a trial nobody ran."""
    return _load().make_trial


@pytest.fixture
def evil() -> str:
    """The hostile text that ``hostile=True`` plants."""
    return _load().EVIL
