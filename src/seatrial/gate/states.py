"""Constraint on recurrent state: a hybrid's sequences each hold one block of it from the start.

vLLM keeps the states of a hybrid (Mamba, Gated DeltaNet, KDA) in the blocks of its one cache:
layers are grouped by kind into groups of as many layers as there are attention layers, and a
block of a group is as large as the state of its layers. From 0.20 on it refuses to start when
max_num_seqs exceeds the number of blocks (vllm-project/vllm#38270, merged in March 2026; before,
it capped its CUDA graphs silently); the default of 1024 on large devices often does.

    blocks = pool / (layers of a group * state of one layer on one rank)
"""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.pool import at_least, pool, scheduled_tokens
from seatrial.model import ModelInfo
from seatrial.model.memory import RECURRENT_BYTES


@constraint(
    "state_blocks",
    asks="Has every sequence that may run a block for its recurrent state?",
    needs="state of a hybrid's layers, max_num_seqs, pool bound",
    verdicts=("conditional",),
    remedy="a lower max_num_seqs",
)
def state_blocks(case: Case) -> Finding | None:
    model = case.loaded
    if case.engine != "vllm" or model is None or case.target.on_cpu or case.set.eager:
        return None
    block = block_bytes(model, case.tp)
    found = pool(case) if block and at_least(case, "0.20.0") else None
    if found is None or not block or found.room.best <= 0:
        return None
    seqs, blocks = scheduled_tokens(case)[0], found.room.best // block
    safe = max(found.room.lower // block, 1)
    numbers = {"max_num_seqs": seqs, "blocks": blocks, "block_bytes": block}
    if seqs <= (blocks if case.set.seqs or found.room.lower <= 0 else safe):
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers=dict(numbers),
            says=f"{seqs} sequences and about {blocks} blocks of recurrent state",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=dict(numbers),
        says=f"each of {seqs} sequences (max_num_seqs) needs a block of recurrent state, the pool "
        f"holds about {blocks} ({safe} for sure): start-up refuses more sequences than blocks",
        remedy=f"--max-num-seqs {min(safe, blocks)}, or a higher share of memory",
    )


def block_bytes(model: ModelInfo, tp: int) -> int | None:
    """Bytes of one block of one group on one rank; null for a model without recurrent layers."""
    states = [g for g in model.cache if g.kind == "state"]
    if not states:
        return None
    attention = sum(g.layers for g in model.cache if g.kind in {"full", "latent", "sliding"})
    one = max(g.recurrent_elements * RECURRENT_BYTES + g.conv_elements * 2 for g in states)
    group = min([n for n in (attention, sum(g.layers for g in states)) if n])
    return one * group // tp
