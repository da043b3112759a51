"""The made-up trials, and a way to ask the application without a network."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import unquote

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


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Ask = Callable[..., Answer]


@pytest.fixture
def ask() -> Ask:
    """``ask(app, path, headers={}, method="GET")``: one request through ASGI itself."""
    return _ask


def _ask(
    app: Any,
    path: str,
    *,
    headers: dict[str, str] | None = None,
    method: str = "GET",
    body: bytes = b"",
    seconds: float = 30.0,
) -> Answer:
    given = {"host": "127.0.0.1:8642", **(headers or {})}
    raw, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(raw),
        "raw_path": raw.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in given.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 8642),
    }
    sent: list[dict[str, Any]] = []

    asked = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        while not asked:
            await asyncio.sleep(0.01)  # the client stays until it has its answer
        return asked.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def once() -> None:
        await asyncio.wait_for(app(scope, receive, send), seconds)

    asyncio.run(once())
    start = next(m for m in sent if m["type"] == "http.response.start")
    body = b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body")
    names = {k.decode().lower(): v.decode("latin-1") for k, v in start["headers"]}
    return Answer(start["status"], names, body)
