"""The predictions of a trial as a page and as JSON."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.web import create_app


@pytest.fixture
def app(made_up: dict[str, Path], tmp_path: Path) -> Any:
    shutil.copytree(made_up["selected"], tmp_path / "chosen")
    shutil.copytree(made_up["none_feasible"], tmp_path / "none")
    return create_app(tmp_path, token="t", port=8642)


def test_the_page_and_its_json_twin(app: Any, ask: Callable[..., Any]) -> None:
    twin = ask(app, "/trials/chosen/predicted.json").json()
    assert twin["schema"] == "seatrial/web-predicted/1"
    name = twin["candidates"][-1]
    chosen = ask(app, f"/trials/chosen/predicted.json?candidate={name}").json()
    assert (chosen["simulated"] or {}).get("candidate") == name or chosen["not_simulated"]
    page = ask(app, f"/trials/chosen/predicted?candidate={name}")
    assert page.status == 200
    text = page.body.decode()
    assert name in text
    assert "<script" not in text
    assert "script-src" not in page.headers["content-security-policy"]
    assert ask(app, "/trials/chosen/predicted?candidate=nobody").status == 404


def test_nothing_measured_is_said(app: Any, ask: Callable[..., Any]) -> None:
    twin = ask(app, "/trials/none/predicted.json").json()
    assert twin["candidates"] == []
    assert twin["simulated"] is None
    assert "no candidate was measured" in twin["not_simulated"]
    assert "no candidate was measured" in ask(app, "/trials/none/predicted").body.decode()
