"""Asking: the two shapes of log-probabilities, and servers that misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from seatrial.core.errors import EngineError
from seatrial.quality import collect
from seatrial.quality.ask import Asker
from seatrial.quality.prompts import Prompt

CHAT = {
    "choices": [
        {
            "logprobs": {
                "content": [
                    {
                        "token": " Paris",
                        "bytes": [32, 80],
                        "logprob": -0.1,
                        "top_logprobs": [
                            {"token": "x", "bytes": None, "logprob": -3.0},
                            {"token": " Paris", "bytes": [32, 80], "logprob": -0.1},
                            {"token": "", "bytes": [], "id": 2, "logprob": -4.0},
                        ],
                    }
                ]
            }
        }
    ]
}
OLD = {
    "choices": [
        {
            "logprobs": {
                "tokens": [" Paris", "."],
                "token_logprobs": [-0.1, None],
                "top_logprobs": [{" Paris": -0.1, " the": -2.5}, None],
            }
        }
    ]
}


class Fake:
    """A server that answers each route with what the test put there."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.bodies: list[dict[str, Any]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                fake.bodies.append(json.loads(self.rfile.read(size)))
                status, data = fake.answers[self.path]
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def put(self, route: str, value: Any, status: int = 200) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.answers[route] = (status, data)


@pytest.fixture
def fake() -> Iterator[Fake]:
    made = Fake()
    yield made
    made.server.shutdown()
    made.server.server_close()


def chat(text: str = "hello") -> Prompt:
    return Prompt(id="a", text=text)


def test_chat_shape_tokens_are_known_by_bytes(fake: Fake):
    fake.put("/v1/chat/completions", CHAT)
    with Asker(fake.url, "m", extra={"cache_prompt": False}) as asker:
        found = asker.positions(chat(), tokens=8, top=20, seed=1)
    assert found[0].token == b" P".hex()
    assert found[0].top == [(b" P".hex(), -0.1), (b"x".hex(), -3.0), ("id:2", -4.0)]
    sent = fake.bodies[0]
    assert sent["temperature"] == 0.0
    assert sent["top_logprobs"] == 20
    assert sent["cache_prompt"] is False


def test_the_older_shape(fake: Fake):
    fake.put("/v1/completions", OLD)
    with Asker(fake.url + "/v1", "m") as asker:
        found = asker.positions(
            Prompt(id="a", route="text", text="t"), tokens=2, top=5, seed=1 << 40
        )
    assert [p.token for p in found] == [b" Paris".hex(), b".".hex()]
    assert found[0].top[0] == (b" Paris".hex(), -0.1)
    assert found[1].logprob == float("-inf")
    assert 0 <= fake.bodies[0]["seed"] < 1 << 31


@pytest.mark.parametrize(
    ("value", "status", "match"),
    [
        (b"not json", 200, "not the API"),
        ({"error": "boom"}, 500, "HTTP 500"),
        ({"choices": [{"text": "hi"}]}, 200, "no log-probabilities"),
        ({"choices": "x"}, 200, "not the API"),
        (b"[" * 100_000, 200, "not the API"),
        (b" " * (9 << 20), 200, "more than 8 MiB"),
    ],
)
def test_misbehaviour_is_an_engine_error(fake: Fake, value: Any, status: int, match: str):
    fake.put("/v1/chat/completions", value, status)
    with Asker(fake.url, "m") as asker, pytest.raises(EngineError, match=match):
        asker.positions(chat(), tokens=1, top=1, seed=1)


def engine(url: str) -> Any:
    return SimpleNamespace(base_url=url, model="m", adapter=SimpleNamespace(name="vllm"))


def test_collect_keeps_a_missing_route_as_errors(fake: Fake):
    fake.put("/v1/chat/completions", CHAT)
    fake.put("/v1/completions", b"{}", 404)
    prompts = [Prompt(id="a", text="x"), Prompt(id="b", route="text", text="y"), chat("z")]
    prompts[2] = Prompt(id="c", text="z")
    found = collect(engine(fake.url), prompts=prompts)
    assert [bool(a.positions) for a in found.answers] == [True, False, True]
    assert "404" in found.answers[1].error
    assert found.precision is None


def test_collect_gives_up_on_a_dead_engine():
    with pytest.raises(EngineError, match="no answer"):
        collect(engine("http://127.0.0.1:9"))
