"""Alone against in a crowd: a server that answers otherwise under load is caught."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.quality.crowd import crowd
from seatrial.quality.prompts import Prompt

PROMPTS = [Prompt(id=f"p{i}", text=f"prompt {i}") for i in range(6)]


class Server(ThreadingHTTPServer):
    """Answers "a b"; with ``flips``, prompts that meet another one in service get "a c"."""

    flips = False
    busy = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.busy += 1
        time.sleep(0.05)
        crowded = self.server.busy > 1
        self.server.busy -= 1
        words = ["a", "c" if self.server.flips and crowded else "b"]
        content = [
            {"token": w, "bytes": list(w.encode()), "logprob": -0.1 - 0.01 * crowded} for w in words
        ]
        data = json.dumps({"choices": [{"logprobs": {"content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def engine(server: Server) -> Any:
    url = f"http://127.0.0.1:{server.server_port}"
    return SimpleNamespace(base_url=url, model="m", adapter=SimpleNamespace(name="vllm"))


def test_a_steady_server(server: Server):
    result = crowd(engine(server), width=3, prompts=PROMPTS)
    assert result.steady.best == 1.0
    assert result.first_difference == {}
    assert result.shift_nats == pytest.approx(0.01)


def test_answers_that_change_in_a_crowd(server: Server):
    server.flips = True
    result = crowd(engine(server), width=3, prompts=PROMPTS)
    assert result.steady.best < 0.5
    assert set(result.first_difference.values()) == {1}
