"""Where the real trace files of these tests lie, and small ones of every format."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def _load() -> ModuleType:
    path = Path(__file__).with_name("samples.py")
    spec = importlib.util.spec_from_file_location("trace_samples", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_MODULE = _load()


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """Real trace files; see SOURCES.md there."""
    return Path(__file__).resolve().parents[2] / "data" / "traces"


@pytest.fixture(scope="session")
def secrets() -> tuple[str, ...]:
    """What is planted in the samples and must be in no output."""
    return tuple(_MODULE.SECRETS)


@pytest.fixture(scope="session")
def samples() -> dict[str, tuple[str, str]]:
    """Format id -> (file name, text)."""
    return dict(_MODULE.SAMPLES)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One case per format for tests that take ``format_id``."""
    if "format_id" in metafunc.fixturenames:
        metafunc.parametrize("format_id", list(_MODULE.SAMPLES))


@pytest.fixture
def sample(samples: dict[str, tuple[str, str]], format_id: str, tmp_path: Path) -> Path:
    """The sample of one format as a file."""
    name, text = samples[format_id]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path
