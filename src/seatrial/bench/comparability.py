"""The comparability key: what must be equal before two cells may be called an engine comparison.

Same model, numeric precision, maximum context, request trace and sampling parameters; beside them
the hardware, the tokenizer's template and the lengths that came out. ``differences`` names the
fields in which two keys part; fields nobody knows (None) are named as unknown, not as equal.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from seatrial.core.ids import sha256_bytes, sha256_value
from seatrial.loadgen.body import Sampling
from seatrial.loadgen.lexicon import Lexicon
from seatrial.loadgen.records import Records
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Workload


def trace_sha256(table: RequestTable) -> str:
    """Hash of what a table asks for: times, lengths, sessions, blocks."""
    columns = (
        table.arrival_ns,
        table.input_tokens,
        table.output_tokens,
        table.session,
        table.turn,
        None if table.blocks is None else table.blocks.hashes,
    )
    parts = [
        "none" if c is None else sha256_bytes(np.ascontiguousarray(c).tobytes()) for c in columns
    ]
    return sha256_value(parts)


def key(
    *,
    spec: Workload,
    table: RequestTable,
    sampling: Sampling,
    lexicon: Lexicon,
    effective: dict[str, Any],
    hardware: str | None,
    model_sha256: str | None,
    route: str,
    forced_length: bool,
    bodies_sha256: str | None = None,
) -> dict[str, Any]:
    """The key of one cell; a file's own bodies are both its trace and its sampling.

    Where input lengths are estimates the key says so (``input_tokens``), and the template's share
    is unknown: such a cell is equal to none.
    """
    estimated = {} if lexicon.exact else {"input_tokens": "estimated"}
    return {
        **estimated,
        "model": model_sha256 or spec.model.path,
        "precision": effective.get("weights") or effective.get("dtype") or spec.model.precision,
        "kv_cache_dtype": effective.get("kv_cache_dtype"),
        "context_tokens": effective.get("context_tokens"),
        "trace": bodies_sha256 or trace_sha256(table),
        "sampling": bodies_sha256 or sha256_value(msgspec.to_builtins(sampling)),
        "route": route,
        "forced_length": forced_length,
        "template": effective.get("template_sha256"),
        "template_overhead_tokens": lexicon.overhead if lexicon.exact else None,
        "hardware": hardware,
    }


def prompt_counts_differ(a: Records, b: Records) -> list[int]:
    """Requests whose prompts two engines count differently: two BOS, another template.

    Both must have been sent the same requests. Such a difference blocks an engine comparison.
    """
    left = dict(zip(a.ints["index"].tolist(), a.ints["input_tokens"].tolist(), strict=True))
    right = dict(zip(b.ints["index"].tolist(), b.ints["input_tokens"].tolist(), strict=True))
    for side, records in ((left, a), (right, b)):
        for index in records.ints["index"][records.input_estimated].tolist():
            del side[index]  # our own estimate says nothing about an engine
    both = sorted(set(left) & set(right))
    return [i for i in both if left[i] >= 0 and right[i] >= 0 and left[i] != right[i]]


def differences(a: dict[str, Any], b: dict[str, Any]) -> dict[str, str]:
    """Field -> "different" or "unknown" for every field that is not known to be equal."""
    found = {}
    for name in sorted(set(a) | set(b)):
        left, right = a.get(name), b.get(name)
        if left is None or right is None:
            found[name] = "unknown"
        elif left != right:
            found[name] = "different"
    return found
