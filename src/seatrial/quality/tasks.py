"""Put tasks to an engine, score them, compare with the reference: non-inferior or not?

A candidate passes a suite when the whole 95 % interval of (its share right - the reference's) lies
above minus the margin; it fails when the whole interval lies below; else it is undecided, with the
number of tasks that would narrow the interval enough. A reference that solves nothing proves
nothing: that is undecided too, and said.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from seatrial.core.errors import EngineError, UsageError
from seatrial.core.ids import sha256_value
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import Provenance, provenance
from seatrial.quality.ask import Asker
from seatrial.quality.collect import Engine, extra_fields
from seatrial.quality.paired import Paired, paired
from seatrial.quality.sandbox import require_sandbox
from seatrial.quality.score import score
from seatrial.quality.task import Item

SCORES_SCHEMA = "seatrial/task-scores/1"
SCHEMA = "seatrial/task-result/1"
MARGIN = 0.05
_TOKENS = 256
_FEWEST_RIGHT = 5
_STAGE = "tasks"


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Right or wrong per task. Answers themselves are not kept."""

    schema: str
    candidate: str
    engine: str
    tasks_sha256: str
    suites: dict[str, str]  # task id -> suite
    right: dict[str, bool]
    errors: dict[str, str]
    provenance: Provenance


class TaskResult(msgspec.Struct, frozen=True, kw_only=True):
    """One suite, candidate against reference; ``margin`` and ``diff`` are shares of tasks."""

    schema: str
    suite: str
    verdict: str
    n: int
    margin: float
    reference: str
    candidate: str
    reference_right: int
    candidate_right: int
    pairs: Paired
    says: str


class _Function(msgspec.Struct, kw_only=True):
    name: str = ""
    arguments: Any = None


class _Call(msgspec.Struct, kw_only=True):
    function: _Function = msgspec.field(default_factory=_Function)


class _Message(msgspec.Struct, kw_only=True):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, kw_only=True):
    message: _Message = msgspec.field(default_factory=_Message)


class _Reply(msgspec.Struct, kw_only=True):
    choices: list[_Choice]


def ask_tasks(
    engine: Engine,
    items: list[Item],
    *,
    candidate: str = "",
    seed: int = 1,
    progress: Progress | None = None,
) -> Scores:
    """Put every task to the engine (greedy, chat route) and score the answer.

    A task that the engine does not answer counts as wrong and keeps its reason.

    Raises:
        EngineError: no task was answered at all.
        PrerequisiteError: a task's score runs code and no sandbox can be put up; nothing was asked.
    """
    progress = progress or Silent()
    if any(item.scorer == "code" for item in items):
        require_sandbox()
    name = engine.adapter.name
    right: dict[str, bool] = {}
    errors: dict[str, str] = {}
    with Asker(engine.base_url, engine.model, extra=extra_fields(name)) as asker:
        for number, item in enumerate(items, 1):
            try:
                text, calls = _answer(asker, item, seed)
                right[item.id] = score(item, text, calls)
            except EngineError as error:
                right[item.id] = False
                errors[item.id] = error.what
                if len(errors) == len(items):
                    raise
            progress.amount(_STAGE, number, len(items), "tasks")
    return Scores(
        schema=SCORES_SCHEMA,
        candidate=candidate or engine.model,
        engine=name,
        tasks_sha256=sha256_value(items),
        suites={item.id: item.suite for item in items},
        right=right,
        errors=errors,
        provenance=provenance(seeds={"tasks": seed}),
    )


def compare_tasks(
    reference: Scores, candidate: Scores, *, margin: float = MARGIN
) -> list[TaskResult]:
    """One result per suite.

    Raises:
        UsageError: the two answered other tasks.
    """
    if reference.tasks_sha256 != candidate.tasks_sha256:
        raise UsageError(
            "the two answered different tasks",
            where=f"{reference.candidate} and {candidate.candidate}",
            remedy="put the same tasks to both",
        )
    results = []
    for suite in sorted(set(reference.suites.values())):
        ids = [task for task, of in reference.suites.items() if of == suite]
        pairs = paired([reference.right[i] for i in ids], [candidate.right[i] for i in ids])
        results.append(_result(suite, pairs, reference, candidate, margin))
    return results


def _result(
    suite: str, pairs: Paired, reference: Scores, candidate: Scores, margin: float
) -> TaskResult:
    n = pairs.difference.n
    solved = pairs.both + pairs.only_reference
    low, high = pairs.difference.low, pairs.difference.high
    verdict = "pass" if low > -margin else "fail" if high < -margin else "undecided"
    says = (
        f"{suite}: {pairs.both + pairs.only_candidate} of {n} right, reference {solved}; "
        f"difference {pairs.difference.best:+.3f} [{low:+.3f}, {high:+.3f}], margin {margin:g}, "
        f"McNemar p {pairs.p:.3f}"
    )
    if solved < _FEWEST_RIGHT and verdict == "pass":
        verdict = "undecided"
        says += f"; the reference solves only {solved}: these tasks are too hard to tell"
    elif verdict == "undecided":
        says += f"; about {tasks_needed(pairs, margin)} tasks would settle it if nothing is lost"
    return TaskResult(
        schema=SCHEMA,
        suite=suite,
        verdict=verdict,
        n=n,
        margin=margin,
        reference=reference.candidate,
        candidate=candidate.candidate,
        reference_right=solved,
        candidate_right=pairs.both + pairs.only_candidate,
        pairs=pairs,
        says=says,
    )


def tasks_needed(pairs: Paired, margin: float) -> int:
    """Tasks for a half-width below the margin at this rate of differing answers (normal theory)."""
    n = pairs.difference.n
    differ = max(pairs.only_reference + pairs.only_candidate, 1) / n
    return math.ceil(1.96**2 * differ / margin**2)


def _answer(asker: Asker, item: Item, seed: int) -> tuple[str, list[dict[str, Any]]]:
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": item.prompt}],
        "temperature": 0.0,
        "seed": seed % (1 << 31),
        "max_tokens": item.tokens or _TOKENS,
        "stream": False,
    }
    if item.tools:
        body["tools"] = item.tools
    data = asker.post("/v1/chat/completions", body)
    try:
        reply = msgspec.json.decode(data, type=_Reply)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise EngineError(
            f"an answer that is not the API's JSON: {error}",
            where=asker.base_url,
            remedy="see the engine's log",
        ) from error
    message = reply.choices[0].message if reply.choices else _Message()
    calls = [
        {"name": call.function.name, "arguments": call.function.arguments}
        for call in message.tool_calls or []
    ]
    return message.content or "", calls
