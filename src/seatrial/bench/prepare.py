"""From a table of requests to bodies: exact lengths, declared sharing, every sampling field.

A trace with sessions is replayed as conversations: each turn carries the answers before it, and
its new words bring it to the traced length. Everything else is one message of the traced length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from seatrial.bench.lora import Adapters, adapters_for
from seatrial.bench.replay import Replay
from seatrial.bench.style import Caller
from seatrial.core.seeds import stream
from seatrial.core.units import s_to_ns
from seatrial.loadgen.body import make_body
from seatrial.loadgen.lexicon import Lexicon, NotExact, estimate, find
from seatrial.loadgen.plan import ANSWER_MARK
from seatrial.loadgen.prompts import PromptMaker, block_slice
from seatrial.loadgen.run import Planned, planned
from seatrial.trace.table import RequestTable

DEFAULT_OUTPUT_TOKENS = 128
DEFAULT_INPUT_TOKENS = 256
_SCHEMA = {
    "type": "object",
    "properties": {"word": {"type": "string"}, "count": {"type": "integer"}},
    "required": ["word", "count"],
    "additionalProperties": False,
}
OWN_BODIES = "own bodies"
_ESTIMATED = (
    "the server's counts allow no prompts of exact length: a prompt is so many words, each taken"
    " for {each:.3g} tokens; input lengths are estimates"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests that are ready to be sent.

    Attributes:
        plan: bodies and columns.
        lexicon: what the prompts are made of.
        assumptions: what had to be assumed because the trace does not say.
    """

    plan: Planned
    lexicon: Lexicon
    assumptions: list[str]


def lexicon_for(caller: Caller, *, exact: bool = True) -> Lexicon:
    """Ask the engine for words of one token and the template's overhead.

    Args:
        exact: False: where the server's counts allow no exact prompts, an estimate will do.

    Raises:
        NotExact: exact prompts were asked for and cannot be made.
    """
    count_turn = caller.count_turn if caller.route == "chat" else None
    try:
        return find(
            caller.count_prompt,
            count_text=caller.count_text(),
            count_turn=count_turn,
            where=caller.engine.base_url,
        )
    except NotExact:
        if exact:
            raise
    try:
        return estimate(caller.count_prompt)
    except NotExact:
        return estimate(None)


def prepare(
    table: RequestTable,
    caller: Caller,
    seed: int,
    *,
    lexicon: Lexicon | None = None,
    cancel: Cancel | None = None,
) -> Prepared:
    """Make the requests of a table for one engine.

    Args:
        seed: of this cell; it enters every prompt, so that no cell repeats another's.
        cancel: which share of the requests the client closes before their end.
    """
    lexicon = lexicon or lexicon_for(caller)
    assumptions: list[str] = []
    n = table.n
    if not lexicon.exact:
        assumptions.append(_ESTIMATED.format(each=lexicon.tokens_per_word))
    inputs = _lengths(table.input_tokens, n, DEFAULT_INPUT_TOKENS, "input", assumptions)
    outputs = _lengths(table.output_tokens, n, DEFAULT_OUTPUT_TOKENS, "output", assumptions)
    none = np.full(n, -1, np.int64)
    sessions = table.session is not None and caller.route == "chat"
    columns = {
        "scheduled_ns": np.zeros(n, np.int64) if table.arrival_ns is None else table.arrival_ns,
        "input_tokens": inputs,
        "output_tokens": outputs,
        "session": table.session if sessions and table.session is not None else none,
        "turn": table.turn if sessions and table.turn is not None else none,
    }
    if cancel is not None:
        columns |= _cancelled(cancel, n, seed)
    maker = PromptMaker(lexicon, seed)
    smallest = lexicon.overhead + 1
    short = int((inputs < smallest).sum())
    if short:
        assumptions.append(
            f"{short} requests are shorter than template and one word ({smallest} tokens)"
        )
        columns["input_tokens"] = np.maximum(inputs, smallest)
    lora = adapters_for(table, caller.engine)
    assumptions += lora.assumptions
    bodies = (
        _conversations(table, caller, maker, columns, lora)
        if sessions
        else _singles(table, caller, maker, columns, lora)
    )
    return Prepared(plan=planned(bodies, n, **columns), lexicon=lexicon, assumptions=assumptions)


def prepare_replay(replay: Replay) -> Prepared:
    """A file's own bodies at its own times; nothing is made and nothing changed."""
    table = replay.table
    n = table.n
    none = np.full(n, -1, np.int64)
    columns = {
        "scheduled_ns": np.zeros(n, np.int64) if table.arrival_ns is None else table.arrival_ns,
        "output_tokens": none,
        "session": none if table.session is None else table.session,
        "turn": none if table.turn is None else table.turn,
    }
    lexicon = Lexicon(first="", words=(), overhead=0, per_turn=0, source=OWN_BODIES, verified=0)
    said = [f"bodies are sent as they stand in {replay.path.name}: lengths are not forced"]
    return Prepared(plan=planned(replay.bodies(), n, **columns), lexicon=lexicon, assumptions=said)


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """A share of the requests is closed by the client, after tokens or after a time."""

    share: float
    after_tokens: int | None = None
    after_s: float | None = None


