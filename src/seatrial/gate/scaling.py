"""The length a model is stretched to: RoPE scaling in the candidate's own flags, by engine.

A configuration that carries the scaling is read with the model. Engines derive the length from it
in ways of their own: vLLM multiplies the original length by the factor, SGLang takes
max_position_embeddings as written where the original length is named beside it
(sglang/srt/hf_transformers_utils.py, get_context_length), llama.cpp's server capped a slot to
the trained length from November 2025 to August 2026.
"""

from __future__ import annotations

import json
import math
from typing import Any

from seatrial.facts import Fact
from seatrial.gate.case import Case

_FLAGS = ("rope_scaling", "hf_overrides", "json_model_override_args")
_FACTORS = {"tgi": "rope_factor", "lmdeploy": "rope_scaling_factor"}
"""Flags that are the factor itself (text-generation-launcher; LMDeploy's TurbomindEngineConfig)."""
_KEYS = ("rope_scaling", "rope_parameters")
_KINDS = ("yarn", "linear", "dynamic", "longrope", "su")


def stretched(case: Case) -> int | None:
    """Tokens that the candidate's flags stretch the model to; null where they do not."""
    own = case.model.shape.max_positions if case.model else None
    if own is None:
        return None
    if case.engine == "llama.cpp":
        return _llama_cpp(case, own)
    if case.engine not in {"vllm", "sglang", "lmdeploy", "tgi"}:
        return None
    if (factor := _number(case.args.get(_FACTORS.get(case.engine, "")))) and 1 <= factor <= 1024:
        return int(own * factor)
    for flag in _FLAGS:
        value = _object(case.args.get(flag))
        positions = value.get("max_position_embeddings")
        for part in (value, value.get("text_config")):
            if isinstance(part, dict) and (found := _of(part, own, flag)) is not None:
                return max(found, positions if isinstance(positions, int) else 0)
    return None


def capped(case: Case) -> Fact | None:
    """The fact that this build's server caps a slot to the trained length all the same."""
    return case.known.excludes("rope_scaling+slot") if case.engine == "llama.cpp" else None


def own_length(case: Case) -> int | None:
    """The length SGLang takes from a configuration with scaling: max_position_embeddings as
    written, where the original length stands beside the factor."""
    if case.engine != "sglang" or case.model is None:
        return None
    written = case.model.trait("positions")
    return int(written) if written else None


def _llama_cpp(case: Case, own: int) -> int | None:
    kind = str(case.args.get("rope_scaling") or "")
    factor = _number(case.args.get("rope_scale"))
    if kind not in {"yarn", "linear"} or not factor:
        return None
    original = _number(case.args.get("yarn_orig_ctx")) or own
    return int(original * factor)


def _of(part: dict[str, Any], own: int, flag: str) -> int | None:
    nested = [part.get(k) for k in _KEYS]
    for rope in [*nested, part if flag == "rope_scaling" else None]:
        if not isinstance(rope, dict):
            continue
        kind, factor = rope.get("rope_type") or rope.get("type"), _number(rope.get("factor"))
        if kind in _KINDS and factor and 1 <= factor <= 1024:
            return int((_number(rope.get("original_max_position_embeddings")) or own) * factor)
    return None


def _object(value: object) -> dict[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        found = float(str(value))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
