"""The JSON bodies of requests, per route. Every sampling field is sent, every time.

Engines take what a request leaves out from places of their own (generation_config.json, built-in
defaults), so two engines under one silent client run two workloads. ``Sampling`` names them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from seatrial.core.errors import UsageError

PATHS = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "ollama": "/api/chat",
}


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Sampling fields as OpenAI and the engines spell them; None is not sent."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int | None = -1
    min_p: float | None = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float | None = 1.0
    seed: int | None = 1


class BodyStyle(msgspec.Struct, frozen=True, kw_only=True):
    """What a server understands.

    Attributes:
        force_length: ``ignore_eos`` (and ``min_tokens``) are sent, so that output has one length.
        engine_fields: top_k, min_p, repetition_penalty and the like are understood.
        max_field: name of the limit on output tokens.
        rename: a sampling field's name -> this engine's (llama.cpp: repeat_penalty).
        extra: sent as it is.
        usage: ``stream_options.include_usage`` is sent.
    """

    route: str = "chat"
    force_length: bool = True
    engine_fields: bool = True
    max_field: str = "max_tokens"
    rename: dict[str, str] = {}
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    usage: bool = True


_ENGINE_FIELDS = ("top_k", "min_p", "repetition_penalty")


def sampling_fields(sampling: Sampling, style: BodyStyle) -> dict[str, Any]:
    """The sampling fields as they stand in the body."""
    fields: dict[str, Any] = {}
    for name in sampling.__struct_fields__:
        value = getattr(sampling, name)
        if value is None or (name in _ENGINE_FIELDS and not style.engine_fields):
            continue
        fields[style.rename.get(name, name)] = style.values.get(name, value)
    return fields


def make_body(
    model: str,
    messages: Sequence[Mapping[str, Any]] | str,
    output_tokens: int,
    sampling: Sampling,
    style: BodyStyle,
    *,
    stream: bool = True,
    features: Mapping[str, Any] | None = None,
) -> bytes:
    """One request's body.

    Args:
        messages: chat messages, or the prompt of the completions route.
        output_tokens: limit, and exact length where the style forces it.
        features: further fields of this one request (response_format, tools, model of an adapter).
    """
    body: dict[str, Any] = {"model": model, "stream": stream}
    if style.route == "completions":
        body["prompt"] = messages
    elif style.route == "responses":
        body["input"] = messages
        body["store"] = False
    elif style.route in ("chat", "ollama"):
        body["messages"] = messages
    else:
        raise UsageError(
            f"no such route: {style.route}", where="route", remedy=f"one of {', '.join(PATHS)}"
        )
    fields = sampling_fields(sampling, style)
    if style.route == "ollama":
        body["options"] = {**fields, "num_predict": output_tokens}
    else:
        body |= fields
        name = "max_output_tokens" if style.route == "responses" else style.max_field
        body[name] = output_tokens
        if style.force_length:
            body["ignore_eos"] = True
            body["min_tokens"] = output_tokens
    if stream and style.usage and style.route in ("chat", "completions"):
        body["stream_options"] = {"include_usage": True}
    body |= style.extra
    if features:
        body |= features
    return msgspec.json.encode(body)
