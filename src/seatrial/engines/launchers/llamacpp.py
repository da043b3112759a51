"""llama.cpp's server as a process of its own, from the wheel ``xllamacpp``.

Run by the python of the engine's environment: ``python llamacpp.py ORDER`` with ORDER a
JSON object {"model", "host", "port", "flags"}; flags are llama-server's long flags with
underscores. Imports only the standard library and xllamacpp (and that only when run), so that
the adapter can read ``FLAGS`` from here.

Its SIGTERM does what llama-server's does: the HTTP server and the main loop are torn down at
once; nothing is drained. A second SIGTERM ends the process where it stands.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

MARK = "seatrial-launcher: "
"""Begins the launcher's own lines in the log; JSON follows."""

FLAGS: dict[str, tuple[str, str]] = {
    # llama-server's flag -> (attribute of CommonParams, how its value is converted)
    "alias": ("model_alias", "names"),
    "api_prefix": ("api_prefix", "str"),
    "batch_size": ("n_batch", "int"),
    "cache_idle_slots": ("cache_idle_slots", "bool"),
    "cache_prompt": ("cache_prompt", "bool"),
    "cache_ram": ("cache_ram_mib", "int"),
    "cache_reuse": ("n_cache_reuse", "int"),
    "cache_type_k": ("cache_type_k", "ggml"),
    "cache_type_v": ("cache_type_v", "ggml"),
    "chat_template": ("chat_template", "str"),
    "check_tensors": ("check_tensors", "bool"),
    "cont_batching": ("cont_batching", "bool"),
    "context_shift": ("ctx_shift", "bool"),
    "ctx_checkpoints": ("n_ctx_checkpoints", "int"),
    "ctx_size": ("n_ctx", "int"),
    "embeddings": ("embedding", "bool"),
    "fit": ("fit_params", "switch"),
    "flash_attn": ("flash_attn_type", "flash"),
    "jinja": ("use_jinja", "bool"),
    "keep": ("n_keep", "int"),
    "kv_offload": ("no_kv_offload", "not"),
    "kv_unified": ("kv_unified", "bool"),
    "lora": ("lora_adapters", "lora"),
    "lora_init_without_apply": ("lora_init_without_apply", "bool"),
    "main_gpu": ("main_gpu", "int"),
    "metrics": ("endpoint_metrics", "bool"),
    "n_gpu_layers": ("n_gpu_layers", "int"),
    "op_offload": ("no_op_offload", "not"),
    "parallel": ("n_parallel", "int"),
    "perf": ("no_perf", "not"),
    "predict": ("n_predict", "int"),
    "prefill_assistant": ("prefill_assistant", "bool"),
    "props": ("endpoint_props", "bool"),
    "repack": ("no_extra_bufts", "not"),
    "rope_freq_base": ("rope_freq_base", "float"),
    "rope_freq_scale": ("rope_freq_scale", "float"),
    "seed": ("sampling.seed", "int"),
    "sleep_idle_seconds": ("sleep_idle_seconds", "int"),
    "slot_prompt_similarity": ("slot_prompt_similarity", "float"),
    "slots": ("endpoint_slots", "bool"),
    "sse_ping_interval": ("sse_ping_interval", "int"),
    "swa_full": ("swa_full", "bool"),
    "threads": ("cpuparams.n_threads", "int"),
    "threads_batch": ("cpuparams_batch.n_threads", "int"),
    "threads_http": ("n_threads_http", "int"),
    "timeout": ("timeout_read,timeout_write", "int"),
    "ubatch_size": ("n_ubatch", "int"),
    "verbosity": ("verbosity", "int"),
    "warmup": ("warmup", "bool"),
}

SHOWN = (
    *("n_ctx", "n_batch", "n_ubatch", "n_parallel", "cache_type_k", "cache_type_v"),
    *("cache_prompt", "cache_ram_mib", "cont_batching", "kv_unified", "flash_attn_type"),
    *("n_gpu_layers", "split_mode", "use_jinja", "warmup", "embedding", "ctx_shift"),
    *("n_cache_reuse", "sse_ping_interval"),
)
"""Parameters that are told back once the server is up."""


def say(event: str, **fields: Any) -> None:
    """One line of our own into the log, with the monotonic time; a full disk loses it."""
    line = json.dumps({"event": event, "ns": time.monotonic_ns(), **fields})
    with suppress(OSError):
        os.write(1, f"{MARK}{line}\n".encode())


def convert(library: Any, kind: str, value: Any) -> Any:
    """A flag's value as the attribute wants it."""
    if kind == "ggml":
        return library.ggml_type[f"GGML_TYPE_{str(value).upper()}"]
    if kind == "flash":
        word = {True: "ENABLED", False: "DISABLED"}.get(value) if value is not None else None
        word = word or {"on": "ENABLED", "off": "DISABLED"}.get(str(value).lower(), "AUTO")
        return library.llama_flash_attn_type[f"LLAMA_FLASH_ATTN_TYPE_{word}"]
    if kind == "names":
        return set(str(value).split(","))
    if kind == "lora":
        return [adapter(library, path) for path in (value if isinstance(value, list) else [value])]
    if kind == "switch":
        return value in (True, "on", "true", 1)
    if kind == "not":
        return not value
    simple: dict[str, Callable[[Any], Any]] = {"bool": bool, "int": int, "float": float, "str": str}
    return simple[kind](value)


def adapter(library: Any, path: Any) -> Any:
    """One LoRA adapter, applied with scale 1 unless a request says otherwise."""
    info = library.CommonAdapterLoraInfo()
    info.path, info.scale = str(path), 1.0
    return info


def put(params: Any, place: str, value: Any) -> None:
    """Set ``a``, ``a.b`` or ``a,b`` on the parameters."""
    for one in place.split(","):
        target = params
        *outer, last = one.split(".")
        for name in outer:
            target = getattr(target, name)
        setattr(target, last, value)


def plain(value: Any) -> Any:
    """A parameter as JSON: enums by their name."""
    return getattr(value, "name", value)


def build(library: Any, order: dict[str, Any]) -> Any:
    """CommonParams from the order."""
    params = library.CommonParams()
    params.model.path = order["model"]
    params.hostnames = [order["host"]]
    params.port = order["port"]
    params.ui = False
    for flag, value in order["flags"].items():
        if value is None:
            continue
        if flag.startswith("no_") and flag not in FLAGS:
            flag, value = flag.removeprefix("no_"), not value
        place, kind = FLAGS[flag]
        put(params, place, convert(library, kind, value))
    return params


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    # blocked before the first thread exists, so that every thread inherits it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    order = json.loads(sys.argv[1])
    say("begin")
    import xllamacpp as library  # type: ignore[import-not-found]

    say("imported", version=library.__version__, build=library.BUILD_INFO)
    params = build(library, order)
    try:
        server = library.Server(params)
    except RuntimeError as error:
        say("failed", error=str(error))
        return 1
    say("params", **{name: plain(getattr(params, name)) for name in SHOWN})
    say("serving", address=server.listening_address)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    say("stopping")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    del server
    say("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
