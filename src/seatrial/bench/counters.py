"""The engine's own counters before and after a cell: differences, never running totals.

Counters are cumulative since the engine's start, and logged rates are windows of their own; what
happened in a cell is the difference at its borders, summed over all label sets. A counter that
went down means the engine restarted, which voids the cell. Foreign load shows as requests or
tokens that the client did not send.
"""

from __future__ import annotations

import msgspec

from seatrial.bench.cell import Finding
from seatrial.core.errors import EngineError
from seatrial.engines import RunningEngine
from seatrial.loadgen.metrics import output_tokens
from seatrial.loadgen.records import Records
from seatrial.telemetry.prometheus import total

_NAMES = ("running", "waiting", "prefix_hits", "prefix_queries", "preemptions", "prompt_tokens",
          "output_tokens")  # fmt: skip
_COUNTERS = _NAMES[2:]


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Values by our name; None where the engine does not export one."""

    values: dict[str, float | None]


def read(engine: RunningEngine) -> Counters:
    """The counters now; all None where the engine serves no metrics."""
    try:
        text = engine.metrics_text()
    except EngineError:
        text = ""
    names = {name: getattr(engine.adapter.metrics, name) for name in _NAMES}
    return Counters(
        values={name: total(text, full) if full else None for name, full in names.items()}
    )


def differences(before: Counters, after: Counters) -> dict[str, float | None]:
    """after - before of every counter."""
    out: dict[str, float | None] = {}
    for name in _COUNTERS:
        a, b = after.values.get(name), before.values.get(name)
        out[name] = None if a is None or b is None else a - b
    return out


def judge(before: Counters, after: Counters, records: Records) -> tuple[list[str], list[Finding]]:
    """Reasons why the cell is void, and findings."""
    reasons: list[str] = []
    moved = differences(before, after)
    back = [name for name, value in moved.items() if value is not None and value < 0]
    if back:
        reasons.append(f"the engine's counters went back ({', '.join(back)}): it restarted")
    busy = (before.values.get("running") or 0) + (before.values.get("waiting") or 0)
    if busy > 0:
        reasons.append(f"{busy:.0f} requests of others were running before the first was sent")
    ours = output_tokens(records)
    whole = records.counts()["completed"] == records.n
    made = moved["output_tokens"]
    if made is not None and whole and ours and made > 1.02 * ours + 16:
        reasons.append(
            f"the engine made {made:.0f} tokens, {made - ours:.0f} more than this client received:"
            " others used it at the same time"
        )
    return reasons, _cache_finding(moved, records)


def _cache_finding(moved: dict[str, float | None], records: Records) -> list[Finding]:
    cached = records.ints["cached_tokens"]
    told = cached[cached >= 0].sum() if (cached >= 0).any() else None
    hits = moved["prefix_hits"]
    if told is None and hits is None:
        return []
    asked = records.ints["input_tokens"].clip(min=0).sum()
    share = float(told if told is not None else hits or 0) / asked if asked else 0.0
    source = "usage" if told is not None else "the engine's counters"
    return [
        Finding(
            id="cached-share",
            level="info",
            says=f"{share:.1%} of the input tokens came from the prefix cache",
            evidence=f"{source}: {told if told is not None else hits} of {asked}",
        )
    ]
