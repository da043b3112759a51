"""What may be turned on each engine: a small space of its own flags, drawn from the seed.

Only flags that decide how work is scheduled and batched stand here. What would make it another
deployment (weights, KV dtype, context, parallel size) does not: a tuned engine must still carry the
comparability key of the untuned one. A flag that was not extracted for the installed version is
left out and named, so that no configuration is tried that the engine would refuse or ignore.
"""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from seatrial.core.ids import canonical_json
from seatrial.core.seeds import stream
from seatrial.engines.environment import Environment
from seatrial.engines.registry import adapter
from seatrial.facts.shortened import plain

Flags = dict[str, Any]


class Dial(msgspec.Struct, frozen=True, kw_only=True):
    """One flag and the values tried; the engine's own default is tried as well, by leaving it."""

    flag: str
    values: tuple[Any, ...]


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """The search space of one engine at one version.

    Attributes:
        source: where the flags are known from.
        left_out: flags of the adapter's list that this version is not known to have.
    """

    dials: list[Dial]
    left_out: list[str]
    source: str


_DIALS: dict[str, tuple[Dial, ...]] = {
    "llama.cpp": (
        Dial(flag="ubatch_size", values=(64, 128, 256)),
        Dial(flag="batch_size", values=(256, 512)),
        Dial(flag="flash_attn", values=("off",)),
        Dial(flag="kv_unified", values=(True,)),
    ),
    "vllm": (
        Dial(flag="max_num_batched_tokens", values=(128, 256, 1024)),
        Dial(flag="long_prefill_token_threshold", values=(64, 128)),
        Dial(flag="async_scheduling", values=(True, False)),
    ),
    "sglang": (
        Dial(flag="chunked_prefill_size", values=(64, 128, 256)),
        Dial(flag="schedule_policy", values=("lpm", "shortest-prefill-first")),
        Dial(flag="enable_mixed_chunk", values=(True,)),
        Dial(flag="disable_overlap_schedule", values=(True,)),
    ),
    "tensorrt-llm": (
        Dial(flag="max_num_tokens", values=(2048, 4096, 16384)),
        Dial(flag="enable_chunked_prefill", values=(True,)),
    ),
    "lmdeploy": (
        Dial(flag="max_prefill_token_num", values=(2048, 4096, 16384)),
        Dial(flag="cache_block_seq_len", values=(32, 128)),
    ),
    "tgi": (
        Dial(flag="max_batch_prefill_tokens", values=(2048, 4096, 16384)),
        Dial(flag="waiting_served_ratio", values=(0.3, 2.0)),
        Dial(flag="max_waiting_tokens", values=(5, 40)),
    ),
}


def space(engine: str, environment: Environment) -> Space:
    """The dials of an engine that its installed version has; empty where none are known."""
    chosen = adapter(engine)
    known, source = chosen.known_flags(environment)
    names = {plain(k) for k in known}
    choices = chosen.choices(environment.version) if environment.version else {}
    dials, left_out = [], []
    for dial in _DIALS.get(engine, ()):
        allowed = choices.get(dial.flag)
        values = tuple(v for v in dial.values if not allowed or str(v) in map(str, allowed))
        if dial.flag in names and values:
            dials.append(Dial(flag=dial.flag, values=values))
        else:
            left_out.append(dial.flag)
    return Space(dials=dials, left_out=left_out, source=source)


def configurations(found: Space, fixed: Flags, count: int, seed: int) -> list[Flags]:
    """The first ``count`` configurations: the default (no flag), then others in drawn order.

    Each further one differs from all before it; flags that the candidate fixes itself stay as it
    has them. The same space, seed and count give the same list; a larger count only adds to it.
    """
    dials = [d for d in found.dials if d.flag not in {plain(k) for k in fixed}]
    options = [[None, *d.values] for d in dials]
    grid: list[Flags] = []
    for values in itertools.product(*options):
        flags = {d.flag: v for d, v in zip(dials, values, strict=True) if v is not None}
        if flags:
            grid.append(flags)
    grid.sort(key=canonical_json)
    order = stream(seed, "tuning", "order").permutation(len(grid))
    # single changes first: with few cells a change that can be named is worth more than a mixture
    ranked = sorted((grid[i] for i in order), key=len)
    return [{}, *ranked][: max(1, count)]
