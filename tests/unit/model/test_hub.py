"""A hub id: configuration and headers by range from a local server, never the weights."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.model import hub, read

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "intermediate_size": 128,
}


@pytest.fixture
def served(
    safetensors: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[dict[str, int]]:
    """A hub of one model; yields path -> bytes sent."""
    weights = safetensors({f"model.layers.{n}.w": ("BF16", [64, 64], 8192) for n in range(40)})
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": weights}
    sent: dict[str, int] = {}

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            if self.path.startswith("/api/models/owner/name/revision/"):
                rows = [{"rfilename": f} for f in files]
                data = json.dumps({"sha": "c0ffee", "siblings": rows}).encode()
            elif self.path.startswith("/owner/name/resolve/c0ffee/") and name in files:
                data = files[name]
            else:
                self.send_error(404)
                return
            span = self.headers.get("Range")
            status = 200
            if span:
                low, high = span.removeprefix("bytes=").split("-")
                data, status = data[int(low) : int(high) + 1], 206
            sent[name] = sent.get(name, 0) + len(data)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "cache"))
    yield sent
    server.shutdown()
    server.server_close()
    thread.join()


def test_headers_and_no_weights(served: dict[str, int]) -> None:
    folder = hub.fetch("owner/name")
    model = read(folder)
    assert model.architecture == "LlamaForCausalLM"
    assert model.weight_bytes == 40 * 8192
    assert model.findings == ["the header is here, the weights are not"]
    assert served["model.safetensors"] < 8192


def test_the_second_time_comes_from_the_cache(served: dict[str, int]) -> None:
    first = hub.fetch("owner/name")
    before = served["model.safetensors"]
    assert hub.fetch("owner/name") == first
    assert served["model.safetensors"] == before


def test_no_such_model(served: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="404"):
        hub.fetch("owner/other")


def test_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(PrerequisiteError, match="cannot be reached"):
        hub.fetch("owner/name")


def test_an_address_that_is_not_https_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "ftp://example.org")
    with pytest.raises(UsageError, match="https"):
        hub.fetch("owner/name")


def test_what_looks_like_an_id(tmp_path: Path) -> None:
    assert hub.is_hub_id("Qwen/Qwen3-8B", tmp_path)
    assert not hub.is_hub_id("./model", tmp_path)
    assert not hub.is_hub_id("/abs/model", tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not hub.is_hub_id("a/b", tmp_path)
