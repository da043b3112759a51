"""Constraint on recurrent state: a hybrid's sequences each hold one block of it from the start.

vLLM keeps the states of a hybrid (Mamba, Gated DeltaNet, KDA) in the blocks of its one cache:
layers are grouped by kind into groups of as many layers as there are attention layers, and a
block of a group is as large as the state of its layers. From 0.20 on it refuses to start when
max_num_seqs exceeds the number of blocks (vllm-project/vllm#38270, merged in March 2026; before,
it capped its CUDA graphs silently); the default of 1024 on large devices often does.

    blocks = pool / (layers of a group * state of one layer on one rank)

SGLang shares the pool out between states and cache by mamba_full_memory_ratio (0.9) and holds
three slots a request back with its radix cache, five with the extra buffer and the overlapped
schedule, one without a radix cache (0.5.9 model_runner_kv_cache_mixin.py, 0.5.19
mem_cache/kv_cache_configurator.py, _calculate_mamba_ratio): fewer requests run than are asked.

    slots = pool * ratio / (1 + ratio) / state;  requests = slots / slots a request

TensorRT-LLM lays out the states of max_batch_size sequences, 2048 by default, in 16 bits before
anything else: 135 GiB of Nemotron-Nano-9B-v2 (NVIDIA/TensorRT-LLM#8642).
"""

from __future__ import annotations

import math

from seatrial.core.units import format_bytes
from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.pool import at_least, pool, scheduled_tokens
from seatrial.model import ModelInfo, memory


@constraint(
    "state_blocks",
    asks="Has every sequence that may run a block for its recurrent state?",
    needs="state of a hybrid's layers, max_num_seqs, pool bound",
    verdicts=("conditional", "unknown"),
    remedy="a lower max_num_seqs",
)
def state_blocks(case: Case) -> Finding | None:
    model = case.loaded
    if model is None or not model.recurrent or case.target.on_cpu:
        return None
    if case.engine == "sglang":
        return _slots_of_sglang(case, model)
    if case.engine == "tensorrt-llm":
        return _laid_out(case, model)
    if case.engine != "vllm" or case.set.eager:
        return None
    block = _block_bytes(case, model)
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


def _state(case: Case, model: ModelInfo, recurrent_bytes: int) -> int:
    """Bytes of one sequence's states on one rank, cut as the attention heads are."""
    tp, pp = case.attention_tp, case.pp
    return memory.state_bytes(model, tp=tp, pp=pp, recurrent_bytes=recurrent_bytes)


def _slots_of_sglang(case: Case, model: ModelInfo) -> Finding | None:
    half = str(case.args.get("mamba_ssm_dtype") or "") in {"bfloat16", "float16"}
    state = _state(case, model, 2 if half else memory.RECURRENT_BYTES)
    count = -(-(case.concurrency or 1) // (case.set.dp * case.set.attention_dp))  # of one copy
    found = pool(case) if state and at_least(case, "0.5.4") else None
    if found is None or found.room.best <= 0 or case.set.speculative or count < 2:
        return None
    each = _slots_each(case)
    given = case.args.get("max_mamba_cache_size")
    ratio = case.args.get("mamba_full_memory_ratio")
    part = float(ratio) if isinstance(ratio, int | float) else 0.9
    slots = [int(n * part / (1 + part)) // state - 1 for n in (found.room.best, found.room.upper)]
    if isinstance(given, int):
        slots = [given // case.set.attention_dp] * 2  # the flag is of the whole group
    elif case.args.get("disable_radix_cache") and case.set.seqs:
        return None
    best, most = (n // each for n in slots)
    if count <= best:
        return None
    over = count > most
    return Finding(
        verdict=Verdict.CONDITIONAL if over else Verdict.UNKNOWN,
        numbers={"slots": slots[0], "slots_a_request": each, "state_bytes": state},
        says=f"about {slots[0]} slots of state at {each} a request run {best} of {count} requests "
        f"at once{_of_a_copy(case)}, the others wait",
        remedy="--disable-radix-cache, --mamba-ssm-dtype bfloat16, a higher "
        "--mamba-full-memory-ratio or --max-mamba-cache-size",
        probe=None if over else case.probe("boot_log"),
    )


def _of_a_copy(case: Case) -> str:
    return " in each copy" if case.set.dp * case.set.attention_dp > 1 else ""


def _slots_each(case: Case) -> int:
    """Slots of state that SGLang holds for one request. Its strategy chose no buffer by default
    up to 0.5.9; 0.5.19 reports five slots a request (sgl-project/sglang#38846)."""
    if case.args.get("disable_radix_cache"):
        return 1
    names = ("mamba_scheduler_strategy", "mamba_radix_cache_strategy")
    word = next((str(case.args[n]) for n in names if n in case.args), "auto")
    if word == "auto":
        word = "extra_buffer" if at_least(case, "0.5.19") else "no_buffer"
    if word == "no_buffer":
        return 3
    return 4 if word.endswith("lazy") or case.args.get("disable_overlap_schedule") else 5


def _laid_out(case: Case, model: ModelInfo) -> Finding | None:
    fact = case.known.get("default", "max_batch_size")
    state, found = _state(case, model, 2), pool(case)
    seqs = case.set.seqs or (int(fact.value) if fact is not None else None)
    if not state or found is None or seqs is None:
        return None
    free = found.total - found.weights.lower - found.activation.lower - found.other.lower
    if seqs * state <= free:
        return None
    fits = max(int((found.total - found.weights.upper) * 0.5) // state, 1)
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"max_batch_size": seqs, "state_bytes": state, "needed_bytes": seqs * state},
        facts=[fact] if fact and not case.set.seqs else [],
        says=f"the states of {seqs} sequences (max_batch_size) take {format_bytes(seqs * state)}, "
        f"{format_bytes(max(free, 0))} are free: allocation fails",
        remedy=f"--max_batch_size {fits}",
    )


def _block_bytes(case: Case, model: ModelInfo) -> int | None:
    """Bytes of one block of one group on one rank; null for a model without recurrent layers."""
    states = [g for g in model.cache if g.kind == "state"]
    attention = sum(g.layers for g in model.cache if g.kind in {"full", "latent", "sliding"})
    layers = [n for n in (attention, sum(g.layers for g in states)) if n]
    if not states or not layers:
        return None
    group = math.ceil(min(layers) * memory.stage_share(model, case.pp))  # of the fullest stage
    return max(memory.layer_state(g) for g in states) * group // case.attention_tp
