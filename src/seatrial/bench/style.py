"""What a server's requests may carry: found out by asking, never assumed.

Engines take ``ignore_eos``, ``top_k`` and the like; OpenAI's own service refuses them with 400.
Three styles are tried in turn, from the one that controls most to the plainest.
"""

from __future__ import annotations

import http.client
import select
import time
from typing import Any

import msgspec

from seatrial.core.errors import EngineError
from seatrial.engines import RunningEngine
from seatrial.engines.http import Reply, call, connection, read_body
from seatrial.loadgen.body import PATHS, BodyStyle, Sampling, make_body
from seatrial.loadgen.lexicon import NotExact

_RENAMES: dict[str, dict[str, str]] = {
    "llama.cpp": {"repetition_penalty": "repeat_penalty"},
    "ollama": {"repetition_penalty": "repeat_penalty"},
}
_VALUES: dict[str, dict[str, Any]] = {"llama.cpp": {"top_k": 0}, "ollama": {"top_k": 0}}
_TIMEOUT_S = 300.0
_KEEPS_WITHIN_S = 60.0  # a server that streams without end must not hold up the load
_CLOSES_WITHIN_S = 0.2


def styles_for(engine: RunningEngine, route: str) -> list[BodyStyle]:
    """Styles to try, best first."""
    name = engine.adapter.name
    best = BodyStyle(
        route=route,
        force_length=engine.adapter.ignore_eos,
        rename=_RENAMES.get(name, {}),
        values=_VALUES.get(name, {}),
    )
    plain = msgspec.structs.replace(best, engine_fields=False)
    plainest = msgspec.structs.replace(plain, force_length=False)
    return [best, plain, plainest]


class Caller:
    """One-off requests outside the measurement, in the style that the server takes."""

    def __init__(
        self,
        engine: RunningEngine,
        route: str,
        sampling: Sampling,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.engine = engine
        self.route = route
        self.sampling = sampling
        self.headers = headers or {}
        self.style = self._find_style()

    def _find_style(self) -> BodyStyle:
        last: Reply | None = None
        for style in styles_for(self.engine, self.route):
            last = self._post(self._messages("Say"), 2, style)
            if last.ok:
                return style
            if last.status not in (400, 404, 422):
                break
        assert last is not None
        raise EngineError(
            f"the server does not generate: status {last.status} {last.error} "
            f"{last.text()[:200]}".rstrip(),
            where=self.engine.base_url + PATHS[self.route],
            unchanged="no load was sent",
            remedy="check the model's name and the route; look at the server's log",
        )

    def _messages(self, text: str) -> Any:
        return text if self.route == "completions" else [{"role": "user", "content": text}]

    def _post(self, messages: Any, tokens: int, style: BodyStyle) -> Reply:
        body = make_body(self.engine.model, messages, tokens, self.sampling, style, stream=False)
        path = PATHS[self.route]
        return call(
            self.engine.base_url, "POST", path, body, timeout_s=_TIMEOUT_S, headers=self._headers()
        )

    def _headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", **self.headers}

    def count_prompt(self, text: str) -> int:
        """``usage.prompt_tokens`` of a request with this user message.

        Raises:
            NotExact: there is no count in the answer.
            EngineError: there is no answer.
        """
        return self._count(self._messages(text))

    def count_turn(self, text: str, answer: str) -> int:
        """The same for a chat of text, answer, text."""
        user = {"role": "user", "content": text}
        return self._count([user, {"role": "assistant", "content": answer}, user])

    def keeps_connections(self, within_s: float = _KEEPS_WITHIN_S) -> bool:
        """Whether a connection survives a streamed answer.

        Some servers (cpp-httplib under llama.cpp) promise keep-alive and close after every
        stream; a request sent on such a connection in that moment would be lost. So it is found
        out once, before the load; an answer that takes longer than ``within_s`` says no.
        """
        link, prefix = connection(self.engine.base_url, within_s)
        body = make_body(
            self.engine.model, self._messages("Say"), 2, self.sampling, self.style, stream=True
        )
        path = prefix + PATHS[self.route]
        try:
            link.request("POST", path, body=body, headers=self._headers())
            _, wrong = read_body(link.getresponse(), 1 << 20, time.monotonic() + within_s)
            if link.sock is None or wrong:
                return False
            time.sleep(_CLOSES_WITHIN_S)
            readable, _, _ = select.select([link.sock], [], [], 0)
            return not readable
        except (OSError, http.client.HTTPException):
            return False
        finally:
            link.close()

    def generate(self, text: str, tokens: int) -> Reply:
        """One whole answer of so many tokens."""
        return self._post(self._messages(text), tokens, self.style)

    def _count(self, messages: Any) -> int:
        reply = self._post(messages, 1, self.style)
        value = reply.json()
        usage = value.get("usage") if isinstance(value, dict) else None
        count = None
        if isinstance(usage, dict):
            count = usage.get("prompt_tokens", usage.get("input_tokens"))
        elif isinstance(value, dict):
            count = value.get("prompt_eval_count")
        if not isinstance(count, int) or isinstance(count, bool):
            kind = NotExact if reply.ok else EngineError
            raise kind(
                f"the server does not say how many tokens a prompt has: status {reply.status} "
                f"{reply.error} {reply.text()[:200]}".rstrip(),
                where=self.engine.base_url + PATHS[self.route],
                unchanged="no load was sent",
                remedy="exact prompts need usage.prompt_tokens; look at the server's log",
            )
        return count

    def count_text(self) -> Any:
        """A function that counts tokens by the engine's tokenize route, None without one."""
        try:
            self.engine.tokenize("Say time")
        except EngineError:
            return None
        return lambda text: len(self.engine.tokenize(text))
