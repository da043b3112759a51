"""The mock engine's routes: OpenAI's, Ollama's chat, and what engines serve beside them.

``/v1/models``, ``/v1/chat/completions``, ``/v1/completions``, ``/v1/responses``, ``/api/chat``,
``/tokenize``, ``/health``, ``/metrics``, ``/props`` (effective settings), ``/truth``, ``/reset``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from zlib import crc32

import msgspec

from seatrial.mock.answer import Answer
from seatrial.mock.dialect import Dialect
from seatrial.mock.engine import BatchEngine, FixedEngine
from seatrial.mock.faults import ENDLESS, ENDLESS_TOKENS, FaultPlan
from seatrial.mock.http import Channel, Request
from seatrial.mock.law import FixedLaw, StepLaw
from seatrial.mock.scheduler import Sequence
from seatrial.mock.shapes import SHAPES
from seatrial.mock.tokens import render_chat, tokenize
from seatrial.mock.truth import Truth, TruthLog


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How this instance behaves.

    Attributes:
        model: name it serves under.
        burst: tokens per event.
        reasoning_tokens: how many first tokens of each answer are reasoning.
        single_use: the connection is closed after each stream (cpp-httplib does so).
        context_tokens: prompt and output together; longer requests get 400.
        adapters: names of LoRA adapters that it lists beside the model.
        usage: "true", "none" (no answer counts tokens), or "constant" (prompts count as one).
    """

    model: str = "mock"
    law: StepLaw | FixedLaw = StepLaw()
    dialect: Dialect = Dialect()
    faults: dict[str, float] = {}
    seed: int = 1
    burst: int = 1
    reasoning_tokens: int = 0
    context_tokens: int = 131_072
    keep_truth: int = 100_000
    per_token: bool = False
    single_use: bool = False
    usage: str = "true"
    adapters: list[str] = []


