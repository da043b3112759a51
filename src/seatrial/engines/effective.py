"""Effective settings under the same keys and in the same words for every engine.

A key an engine does not report is None: not told is not a default. Precisions are written
short and in lower case (``bf16``, ``f16``, ``q8_0``), so that two engines with the same weights
say the same; ``kv_cache_dtype: auto`` is resolved to the dtype it follows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.ids import sha256_bytes

KEYS: tuple[str, ...] = (
    "version",
    "model",
    "context_tokens",
    "slots",
    "dtype",
    "weights",
    "kv_cache_dtype",
    "kv_capacity_tokens",
    "max_batch_tokens",
    "prefix_cache",
    "backend",
    "structured_output_backend",
    "template_sha256",
    "tp",
    "pp",
    "threads",
)
_SHORT = {
    "bfloat16": "bf16",
    "float16": "f16",
    "half": "f16",
    "fp16": "f16",
    "float32": "f32",
    "float": "f32",
}
_SECRET_FLAG = re.compile(r"api_?key|password|secret|^(hf_)?token$", re.IGNORECASE)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_MAX_JSON_BYTES = 32 << 20


def normalise(found: dict[str, Any], flags: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    """All of ``KEYS`` first, then what else the engine tells, then flags and variables given."""
    found = {**found, **_precisions(found)}
    ordered = {key: found.get(key) for key in KEYS}
    more = {k: v for k, v in sorted(found.items()) if k not in ordered}
    return {
        **ordered,
        **more,
        "flags": {k: "(set)" if _SECRET_FLAG.search(k) else v for k, v in sorted(flags.items())},
        "env": shown(env),
    }


def _precisions(found: dict[str, Any]) -> dict[str, Any]:
    """dtype, weights and KV dtype in short words; weights that are not quantised have the dtype."""
    dtype = short(found.get("dtype"))
    weights = short(found.get("weights")) or dtype
    kv = short(found.get("kv_cache_dtype"))
    return {"dtype": dtype, "weights": weights, "kv_cache_dtype": dtype if kv == "auto" else kv}


def short(name: Any) -> str | None:
    """``torch.bfloat16`` and ``BF16`` are ``bf16``; other names in lower case."""
    if not isinstance(name, str):
        return None
    plain = name.lower().removeprefix("torch.")
    return _SHORT.get(plain, plain)


def shown(env: dict[str, str]) -> dict[str, str]:
    """Variables as they may be stored: of what looks like a secret only that it was set."""
    return {k: "(set)" if _SECRET.search(k) else v for k, v in sorted(env.items())}


def template_sha256(artefact: Path | None) -> str | None:
    """Hash of the chat template in a Hugging Face folder; None where there is none.

    ``chat_template.jinja`` goes before the field in tokenizer_config.json, as the tokenizers'
    own library has it.
    """
    if artefact is None or not artefact.is_dir():
        return None
    file = artefact / "chat_template.jinja"
    if file.is_file():
        return sha256_bytes(file.read_bytes())
    try:
        with (artefact / "tokenizer_config.json").open("rb") as config:
            value = msgspec.json.decode(config.read(_MAX_JSON_BYTES))
    except (OSError, msgspec.DecodeError):
        return None
    template = value.get("chat_template") if isinstance(value, dict) else None
    return sha256_bytes(template.encode()) if isinstance(template, str) else None
