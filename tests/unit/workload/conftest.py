"""Where the real trace files of these tests lie."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def traces_dir() -> Path:
    """Real trace files; see SOURCES.md there."""
    return Path(__file__).resolve().parents[2] / "data" / "traces"
