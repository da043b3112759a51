"""What a trial measured, as the simulator needs it: observed requests, limits and policy.

The engine's own effective settings set the limits: slots or sequences, the token budget, the
size of the cache. KV blocks that the engine reports win over computed ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seatrial.bench.cell import Cell
from seatrial.core.errors import MeasurementInvalid, PrerequisiteError
from seatrial.fit.observe import Observed, observe
from seatrial.sim.kvpool import kv_pool, whole
from seatrial.sim.load import Load, make_load
from seatrial.sim.policies import POLICIES
from seatrial.sim.policy import Limits, Policy
from seatrial.store.artifact import read

_UNLIMITED = 1 << 20


@dataclass(frozen=True, slots=True)
class Measured:
    """One valid cell: its requests as observed, and how its engine was set."""

    candidate: str
    start: int
    observed: Observed
    limits: Limits
    policy: Policy
    effective: dict[str, Any]


def measured_cells(trial: Path, candidate: str | None = None) -> tuple[list[Measured], list[str]]:
    """Valid cells of a trial (of one candidate) that can be simulated, and why others cannot.

    Raises:
        PrerequisiteError: the trial has no cells.
    """
    found: list[Measured] = []
    left_out: list[str] = []
    paths = sorted(
        path
        for path in trial.glob("cells/*/*/cell.json")
        if candidate in (None, path.parent.parent.name) and not path.parent.name.startswith(".")
    )
    if not paths:
        raise PrerequisiteError(
            "this trial has no measured cells",
            where=str(trial),
            unchanged="the trial",
            remedy="measure them: seatrial run WORKLOAD",
        )
    for path in paths:
        cell = read(path, Cell)
        name = f"{cell.candidate}/{cell.start:03d}"
        if not cell.valid:
            left_out.append(f"{name}: invalid, {'; '.join(cell.invalid_because)}")
            continue
        try:
            load = str(cell.comparability.get("trace") or "unknown")
            seen = observe(path.parent / "requests.parquet", name=name, load=load)
        except MeasurementInvalid as error:
            left_out.append(error.what)
            continue
        limits, policy = engine_limits(cell.effective, longest(seen))
        found.append(
            Measured(cell.candidate, cell.start, seen, limits, policy, dict(cell.effective))
        )
    return found, left_out


def longest(cell: Observed) -> int:
    """Tokens of the longest request, prompt and answer."""
    return int((cell.input + cell.output).max())


def engine_limits(
    effective: dict[str, Any], longest_request: int, *, computed_pool: int | None = None
) -> tuple[Limits, Policy]:
    """Limits and scheduler of an engine from its effective settings.

    A per-slot context without a reported pool is a reservation (llama.cpp); a reported pool of
    tokens is paged, and so is a computed one (``computed_pool`` tokens), which only counts where
    the engine reports none. What is not known is taken as no limit.
    """
    slots = whole(effective.get("slots")) or whole(effective.get("max_seqs")) or 256
    budget = max(whole(effective.get("max_batch_tokens")) or 2048, slots)
    found = kv_pool(effective, computed_pool)
    pool = found.tokens if found.used in ("reported", "computed") else None
    context = whole(effective.get("context_tokens"))
    block = whole(effective.get("block_tokens")) or 16
    if pool:
        limits = Limits(
            max_seqs=slots, token_budget=budget, blocks=max(pool // block, 1), block_tokens=block
        )
    elif context:
        reserve = max(context, longest_request)
        limits = Limits(
            max_seqs=slots,
            token_budget=budget,
            blocks=slots * -(-reserve // block),
            block_tokens=block,
            reserve_tokens=reserve,
        )
    else:
        limits = Limits(max_seqs=slots, token_budget=budget, blocks=_UNLIMITED)
    return limits, POLICIES["chunked-prefill"]


def load_of(cell: Observed) -> Load:
    """The load that a cell's engine was under: scheduled arrivals, real lengths."""
    order = np.argsort(cell.arrival, kind="stable")
    return make_load(cell.arrival[order], cell.input[order], cell.output[order], cell.cached[order])
