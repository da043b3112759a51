"""Which probes there are, and which of them a workload requires."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from seatrial.probe import adapters, limits, reuse, sampling, streaming, structured, wording
from seatrial.probe.record import Answer
from seatrial.probe.subject import Subject
from seatrial.workload.spec import Requires, Workload

Question = Callable[[Subject], Answer]

STRUCTURED: dict[str, list[str]] = {
    "json_schema": ["json_schema", "json_schema.stream"],
    "json_object": ["json_object"],
    "regex": ["regex"],
    "grammar": ["grammar"],
    "choice": ["choice"],
}

PROBES: dict[str, Question] = {
    "answers": streaming.answers,
    "streaming": streaming.streams,
    "usage": streaming.usage,
    "cancellation": streaming.cancels,
    "concurrency": limits.concurrency,
    "context_limit": limits.context_limit,
    "prefix_cache": reuse.prefix_cache,
    "cached_usage": reuse.cached_usage,
    "json_schema": structured.json_schema,
    "json_schema.stream": structured.json_schema_stream,
    "json_object": structured.json_object,
    "regex": structured.regex,
    "grammar": structured.grammar,
    "choice": structured.choice,
    "tools": structured.tools,
    "logprobs": sampling.logprobs,
    "stop_sequences": sampling.stop_sequences,
    "n": sampling.several,
    "seeds": sampling.seeds,
    "greedy_repeats": sampling.greedy_repeats,
    "tokenizer": wording.tokenizer,
    "chat_template": wording.chat_template,
    "embeddings": wording.embeddings,
    "lora": adapters.lora,
    "metrics": reuse.metrics_present,
    "odd_input": limits.odd_input,
}


def required_ids(spec: Workload | None) -> set[str]:
    """Probes that must pass for this workload; without one: that it answers and streams."""
    needed = {"answers", "streaming", "usage"}
    if spec is None:
        return needed
    requires = spec.requires
    if spec.mode == "offline":
        needed.discard("streaming")
    pairs = {
        "cancellation": requires.streaming_cancel,
        "concurrency": requires.concurrency,
        "context_limit": requires.context_tokens,
        "prefix_cache": requires.prefix_cache,
        "tools": requires.tools,
        "logprobs": requires.logprobs,
        "embeddings": requires.embeddings,
        "lora": requires.lora,
        "metrics": spec.platform.metrics == "prometheus",
    }
    needed |= {name for name, wanted in pairs.items() if wanted}
    kind = requires.structured_output
    if kind:
        needed |= set(STRUCTURED["json_schema" if kind is True else kind])
    return needed | {f"api.{name}" for name in requires.api}


def questions(requires: Requires) -> Iterator[tuple[str, Question]]:
    """Every probe, those of required APIs included."""
    yield from PROBES.items()
    for name in requires.api:
        yield f"api.{name}", partial(wording.api, name=name)