class MockApp:
    """State and routes of one mock engine; bound to one event loop."""

    def __init__(self, options: Options, loop: asyncio.AbstractEventLoop, log: TruthLog) -> None:
        self.options = options
        self.log = log
        self.loop = loop
        law = options.law
        self.engine: BatchEngine | FixedEngine = (
            BatchEngine(law, loop) if isinstance(law, StepLaw) else FixedEngine(law, loop)
        )
        self.faults = FaultPlan(options.faults, options.seed)
        self.serial = 0
        self.totals = {"prompt": 0, "generation": 0, "cached": 0, "ttft_ns": 0, "first": 0}
        self._get: dict[str, Any] = {
            "/health": lambda: {"status": "ok"},
            "/v1/models": lambda: {"object": "list", "data": self._models()},
            options.dialect.info_route: self._effective,
            **{path: partial(dict, page) for path, page in options.dialect.pages.items()},
        }

    def channel(self) -> Channel:
        """A new connection's protocol."""
        return Channel(self.handle, self.options.dialect.server_header)

    def handle(self, request: Request, channel: Channel) -> None:
        """Answer one request."""
        if request.path in SHAPES:
            self._generate(request, channel)
        elif request.path == self.options.dialect.tokenize_route:
            self._tokenize(request, channel)
        elif request.path == self.options.dialect.metrics_route:
            text = self._metrics().encode()
            channel.answer(200, text, content_type="text/plain; version=0.0.4")
        elif request.path == "/truth":
            channel.answer(200, self.log.lines(), content_type="application/x-ndjson")
        elif request.path == "/reset":
            self.log.items.clear()
            channel.answer_json({})
        elif request.path in self._get:
            channel.answer_json(self._get[request.path]())
        else:
            channel.answer_json({"error": {"message": "no such route"}}, 404)

    def _models(self) -> list[dict[str, Any]]:
        """The model, and its adapters as vLLM lists them: each names its parent."""
        base = {
            "id": self.options.model,
            "object": "model",
            "owned_by": "seatrial-mock",
            "max_model_len": self.options.context_tokens,
        }
        above = {"parent": self.options.model}
        return [base, *({**base, **above, "id": name} for name in self.options.adapters)]

    def _effective(self) -> dict[str, Any]:
        law = msgspec.to_builtins(self.options.law)
        known = {"context_tokens": self.options.context_tokens, "burst": self.options.burst}
        return {"law": law, **known, **self.options.dialect.effective}

    def _tokenize(self, request: Request, channel: Channel) -> None:
        body = _json_object(request.body)
        if body is None:
            channel.answer_json({"error": {"message": "not a JSON object"}}, 400)
            return
        if isinstance(body.get("messages"), list):
            tokens = render_chat(body["messages"])
        else:
            text = body.get(self.options.dialect.tokenize_key, body.get("content", ""))
            tokens = tokenize(str(text))
        channel.answer_json({"count": len(tokens), "tokens": tokens})

    def _generate(self, request: Request, channel: Channel) -> None:
        body = _json_object(request.body)
        prompt = None if body is None else _prompt_tokens(request.path, body)
        if body is None or not prompt:
            channel.answer_json({"error": {"message": "no prompt in the request"}}, 400)
            return
        sequence, natural = _sequence(request.path, body, prompt)
        limit = self.options.context_tokens
        if isinstance(self.options.law, StepLaw):
            limit = min(limit, self.options.law.kv_blocks * self.options.law.block_tokens)
        if len(prompt) + sequence.output_tokens > limit:
            says = f"{len(prompt)} + {sequence.output_tokens} tokens exceed {limit}"
            channel.answer_json({"error": {"message": says}}, 400)
            return
        fault = self.faults.choose(body.get("mock_fault"))
        self.serial += 1
        given = request.headers.get("x-request-id", f"mock-{self.serial}")[:128]
        truth = Truth(
            serial=self.serial, request_id=given, arrival_ns=0, input_tokens=len(prompt),
            fault=fault,
        )  # fmt: skip
        if not self._refuse(fault, channel):
            self._start(request.path, body, sequence, truth, channel, natural)

    def _refuse(self, fault: str | None, channel: Channel) -> bool:
        if fault == "http_500":
            channel.answer_json({"error": {"message": "internal error"}}, 500)
        elif fault == "http_429":
            busy = b'{"error":{"message":"too many requests"}}'
            channel.answer(429, busy, headers={"Retry-After": "1"})
        elif fault == "reset_before":
            channel.reset()
        else:
            return False
        return True

    def _start(
        self,
        path: str,
        body: Mapping[str, Any],
        sequence: Sequence,
        truth: Truth,
        channel: Channel,
        natural: bool,
    ) -> None:
        stream = bool(body.get("stream", path == "/api/chat"))
        if stream and truth.fault in ENDLESS:
            sequence.output_tokens = ENDLESS_TOKENS
        options = body.get("stream_options")
        asked = isinstance(options, dict) and bool(options.get("include_usage"))
        always = path in ("/api/chat", "/v1/responses") or self.options.dialect.usage_always
        answer = Answer(
            channel,
            SHAPES[path](f"r-{self.serial}", self.options.model, self.options.dialect),
            sequence,
            truth,
            stream=stream,
            send_usage=(asked or always) and self.options.usage != "none",
            usage=self.options.usage,
            natural_stop=natural,
            burst=self.options.burst,
            reasoning_tokens=self.options.reasoning_tokens,
            per_token=self.options.per_token,
            single_use=self.options.single_use,
            finished=self._finished,
        )
        channel.on_gone = answer.gone
        if truth.fault == "slow_accept":
            self.loop.call_later(0.2, self._submit, answer)
        else:
            self._submit(answer)

    def _submit(self, answer: Answer) -> None:
        answer.begin()
        if answer.over:
            return
        self.engine.submit(answer.job)
        answer.truth.arrival_ns = answer.job.arrival_ns

    def _finished(self, answer: Answer) -> None:
        self.engine.cancel(answer.job)
        truth = answer.truth
        self.totals["prompt"] += truth.input_tokens
        self.totals["generation"] += truth.output_tokens
        self.totals["cached"] += truth.cached_tokens
        if truth.first_token_ns >= 0:
            self.totals["first"] += 1
            self.totals["ttft_ns"] += truth.first_token_ns - truth.arrival_ns
        self.log.add(truth)

    def _metrics(self) -> str:
        kv = self.engine.scheduler.kv
        values = {
            "running": self.engine.running,
            "waiting": self.engine.waiting,
            "prompt_tokens": self.totals["prompt"],
            "generation_tokens": self.totals["generation"],
            "cached_tokens": self.engine.scheduler.prefix_hits,
            "cache_queries": self.engine.scheduler.prefix_queries,
            "preemptions": self.engine.scheduler.preemptions,
            "kv_usage": kv.used / kv.blocks,
            "ttft_sum": self.totals["ttft_ns"] / 1e9,
            "ttft_count": self.totals["first"],
        }
        names = self.options.dialect.metrics
        return "".join(f"{names[k]} {float(v)}\n" for k, v in values.items() if k in names)


def _json_object(body: bytes | bytearray) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _prompt_tokens(path: str, body: Mapping[str, Any]) -> list[int] | None:
    if path == "/v1/completions":
        prompt = body.get("prompt")
        if isinstance(prompt, list) and all(isinstance(i, int) for i in prompt):
            return prompt
        return tokenize(prompt) if isinstance(prompt, str) else None
    source = body.get("input") if path == "/v1/responses" else body.get("messages")
    if isinstance(source, str):
        source = [{"role": "user", "content": source}]
    return render_chat(source) if isinstance(source, list) and source else None


def _sequence(path: str, body: Mapping[str, Any], prompt: list[int]) -> tuple[Sequence, bool]:
    """The sequence and whether it ends by itself (finish_reason stop) before its limit."""
    limit: Any = body.get("max_completion_tokens") or body.get("max_tokens")
    if path == "/v1/responses":
        limit = body.get("max_output_tokens")
    if path == "/api/chat" and isinstance(body.get("options"), dict):
        limit = body["options"].get("num_predict")
    limit = limit if isinstance(limit, int) and limit > 0 else 1 << 20
    natural = 8 + crc32(repr(prompt).encode()) % 256
    minimum = body.get("min_tokens")
    if isinstance(minimum, int):
        natural = max(natural, minimum)
    if body.get("ignore_eos") is True and limit < 1 << 20:
        natural = limit
    stops = natural < limit
    return Sequence(prompt=prompt, output_tokens=min(limit, natural)), stops
