"""The small client: bounded, never surprised, and an event is what begins with data:."""

from __future__ import annotations

import contextlib
import http.server
import threading
import time
from collections.abc import Iterator

import pytest

from seatrial.core.errors import EngineError, UsageError
from seatrial.engines import http as client
from seatrial.engines.start import has_content


class _Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/endless":
            return self._drip()
        self._answer(b"x" * 100_000 if self.path == "/big" else b'{"a": 1}')

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/endless":
            self._drip()
        elif self.path == "/stream":
            self._answer(b': ping\n\ndata: {"n": 1}\n\nevent: x\ndata: no json\n\ndata: [DONE]\n\n')
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'data: {"n": 1}\n\n')
        else:
            self._answer(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(500):
                self.wfile.write(b"data: x\n")
                time.sleep(0.02)

    def _answer(self, body: bytes) -> None:
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_answers_come_whole(base: str) -> None:
    assert client.get(base, "/").json() == {"a": 1}
    assert client.post(base, "/echo", {"k": [1]}).json() == {"k": [1]}
    missing = client.get(base, "/none")
    assert (missing.status, missing.ok) == (404, False)


def test_a_huge_answer_is_cut_and_says_so(base: str) -> None:
    reply = client.call(base, "GET", "/big", limit_bytes=1000)
    assert len(reply.body) == 1000
    assert reply.error == "answer too large"


def test_events_end_at_done_and_other_lines_are_none(base: str) -> None:
    with client.stream(base, "/stream", {}) as stream:
        events = [e.json() for e in stream.events()]
    assert events == [{"n": 1}, None]
    assert stream.done


def test_a_stream_that_breaks_says_so_or_just_ends(base: str) -> None:
    with client.stream(base, "/cut", {}) as stream:
        assert [e.json() for e in stream.events()] == [{"n": 1}]
        assert not stream.done


def test_nobody_there_is_a_reply_without_status_or_an_engine_error() -> None:
    reply = client.get("http://127.0.0.1:9", "/")
    assert (reply.status, reply.ok) == (0, False)
    assert "Refused" in reply.error
    with pytest.raises(EngineError), client.stream("http://127.0.0.1:9", "/", {}):
        pass


@pytest.mark.parametrize("address", ["localhost:1", "ftp://x", "http://", "http://h:port", ""])
def test_what_is_no_address_is_bad_input(address: str) -> None:
    with pytest.raises(UsageError):
        client.get(address, "/")


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, False),
        ({"choices": [{"delta": {"role": "assistant", "content": None}}]}, False),
        ({"choices": [{"delta": {"content": "a"}}]}, True),
        ({"choices": [{"delta": {"reasoning_content": "a"}}]}, True),
        ({"choices": [{"delta": {"tool_calls": [{}]}}]}, True),
        ({"choices": [{"text": "a"}]}, True),
        ({"choices": []}, False),
        ({"choices": [7]}, False),
        ({"error": {}}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_role_is_no_content(chunk: object, expected: bool) -> None:
    assert has_content(chunk) is expected


def test_an_answer_without_end_is_given_up_though_it_never_falls_silent(base: str) -> None:
    begun = time.monotonic()
    reply = client.call(base, "GET", "/endless", timeout_s=0.3)
    assert time.monotonic() - begun < 3
    assert not reply.ok
    assert "did not end" in reply.error


def test_a_stream_without_end_is_given_up(base: str) -> None:
    with client.stream(base, "/endless", {}, timeout_s=0.05) as stream:
        assert len(list(stream.events())) < 200
        assert "did not end" in stream.error


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="user name or password") as caught:
        client.get("http://me:s3cret@127.0.0.1:1", "/")
    assert "s3cret" not in str(caught.value)
