"""Text to tokens: does the tokenizer's count agree with usage, is the template applied once?"""

from __future__ import annotations

from typing import Any

from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.probe.record import Answer, failed, passed, unknown
from seatrial.probe.subject import SHOWN, Subject, refusal, usage_of

TEXTS = ("Hello world", "Zażółć gęślą jaźń", "def f(x):\n    return x + 1", "  spaces   and\ttabs")


def tokenizer(subject: Subject) -> Answer:
    """/tokenize counts what /v1/completions bills: equal, or more by the one BOS."""
    adapter = subject.engine.adapter
    if adapter.routes.completions is None:
        return unknown("no completions route to compare with")
    rows: list[dict[str, Any]] = []
    for text in TEXTS:
        try:
            counted = len(subject.engine.tokenize(text))
        except EngineError as error:
            return unknown(error.what)
        body = {"model": subject.engine.model, "prompt": text, "max_tokens": 1, "temperature": 0}
        reply = http.post(subject.engine.base_url, adapter.routes.completions, body)
        billed = usage_of(reply).get("prompt_tokens")
        if not reply.ok or not isinstance(billed, int):
            return failed("a completion gave no usage", **refusal(reply))
        rows.append({"tokenize": counted, "usage": billed})
    extra = {row["usage"] - row["tokenize"] for row in rows}
    if extra - {0, 1} or len(extra) > 1:
        return failed("usage and tokenizer disagree", counts=rows)
    return passed(counts=rows, special_tokens_added=extra.pop())


def chat_template(subject: Subject) -> Answer:
    """The rendered chat begins with at most one BOS, and its length is what usage says."""
    messages = [{"role": "user", "content": "Hello world"}]
    try:
        tokens = subject.engine.adapter.chat_tokens(
            subject.engine.base_url, subject.engine.model, messages
        )
    except EngineError as error:
        return unknown(error.what)
    if tokens is None:
        return unknown("this engine does not show the rendered chat")
    billed = usage_of(subject.chat(messages, 1)).get("prompt_tokens")
    evidence = {"rendered_tokens": len(tokens), "usage": billed, "first": tokens[:4]}
    if len(tokens) > 1 and tokens[0] == tokens[1]:
        return failed("the chat begins with the same token twice (a doubled BOS)", **evidence)
    if billed != len(tokens):
        return failed("usage counts other tokens than the rendered chat has", **evidence)
    return passed(**evidence)


def embeddings(subject: Subject) -> Answer:
    """/v1/embeddings gives finite numbers of one length."""
    route = subject.engine.adapter.routes.embeddings
    if route is None:
        return failed("this engine has no embeddings route")
    body = {"model": subject.engine.model, "input": ["sea", "tide"]}
    reply = http.post(subject.engine.base_url, route, body)
    answer = reply.json()
    data = answer.get("data") if isinstance(answer, dict) else None
    if not reply.ok or not isinstance(data, list) or len(data) != 2:
        return failed("no embeddings came back", **refusal(reply))
    found = [d.get("embedding") for d in data if isinstance(d, dict)]
    vectors = [v for v in found if isinstance(v, list) and v]
    if len(vectors) != 2 or len(vectors[0]) != len(vectors[1]):
        return failed("these are no vectors", answer=reply.text()[:SHOWN])
    if not all(isinstance(x, int | float) for v in vectors for x in v):
        return failed("the vectors hold something that is no number")
    return passed(dimensions=len(vectors[0]))


def api(subject: Subject, name: str) -> Answer:
    """One of the APIs a workload may require, asked for its smallest answer."""
    base, model = subject.engine.base_url, subject.engine.model
    message = [{"role": "user", "content": "Hi"}]
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "openai.chat": ("/v1/chat/completions", {"messages": message, "max_tokens": 1}),
        "openai.completions": ("/v1/completions", {"prompt": "Hi", "max_tokens": 1}),
        "openai.responses": ("/v1/responses", {"input": "Hi", "max_output_tokens": 1}),
        "openai.embeddings": ("/v1/embeddings", {"input": "Hi"}),
        "anthropic.messages": ("/v1/messages", {"messages": message, "max_tokens": 1}),
        "ollama.chat": ("/api/chat", {"messages": message, "stream": False}),
    }
    if name not in asked:
        return unknown(f"no probe for the API {name}")
    route, body = asked[name]
    reply = http.post(base, route, {"model": model, **body})
    if not reply.ok or not isinstance(reply.json(), dict) or "error" in reply.json():
        return failed(f"{route} does not answer", **refusal(reply))
    return passed(route=route, status=reply.status)
