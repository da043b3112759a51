"""The engine of a stage that measures nothing: its log is where its failure says it is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.core.errors import EngineError
from seatrial.core.progress import Silent
from seatrial.trial import started as module


def test_a_failed_start_names_the_log_that_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, log: Path, **__: Any) -> Any:
        log.write_text("out of memory")
        raise EngineError("it did not start", where=f"{log}\nout of memory", remedy="read its log")

    monkeypatch.setattr(module, "start", fails)
    monkeypatch.setattr(module, "settings_for", lambda *_: None)
    candidate: Any = SimpleNamespace(spec=None, artefact=tmp_path)
    kept = tmp_path / "probes" / "c.engine.log"
    with (
        pytest.raises(EngineError) as caught,
        module.started(candidate, candidate, keep_log=kept, progress=Silent()),
    ):
        pass
    assert caught.value.where == f"{kept}\nout of memory"
    assert kept.read_text() == "out of memory"
