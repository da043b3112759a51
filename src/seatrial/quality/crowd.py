"""Does an answer depend on who else is being served?

The same greedy prompt alone and in a crowd: batching changes the shapes of matrix products and
with them the order of floating-point sums, so that a near tie can flip. That is no defect, but
whoever compares answers across loads must know how often it happens. Each prompt is asked alone
first; then all of them at once, ``width`` connections in parallel; a prompt is steady when both
answers have the same tokens.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec

from seatrial.core.progress import Progress, Silent
from seatrial.quality.ask import Asker
from seatrial.quality.collect import Engine, extra_fields
from seatrial.quality.prompts import Prompt, fixed
from seatrial.stats.interval import Interval, proportion_interval

SCHEMA = "seatrial/crowd/1"
_STAGE = "crowd"


class CrowdResult(msgspec.Struct, frozen=True, kw_only=True):
    """Share of prompts with the same tokens alone and among ``width`` others at once.

    ``first_difference``: 0-based token at which each unsteady prompt's answers part.
    ``shift_nats``: largest change of a chosen token's log-probability before they part.
    """

    schema: str
    width: int
    tokens: int
    steady: Interval
    first_difference: dict[str, int]
    shift_nats: float


def crowd(
    engine: Engine,
    *,
    width: int = 4,
    prompts: list[Prompt] | None = None,
    tokens: int = 16,
    seed: int = 1,
    progress: Progress | None = None,
) -> CrowdResult:
    """Ask alone, ask in a crowd, compare.

    Raises:
        EngineError: a prompt is not answered.
    """
    progress = progress or Silent()
    asked = fixed()[:16] if prompts is None else prompts
    extra = extra_fields(engine.adapter.name)

    def one(prompt: Prompt) -> list[tuple[str, float]]:
        with Asker(engine.base_url, engine.model, extra=extra) as asker:
            found = asker.positions(prompt, tokens=tokens, top=1, seed=seed)
        return [(position.token, position.logprob) for position in found]

    progress.step(_STAGE, f"{len(asked)} prompts alone, then {width} at once")
    alone = [one(prompt) for prompt in asked]
    with ThreadPoolExecutor(max_workers=width) as pool:
        together = list(pool.map(one, asked))
    parted: dict[str, int] = {}
    shift = 0.0
    for prompt, first, second in zip(asked, alone, together, strict=True):
        same = [a[0] == b[0] for a, b in zip(first, second, strict=False)]
        agreed = same.index(False) if False in same else len(same)
        if agreed < max(len(first), len(second)):
            parted[prompt.id] = agreed
        changes = [abs(a[1] - b[1]) for a, b in zip(first[:agreed], second[:agreed], strict=True)]
        shift = max([shift, *changes])
    return CrowdResult(
        schema=SCHEMA,
        width=width,
        tokens=tokens,
        steady=proportion_interval(len(asked) - len(parted), len(asked)),
        first_difference=parted,
        shift_nats=shift,
    )
