"""The keys under which every engine's effective settings are read back, side by side.

A key an engine does not report is None: not told is not a default.
"""

from __future__ import annotations

import re
from typing import Any

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


def normalise(found: dict[str, Any], flags: dict[str, Any], env: dict[str, str]) -> dict[str, Any]:
    """All of ``KEYS`` first, then what else the engine tells, then flags and variables given."""
    ordered = {key: found.get(key) for key in KEYS}
    more = {k: v for k, v in sorted(found.items()) if k not in ordered}
    return {
        **ordered,
        **more,
        "flags": {k: "(set)" if _SECRET_FLAG.search(k) else v for k, v in sorted(flags.items())},
        "env": shown(env),
    }


_SECRET_FLAG = re.compile(r"api_?key|password|secret|^(hf_)?token$", re.IGNORECASE)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def shown(env: dict[str, str]) -> dict[str, str]:
    """Variables as they may be stored: of what looks like a secret only that it was set."""
    return {k: "(set)" if _SECRET.search(k) else v for k, v in sorted(env.items())}
