"""Structured programs: what the grammar costs, and what the program around it adds.

The same prompt with the schema and without it, and each schema twice: its first use compiles a
grammar, its second finds it compiled. Names in the schema are new in every run, so that a first
use is one. Validity is checked here by the schema's own few rules, not by the engine.
"""

from __future__ import annotations

import json
import time
from statistics import median
from typing import Any

from seatrial.probe.family.bench import Stand, forced, made_per_s, rounded
from seatrial.probe.family.record import FamilyTrial, Value
from seatrial.probe.subject import Spoken, Subject

TOKENS = 96
REPEATS = 3
SIZES = (2, 6, 16)
"""Properties of the schemas: the measure of their complexity, with the bytes beside it."""
PROMPT = "Describe a ship."
STEPS = 3


def schema_of(properties: int, tag: str) -> dict[str, Any]:
    """A closed object of booleans and short enumerations; every property is required."""
    kinds: list[dict[str, Any]] = [{"type": "boolean"}, {"enum": ["red", "blue", "green"]}]
    names = {f"{tag}{i}": kinds[i % 2] for i in range(properties)}
    return {
        "type": "object",
        "properties": names,
        "required": list(names),
        "additionalProperties": False,
    }


def obeys(text: str, schema: dict[str, Any]) -> bool:
    """Is the text one object of the schema that ``schema_of`` made?"""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    wanted = schema["properties"]
    if not isinstance(value, dict) or set(value) != set(wanted):
        return False
    return all(
        isinstance(value[k], bool) if "type" in rule else value[k] in rule["enum"]
        for k, rule in wanted.items()
    )


def grammar_cost(stand: Stand, subject: Subject) -> FamilyTrial:
    """TTFT and tokens per second with and without a schema, first use against compiled ones."""
    adapter = subject.engine.adapter
    free = [_free(subject) for _ in range(REPEATS)]
    rows: list[list[Value]] = [_row("none", 0, 0, free[:1], free[1:], None)]
    share = 1.0
    for size in SIZES:
        tag = _tag()
        schema = schema_of(size, tag)
        request = adapter.constraint("json_schema", schema)
        if request is None:
            break
        spoken = [subject.speak(PROMPT, 24 * size + 48, **request) for _ in range(REPEATS)]
        valid = sum(obeys(s.text, schema) for s in spoken) / len(spoken)
        share = min(share, valid)
        length = len(json.dumps(schema))
        rows.append(_row("json_schema", size, length, spoken[:1], spoken[1:], valid))
    if len(rows) == 1:
        says = "this engine has no way to ask for a JSON schema"
    else:
        says = _says(rows, share)
    return FamilyTrial(
        id="grammar_cost",
        says=says,
        columns=[
            *("constraint", "properties", "schema, bytes", "TTFT first use, ms"),
            *("TTFT compiled, ms", "tokens/s", "valid, share"),
        ],
        rows=rows,
    )


def _tag() -> str:
    """Three letters that no earlier schema began its names with: its grammar is not compiled."""
    number = time.monotonic_ns() // 1000
    return "".join(chr(ord("a") + number // 26**place % 26) for place in range(3))


def _free(subject: Subject) -> Spoken:
    return subject.speak(PROMPT, TOKENS, **forced(subject))


def _row(
    kind: str, size: int, length: int, first: list[Spoken], rest: list[Spoken], valid: float | None
) -> list[Value]:
    speeds = [v for s in [*first, *rest] if (v := made_per_s(s)) is not None]
    return [
        kind,
        size,
        length,
        rounded(_ttft(first)),
        rounded(_ttft(rest)),
        rounded(median(speeds)) if speeds else None,
        rounded(valid, 3),
    ]


def _ttft(spoken: list[Spoken]) -> float | None:
    times = [s.ttft_ms for s in spoken if s.ttft_ms is not None]
    return median(times) if times else None


def _says(rows: list[list[Value]], share: float) -> str:
    free, last = rows[0][5], rows[-1][5]
    first, again = rows[-1][3], rows[-1][4]
    parts = [f"{share:.0%} of the answers valid at worst"]
    if isinstance(free, float) and isinstance(last, float) and free:
        parts.append(f"{last / free:.2f} of the free speed under the largest schema")
    if isinstance(first, float) and isinstance(again, float):
        parts.append(f"its first use takes {first - again:+.0f} ms more TTFT than a compiled one")
    return "; ".join(parts)


def program(stand: Stand, subject: Subject) -> FamilyTrial:
    """A chain of constrained calls, each built from the one before: time in the engine, outside."""
    rows: list[list[Value]] = []
    inside, began, good = 0.0, time.monotonic(), 0
    words = "start"
    for step in range(STEPS):
        schema = schema_of(2, f"s{step}")
        request = subject.engine.adapter.constraint("json_schema", schema)
        if request is None:
            return FamilyTrial(
                id="program", says="no JSON schema can be asked for", columns=[], rows=[]
            )
        spoken = subject.speak(f"{PROMPT} Continue from: {words}", 64, **request)
        inside += spoken.total_ms
        fine = obeys(spoken.text, schema)
        good += fine
        rows.append([step + 1, rounded(spoken.ttft_ms), rounded(spoken.total_ms), fine])
        words = spoken.text[:80]
        if not fine:
            break
    whole = (time.monotonic() - began) * 1e3
    return FamilyTrial(
        id="program",
        says=f"{good} of {STEPS} steps valid in {whole:.0f} ms, "
        f"{max(0.0, whole - inside) / whole:.1%} of it outside the engine",
        columns=["step", "TTFT, ms", "whole, ms", "valid"],
        rows=rows,
    )
