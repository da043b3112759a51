"""The engines' own flags, brought to one set of words.

``args`` in the workload file are each engine's own flags with underscores. What the gate needs of
them is the same for all: how many ranks share a layer, how long a sequence may get, how much
memory the cache may take. A flag that is not set has the engine's own default or is not known.
"""

from __future__ import annotations

from typing import Any

import msgspec

from seatrial.workload.spec import CandidateSpec

TP_FLAGS = (
    "tensor_parallel_size",
    "tp_size",
    "tp",
    "num_shard",
    "tensor_parallel_shards",
    "tensor_parallel",
)
_PP = ("pipeline_parallel_size", "pp_size", "pp", "pipeline_parallel", "pipeline_parallel_stages")
_DP = ("data_parallel_size", "dp_size", "dp")
_EP = (
    "enable_expert_parallel",
    "ep_size",
    "ep",
    "expert_parallel_size",
    "moe_expert_parallel_size",
)
_LENGTH = (
    "max_model_len",
    "context_length",
    "session_len",
    "max_seq_len",
    "max_total_tokens",
    "max_total_seq_length",
)
_SEQS = (
    "max_num_seqs",
    "max_running_requests",
    "max_batch_size",
    "max_concurrent_requests",
    "max_num_sequence",
)
_SHARE = (
    "gpu_memory_utilization",
    "mem_fraction_static",
    "cache_max_entry_count",
    "free_gpu_memory_fraction",
    "kv_cache_free_gpu_memory_fraction",
    "cuda_memory_fraction",
)
_SPECULATIVE = (
    "speculative_config",
    "speculative_algorithm",
    "speculative_model",
    "speculative_algo",
    "speculate",
    "num_speculative_tokens",
    "spec_decoding",
    "speculative_mode",
    "model_draft",
    "draft_model",
)
_CHUNKED = ("enable_chunked_prefill", "enable_chunked_context")
_SAID = {"true": True, "1": True, "yes": True, "on": True}
_SAID |= {"false": False, "0": False, "no": False, "off": False}

COUNTS = frozenset((*TP_FLAGS, *_PP, *_DP, *_SEQS))
"""Flags whose value is a count of at least one; those where 0 or -1 mean "by itself" are left
out (llama.cpp's ctx_size 0, SGLang's context_length none)."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate's placement and limits; null where the engine's default applies.

    ``dp`` are whole copies, each on devices of its own; ``attention_dp`` are parts of one
    tensor-parallel group that attend to requests of their own. ``chunked``: whether prompts may be
    computed in pieces.
    """

    tp: int
    pp: int
    dp: int
    attention_dp: int
    ep: bool
    tp_stated: bool
    pp_stated: bool
    length: int | None
    seqs: int | None
    share: float | None
    offload: float
    dtype: str | None
    kv_dtype: str | None
    quantization: str | None
    batched_tokens: int | None
    chunked: bool | None
    speculative: str | None
    lora: bool
    lora_rank: int | None
    lora_count: int | None
    reasoning_parser: str | None
    slots: int | None
    context_total: int | None
    unified_kv: bool
    gpu_layers: int | None
    split_mode: str | None
    host_experts: int
    eager: bool


