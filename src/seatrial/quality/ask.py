"""One greedy question to one engine, over the OpenAI routes, with log-probabilities.

One request at a time on one connection: the check asks what the model says, not how fast. Every
answer is hostile until decoded: at most 8 MiB are read and every field is typed. Two shapes of
log-probabilities are understood, because engines differ: the chat shape
(``logprobs.content[].top_logprobs[]``; llama.cpp gives it on /v1/completions too) and the older
completions shape (``logprobs.tokens``, ``top_logprobs`` as a mapping).
"""

from __future__ import annotations

import http.client
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import msgspec

from seatrial.core.errors import EngineError
from seatrial.quality.answers import Position
from seatrial.quality.prompts import Prompt
from seatrial.quality.specials import renamed

_MOST_BYTES = 8 << 20


class _Top(msgspec.Struct, kw_only=True):
    token: str = ""
    id: int | None = None
    bytes: list[int] | None = None
    logprob: float = 0.0
    top_logprobs: list[_Top] = []


class _Logprobs(msgspec.Struct, kw_only=True):
    content: list[_Top] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float] | None] | None = None


class _Choice(msgspec.Struct, kw_only=True):
    logprobs: _Logprobs | None = None


class _Reply(msgspec.Struct, kw_only=True):
    choices: list[_Choice] = []
    error: Any = None


class Asker:
    """Asks one engine at ``base_url``; a context manager that closes its connection.

    Args:
        extra: fields added to every request (e.g. ``cache_prompt`` for llama.cpp).
        timeout_s: longest wait for one answer.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        extra: dict[str, Any] | None = None,
        timeout_s: float = 120.0,
    ) -> None:
        parts = urlsplit(base_url)
        self.base_url = base_url
        self._path = parts.path.rstrip("/").removesuffix("/v1")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else None
        self._connection = (kind or http.client.HTTPConnection)(
            parts.hostname or "127.0.0.1", parts.port, timeout=timeout_s
        )
        self._model = model
        self._extra = extra or {}
        self._texts: dict[int, str | None] = {}

    def __enter__(self) -> Asker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def positions(self, prompt: Prompt, *, tokens: int, top: int, seed: int) -> list[Position]:
        """The greedy answer's tokens with ``top`` log-probabilities each.

        Raises:
            EngineError: no connection, an HTTP error, or an answer without log-probabilities.
        """
        body: dict[str, Any] = {
            "model": self._model,
            "temperature": 0.0,
            "top_p": 1.0,
            "seed": seed % (1 << 31),
            "max_tokens": tokens,
            "stream": False,
            **self._extra,
        }
        if prompt.route == "chat":
            body |= {"logprobs": True, "top_logprobs": top}
            body["messages"] = [{"role": "user", "content": prompt.text}]
            reply = self._post("/v1/chat/completions", body)
        else:
            body |= {"logprobs": top, "prompt": prompt.text}
            reply = self._post("/v1/completions", body)
        return renamed(self._decode(reply, prompt), self.text_of)

    def text_of(self, token: int) -> str | None:
        """A token's text, special or not, by /detokenize; None where there is no such route."""
        if token not in self._texts:
            try:
                answer = msgspec.json.decode(self._post("/detokenize", {"tokens": [token]}))
            except (EngineError, msgspec.DecodeError, UnicodeDecodeError):
                answer = None
            text = answer.get("content") if isinstance(answer, dict) else None
            self._texts[token] = text if isinstance(text, str) and text else None
        return self._texts[token]

    def post(self, route: str, body: dict[str, Any]) -> bytes:
        """POST a JSON body; the bytes of a 200 answer."""
        return self._post(route, {"model": self._model, **self._extra, **body})

    def _post(self, route: str, body: dict[str, Any]) -> bytes:
        try:
            self._connection.request(
                "POST",
                self._path + route,
                msgspec.json.encode(body),
                {"Content-Type": "application/json"},
            )
            response = self._connection.getresponse()
            data = response.read(_MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise self._error(f"no answer from {route}: {error!r}") from error
        if len(data) > _MOST_BYTES:
            self._connection.close()
            raise self._error(f"{route} answered more than {_MOST_BYTES >> 20} MiB")
        if response.status != 200:
            text = data[:300].decode("utf-8", errors="replace")
            raise self._error(f"{route} answered HTTP {response.status}: {text}")
        return data

    def _decode(self, data: bytes, prompt: Prompt) -> list[Position]:
        try:
            reply = msgspec.json.decode(data, type=_Reply)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._error(f"an answer that is not the API's JSON: {error}") from error
        found = reply.choices[0].logprobs if reply.choices else None
        positions = _positions(found) if found is not None else []
        if not positions:
            raise self._error(f"no log-probabilities in the answer to {prompt.id}")
        return positions

    def _error(self, what: str) -> EngineError:
        return EngineError(
            what,
            where=self.base_url,
            unchanged="nothing was compared",
            remedy="check that the engine serves log-probabilities on its OpenAI routes "
            "(see the engine's log)",
        )


def _positions(found: _Logprobs) -> list[Position]:
    if found.content:
        return [
            Position(
                token=_key(item),
                logprob=item.logprob,
                top=_ordered({_key(top): top.logprob for top in item.top_logprobs}),
            )
            for item in found.content
        ]
    tokens, tops = found.tokens or [], found.top_logprobs or []
    values = found.token_logprobs or []
    return [
        Position(
            token=_hex(token),
            logprob=value if value is not None else float("-inf"),
            top=_ordered({_hex(text): number for text, number in (top or {}).items()}),
        )
        for token, value, top in zip(tokens, values, tops, strict=False)
    ]


def _ordered(top: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(top.items(), key=lambda pair: (-pair[1], pair[0]))


def _key(item: _Top) -> str:
    if item.bytes:
        return bytes(value & 255 for value in item.bytes).hex()
    return _hex(item.token) if item.token else f"id:{item.id}"


def _hex(text: str) -> str:
    return text.encode("utf-8", errors="replace").hex()
