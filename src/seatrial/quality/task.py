"""Tasks with a known answer: small slices of public sets that ship, and a user's own JSON lines.

One item: a prompt, the name of a scorer, what it expects. The shipped slices are the first rows
of each set by a fixed rule (``task_data/SOURCES.md``: origin, licence, rule); they are
for a *paired* comparison with the reference, never for a score to be quoted. HumanEval's scorer
runs what the model wrote: only in a sandbox (``quality.sandbox``), and not at all without one.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from seatrial.core.errors import UsageError

SUITES = ("gsm8k", "bbh", "ifeval", "schema", "tools", "humaneval")
_MOST_BYTES = 64 << 20
Scorer = Literal["exact", "numeric", "contains", "rules", "schema", "tools", "code"]


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One task.

    Attributes:
        scorer: exact, numeric (last number of the answer), contains, rules (``expected``: list of
            {id, ...}), schema (``expected``: a JSON schema), tools (``expected``: list of calls),
            code (``expected``: {header, entry_point, test}; run in the sandbox).
        tools: function descriptions sent with the prompt (OpenAI shape).
        tokens: most tokens of the answer; None: the scorer's default.
    """

    id: str
    suite: str = "own"
    prompt: str
    scorer: Scorer = "exact"
    expected: Any = None
    tools: list[dict[str, Any]] | None = None
    tokens: int | None = None


def shipped(suite: str) -> list[Item]:
    """The shipped slice of one of ``SUITES``."""
    if suite not in SUITES:
        raise UsageError(
            f"there is no task suite {suite!r}",
            remedy=f"take {', '.join(SUITES)}, or a file of JSON lines",
        )
    file = resources.files("seatrial.quality").joinpath("task_data", f"{suite}.jsonl")
    return _decode(file.read_bytes(), suite)


def items_of(name: str, *, seed: int = 1) -> list[Item]:
    """Tasks by name: a shipped suite, ``retrieval:WORDS``, or a user's file."""
    from seatrial.quality.retrieval import retrieval_items

    if name in SUITES:
        return shipped(name)
    kind, colon, words = name.partition(":")
    if kind == "retrieval" and colon and words.isdigit():
        return retrieval_items(int(words), seed=seed)
    return load_items(Path(name))


def load_items(path: Path) -> list[Item]:
    """A user's own tasks.

    Raises:
        UsageError: not there, too large, a line that is no task, an id that stands twice.
    """
    if not path.is_file():
        raise UsageError(
            f"there is no task file {path.name}",
            where=str(path),
            remedy=f"name an existing file of JSON lines, or one of {', '.join(SUITES)}",
        )
    if path.stat().st_size > _MOST_BYTES:
        raise UsageError(
            f"{path.name} is larger than {_MOST_BYTES >> 20} MiB",
            where=str(path),
            remedy="take a smaller sample of tasks",
        )
    return _decode(path.read_bytes(), str(path))


def _decode(data: bytes, where: str) -> list[Item]:
    try:
        items = msgspec.json.Decoder(Item).decode_lines(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f"not a file of tasks: {error}",
            where=where,
            remedy='one JSON object a line: {"id": "a", "prompt": "...", "scorer": "exact", '
            '"expected": "..."}',
        ) from error
    if not items or len({item.id for item in items}) != len(items):
        raise UsageError(
            f"{len(items)} tasks with {len({item.id for item in items})} different ids",
            where=where,
            remedy="give every task an id of its own",
        )
    return items
