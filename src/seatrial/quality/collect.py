"""Put the fixed prompts to a running engine and keep what it says.

Greedy, one request at a time, the engine's own template on the chat route. A prompt that an
engine does not answer is kept as an error, never dropped: the comparison counts it.
"""

from __future__ import annotations

from typing import Any, Protocol

from seatrial.core.errors import EngineError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import provenance
from seatrial.quality.answers import SCHEMA, Answer, Answers
from seatrial.quality.ask import Asker
from seatrial.quality.precision import precision_of
from seatrial.quality.prompts import Prompt, fingerprint, fixed

TOKENS = 8
TOP = 20  # what OpenAI's route allows, and vLLM's --max-logprobs default
_STAGE = "quality"
_MOST_ERRORS_IN_A_ROW = 5


class Named(Protocol):
    """An adapter, as far as this stage needs it."""

    @property
    def name(self) -> str:
        """The engine's name."""


class Engine(Protocol):
    """A running engine, as far as this stage needs it.

    Where it has an attribute ``artefact`` (a path or None), the precision is read from there.
    """

    @property
    def base_url(self) -> str:
        """Where it answers, e.g. http://127.0.0.1:40123."""

    @property
    def model(self) -> str:
        """The name under which it serves the model."""

    @property
    def adapter(self) -> Named:
        """Which engine it is."""


def extra_fields(engine: str) -> dict[str, Any]:
    """Fields that make one engine answer the same way each time.

    llama.cpp: no prompt cache, so that a prompt is evaluated in the same batch shape whatever
    was asked before it.
    """
    return {"cache_prompt": False} if engine == "llama.cpp" else {}


def collect(
    engine: Engine,
    *,
    candidate: str = "",
    prompts: list[Prompt] | None = None,
    seed: int = 1,
    tokens: int = TOKENS,
    top: int = TOP,
    progress: Progress | None = None,
) -> Answers:
    """Answers of ``engine`` to ``prompts`` (the shipped set by default).

    Args:
        candidate: the candidate's id, carried along; the model's name by default.
        tokens: most tokens of each answer; ``top``: log-probabilities per token.

    Raises:
        EngineError: the engine answers nothing (five prompts in a row without an answer).
    """
    progress = progress or Silent()
    asked = fixed() if prompts is None else prompts
    name = engine.adapter.name
    progress.step(_STAGE, f"{len(asked)} prompts to {name}, greedy, with log-probabilities")
    answers: list[Answer] = []
    in_a_row = 0
    with Asker(engine.base_url, engine.model, extra=extra_fields(name)) as asker:
        for number, prompt in enumerate(asked, 1):
            try:
                positions = asker.positions(prompt, tokens=tokens, top=top, seed=seed)
                answers.append(Answer(prompt=prompt.id, positions=positions))
                in_a_row = 0
            except EngineError as error:
                in_a_row += 1
                if in_a_row == _MOST_ERRORS_IN_A_ROW or in_a_row == len(asked):
                    raise
                answers.append(Answer(prompt=prompt.id, positions=[], error=error.what))
            progress.amount(_STAGE, number, len(asked), "prompts")
    return Answers(
        schema=SCHEMA,
        candidate=candidate or engine.model,
        engine=name,
        model=engine.model,
        tokens=tokens,
        top=top,
        seed=seed,
        prompts_sha256=fingerprint(asked),
        answers=answers,
        provenance=provenance(seeds={"quality": seed}),
        precision=precision_of(getattr(engine, "artefact", None)),
    )