def _cancelled(cancel: Cancel, n: int, seed: int) -> dict[str, np.ndarray]:
    """The columns of a plan that close the drawn requests."""
    drawn = stream(seed, "cancel").random(n) < cancel.share
    tokens = -1 if cancel.after_tokens is None else cancel.after_tokens
    after = -1 if cancel.after_s is None else s_to_ns(cancel.after_s)
    return {
        "cancel_tokens": np.where(drawn, tokens, -1).astype(np.int64),
        "cancel_ns": np.where(drawn, after, -1).astype(np.int64),
    }


def features_of(table: RequestTable, index: int) -> tuple[bool, dict[str, Any]]:
    """Whether one request streams, and the fields that its traced features ask for.

    ``schema`` asks for an answer that follows a JSON schema, ``tools`` offers one function. Such
    answers end by themselves, so their length is not forced.
    """
    fields: dict[str, Any] = {}
    marks = {name: bool(column[index]) for name, column in table.features.items()}
    if marks.get("schema"):
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": _SCHEMA, "strict": True},
        }
    if marks.get("tools"):
        function = {"name": "look_up", "description": "Looks a word up.", "parameters": _SCHEMA}
        fields["tools"] = [{"type": "function", "function": function}]
    return marks.get("stream", True), fields


def _lengths(
    column: np.ndarray | None, n: int, default: int, name: str, assumptions: list[str]
) -> np.ndarray:
    if column is None:
        assumptions.append(f"the trace has no {name} lengths: {default} tokens each")
        return np.full(n, default, np.int64)
    missing = column < 0
    if missing.any():
        known = column[~missing]
        fill = int(np.median(known)) if len(known) else default
        assumptions.append(f"{int(missing.sum())} requests lack the {name} length: {fill} tokens")
        column = np.where(missing, fill, column)
    least: np.ndarray = np.maximum(column, 1)
    return least


def _body(
    caller: Caller,
    messages: Any,
    outputs: int,
    table: RequestTable,
    index: int,
    lora: Adapters,
) -> bytes:
    streams, fields = features_of(table, index) if table.features else (True, {})
    style = caller.style
    if fields and caller.route == "chat":
        style = msgspec.structs.replace(style, force_length=False)
    else:
        fields = {}
    return make_body(
        caller.engine.model,
        messages,
        outputs,
        caller.sampling,
        style,
        stream=streams,
        features={**fields, **lora.of(index)},
    )


def _singles(
    table: RequestTable,
    caller: Caller,
    maker: PromptMaker,
    columns: dict[str, np.ndarray],
    lora: Adapters,
) -> Iterator[bytes]:
    inputs, outputs = columns["input_tokens"], columns["output_tokens"]
    size = table.blocks.block_tokens if table.blocks is not None else 0
    for i in range(table.n):
        text = maker.prompt(i, int(inputs[i]), block_slice(table.blocks, i), size)
        messages: Any = text if caller.route == "completions" else [_user(text)]
        yield _body(caller, messages, int(outputs[i]), table, i, lora)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _conversations(
    table: RequestTable,
    caller: Caller,
    maker: PromptMaker,
    columns: dict[str, np.ndarray],
    lora: Adapters,
) -> Iterator[bytes]:
    """Each body holds the whole conversation; answers are marks that the driver fills in."""
    inputs, outputs, session = (columns[k] for k in ("input_tokens", "output_tokens", "session"))
    size = table.blocks.block_tokens if table.blocks is not None else 0
    answered: dict[int, int] = {}
    told: dict[int, tuple[list[dict[str, str]], int]] = {}
    for i in range(table.n):
        number = int(session[i])
        history, tokens = told.get(number, ([], 0))
        wanted = int(inputs[i])
        fresh = wanted - tokens - maker.lexicon.per_turn
        if history and fresh >= 1:
            fresh = maker.words_of(fresh)
            first = maker.lexicon.first
            text = first + maker.request_words(i, fresh - 1) if fresh > 1 else first
            messages = [*history, _user(text)]
        else:  # the conversation's start, or a turn whose history was cut
            messages = [_user(maker.prompt(i, wanted, block_slice(table.blocks, i), size))]
        yield _body(caller, messages, int(outputs[i]), table, i, lora)
        mark = ANSWER_MARK.format(turn=answered.get(number, 0))
        answered[number] = answered.get(number, 0) + 1
        told[number] = ([*messages, _assistant(mark)], wanted + int(outputs[i]))
