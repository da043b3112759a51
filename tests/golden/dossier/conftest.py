"""The made-up trials, and a day on which dossiers are made."""

from __future__ import annotations

import importlib
import importlib.util
import sys
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
def fixed_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same origin in every dossier."""
    module = importlib.import_module("seatrial.core.provenance")
    monkeypatch.setattr(module, "__version__", "0.0.0")
    monkeypatch.setattr(module, "now_utc", lambda: "2026-11-30T12:00:00+00:00")