def settings(spec: CandidateSpec, devices: int) -> Settings:
    """Read a candidate's flags. Without a stated placement all devices of the workload form one
    tensor-parallel group: that is what "does it run on these cards" asks."""
    args = {k.replace("-", "_"): v for k, v in spec.args.items()}
    env = spec.env
    tp, pp, dp = _count(args, TP_FLAGS), _count(args, _PP), _count(args, _DP)
    stated = any(v is not None for v in (tp, pp, dp))
    tp, dp, inside = _inside(spec.engine, args, tp, dp)
    rest = max(devices // ((pp or 1) * (dp or 1)), 1)
    slots = _number(args, ("parallel", "np", "n_parallel"))
    if slots is None and (text := env.get("OLLAMA_NUM_PARALLEL", "")).isdigit():
        slots = int(text)
    return Settings(
        tp=tp or (1 if stated else rest),
        pp=pp or 1,
        dp=dp or 1,
        attention_dp=inside or (tp or rest),
        ep=_truthy(args, _EP),
        tp_stated=stated,
        pp_stated=pp is not None,
        length=_number(args, _LENGTH) or _ollama_length(args, env),
        seqs=_number(args, _SEQS),
        share=_share(args),
        offload=_gib(args, "cpu_offload_gb"),
        dtype=_text(args, ("dtype",)),
        kv_dtype=_text(args, ("kv_cache_dtype", "quant_policy", "cache_type_k", "ctk"))
        or env.get("OLLAMA_KV_CACHE_TYPE"),
        quantization=_text(args, ("quantization", "quantize", "model_format")),
        batched_tokens=_number(
            args,
            (
                "max_num_batched_tokens",
                "max_num_tokens",
                "chunked_prefill_size",
                "max_prefill_token_num",
            ),
        ),
        chunked=_chunked(args),
        speculative=_speculative(args),
        lora=_truthy(
            args, ("enable_lora", "lora_modules", "lora_paths", "adapters", "lora", "lora_adapters")
        ),
        lora_rank=_number(args, ("max_lora_rank",)),
        lora_count=_number(args, ("max_loras", "max_loras_per_batch")),
        reasoning_parser=_text(args, ("reasoning_parser", "reasoning_format")),
        slots=slots,
        context_total=_number(args, ("ctx_size", "c", "n_ctx")),
        unified_kv=_truthy(args, ("kv_unified", "kvu", "kv_unified_per_slot")),
        gpu_layers=_number(args, ("n_gpu_layers", "ngl", "gpu_layers")),
        split_mode=_text(args, ("split_mode", "sm")),
        host_experts=_host_experts(args, env),
        eager=_truthy(args, ("enforce_eager", "disable_cuda_graph")),
    )


def _inside(
    engine: str, args: dict[str, Any], tp: int | None, dp: int | None
) -> tuple[int | None, int | None, int | None]:
    """(TP, DP of whole copies, DP inside a TP group; null: all of the group).

    SGLang's dp_size copies the model, with enable_dp_attention it divides the TP group (sglang
    0.4.0 server_args.py); TensorRT-LLM's enable_attention_dp divides it wholly; LMDeploy lays dp
    over the ranks of tp and ep (lmdeploy 0.12.0 pytorch/config.py DistConfig: world_size is ep, or
    tp; turbomind.py update_parallel_config); vLLM's data_parallel_size copies.
    """
    if engine == "sglang" and _truthy(args, ("enable_dp_attention",)):
        return tp, None, dp or 1
    if engine == "tensorrt-llm" and _truthy(args, ("enable_attention_dp",)):
        return tp, dp, None
    if engine == "lmdeploy" and dp is not None:
        return max(tp or 1, dp, _number(args, ("ep",)) or 1), None, dp
    return tp, dp, 1


def _count(args: dict[str, Any], names: tuple[str, ...]) -> int | None:
    value = _number(args, names)
    return value if value is None or value >= 1 else 1


def _number(args: dict[str, Any], names: tuple[str, ...]) -> int | None:
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 40:
            return value
    return None


def _share(args: dict[str, Any]) -> float | None:
    nested = args.get("kv_cache_config")
    places = [args, nested] if isinstance(nested, dict) else [args]
    for place in places:
        for name in _SHARE:
            value = place.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1:
                return float(value)
    return None


def _host_experts(args: dict[str, Any], env: dict[str, str]) -> int:
    """Layers whose routed experts llama.cpp keeps in the host's memory: --n-cpu-moe of the first
    so many, --cpu-moe all; an --override-tensor of experts is taken for all of them. Its server
    reads the same from the environment (common/arg.cpp), below Ollama as well."""
    if not any(name in args for name in ("n_cpu_moe", "ncmoe", "cpu_moe", "cmoe")):
        said = {
            "n_cpu_moe": env.get("LLAMA_ARG_N_CPU_MOE"),
            "cpu_moe": env.get("LLAMA_ARG_CPU_MOE"),
        }
        args = args | {k: v for k, v in said.items() if v and _said(v) is not False}
    if (layers := _number(args, ("n_cpu_moe", "ncmoe"))) is not None:
        return layers
    moved = _text(args, ("override_tensor", "ot")) or ""
    every = _truthy(args, ("cpu_moe", "cmoe")) or ("exps" in moved and "CPU" in moved.upper())
    return 1 << 20 if every else 0


def _gib(args: dict[str, Any], name: str) -> float:
    try:
        value = float(str(args.get(name) or 0))
    except ValueError:
        return 0.0
    return value if 0 < value < 1e6 else 0.0


def _text(args: dict[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = args.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None


def _truthy(args: dict[str, Any], names: tuple[str, ...]) -> bool:
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and _said(value) is False:
            continue
        if value not in (None, False, 0, 1, "", [], {}) or value is True:
            return True
        if value == 1 and name.startswith("enable"):
            return True
    return False


def _chunked(args: dict[str, Any]) -> bool | None:
    """Chunked prefill: on, off (also as ``no_...``), or left to the engine. TensorRT-LLM takes it
    in its build configuration too."""
    nested = args.get("build_config")
    inner = {k.replace("-", "_"): v for k, v in nested.items()} if isinstance(nested, dict) else {}
    for place in (args, inner):
        for name in _CHUNKED:
            if (said := _said(place.get(name))) is not None:
                return said
            if _said(place.get(f"no_{name}")):
                return False
    return None


def _said(value: object) -> bool | None:
    """Yes or no as files and command lines write it; null for anything else."""
    return _SAID.get(str(value).strip().lower())


def _speculative(args: dict[str, Any]) -> str | None:
    for name in _SPECULATIVE:
        value = args.get(name)
        if isinstance(value, dict):
            return str(value.get("method") or value.get("algorithm") or "draft_model").lower()
        if isinstance(value, str) and value.strip().startswith("{"):
            lowered = value.lower()
            known = ("eagle3", "eagle", "mtp", "ngram", "medusa", "suffix", "dflash")
            return next((m for m in known if m in lowered), "draft_model")
        if value not in (None, False, 0, ""):
            return str(value).lower() if isinstance(value, str) else "draft_model"
    return None


def _ollama_length(args: dict[str, Any], env: dict[str, str]) -> int | None:
    value = _number(args, ("num_ctx", "context_window_size"))
    text = env.get("OLLAMA_CONTEXT_LENGTH", "")
    return value or (int(text) if text.isdigit() else None)
