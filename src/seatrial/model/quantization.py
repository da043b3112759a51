"""``quantization_config`` of a checkpoint, reduced to one scheme.

The method is what config.json says, never what the repository is called: a "...-AWQ" upload
whose quant_method is compressed-tensors follows the rules of compressed-tensors. ModelOpt
checkpoints may keep theirs in ``hf_quant_config.json``.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from seatrial.model.bounded import Keys, damaged
from seatrial.model.info import Quantization

_PLAIN = {
    "awq": "w4a16",
    "gptq": "w4a16",
    "awq_marlin": "w4a16",
    "gptq_marlin": "w4a16",
    "auto-round": "w4a16",
    "mxfp4": "mxfp4",
    "gpt_oss_mxfp4": "mxfp4",
    "eetq": "w8a16",
    "aqlm": "aqlm",
    "hqq": "hqq",
    "torchao": "torchao",
    "exl2": "exl2",
    "exl3": "exl3",
}


def from_config(keys: Keys) -> Quantization | None:
    """The scheme of a configuration's ``quantization_config`` or ``compression_config``.

    Raises:
        IntegrityError: it is there and is no object: to read it as "not quantised" would be a lie.
    """
    for name in ("quantization_config", "compression_config"):
        if not isinstance(keys.values.get(name), dict | None):
            raise damaged(keys.path, f"{name} should be an object")
    own = keys.section("quantization_config", "compression_config")
    if own is None and (mlx := keys.section("quantization")):
        bits = mlx.number("bits") or 4.0
        return Quantization(
            method="mlx", scheme="mlx", bits=bits, group_size=mlx.integer("group_size")
        )
    return _with_experts(_parse(own), keys) if own else None


def _with_experts(found: Quantization, keys: Keys) -> Quantization:
    """DeepSeek-V4 keeps its routed experts in MXFP4 under a method that says FP8, unless its
    ``expert_dtype`` says otherwise (vllm 0.25.1 vllm/models/deepseek_v4/quant_config.py)."""
    family = (keys.text("model_type") or "").startswith("deepseek_v4")
    kind = keys.text("expert_dtype") or ("fp4" if family else None)
    if found.scheme == "fp8-block" and kind == "fp4":
        return msgspec.structs.replace(found, expert_bits=4.25)
    return found


def from_hf_quant_config(keys: Keys) -> Quantization | None:
    """NVIDIA ModelOpt's own file: ``{"quantization": {"quant_algo": "FP8", ...}}``."""
    own = keys.section("quantization")
    return _modelopt(own) if own else None


def _parse(own: Keys) -> Quantization:
    method = (own.text("quant_method", "quant_type") or "unknown").lower().strip()
    if method == "compressed-tensors" or ("config_groups" in own and method != "modelopt"):
        return _compressed_tensors(own, method)
    if method.startswith("modelopt"):
        return _modelopt(own, method)
    if method == "fp8" or method == "fbgemm_fp8":
        return _fp8(own, method)
    if method == "quark":
        return _quark(own)
    if method == "smooth_quant":  # LMDeploy's: eight bits, integers unless it says float8_*
        eight_bit = (own.text("quant_dtype") or "").startswith("float8")
        return Quantization(method=method, scheme="fp8" if eight_bit else method, bits=8.0)
    if method in {"bitsandbytes", "bnb"}:
        four = own.flag("load_in_4bit", "_load_in_4bit")
        eight = own.flag("load_in_8bit", "_load_in_8bit")
        four = four if four is not None else not eight  # neither is written: four bits
        scheme = "bnb-nf4" if four else "bnb-int8"
        return Quantization(
            method="bitsandbytes",
            scheme=scheme,
            bits=4.5 if four else 8.0,
            skipped=own.texts("llm_int8_skip_modules"),
        )
    bits = own.number("bits", "w_bit", "weight_bits") or _bits_in_words(own)
    if not 0 < bits <= 32:
        raise damaged(own.path, "the bits of a weight should lie in 1..32")
    group = own.integer("group_size", "q_group_size") if own.number("group_size") != -1 else None
    scheme = _PLAIN.get(method, method)
    if scheme == "w4a16" and bits == 8:
        scheme = "w8a16"
    if scheme == "mxfp4":
        bits, group = 4.25, 32
    return Quantization(
        method=method,
        scheme=scheme,
        bits=bits,
        group_size=group,
        symmetric=own.flag("sym") is not False and own.flag("zero_point") is not True,
        act_order=own.flag("desc_act") is True,
        skipped=own.texts("modules_to_not_convert"),
    )


_WORDS = ("quant_type", "weights", "quant_config")
"""Where torchao, quanto and EETQ, and HQQ say what is stored, in names and not in numbers."""


def _bits_in_words(own: Keys) -> float:
    """Bits from a type's name (``Int4WeightOnlyConfig``, ``int8``, ``nbits``); 4 if none is told:
    most methods that name no width have that one."""
    codes, wide = own.integer("nbits_per_codebook"), own.integer("in_group_size")
    if codes and wide:  # AQLM: one code for so many weights, from each of its codebooks
        return codes * (own.integer("num_codebooks") or 1) / wide
    said = str([own.values.get(name) for name in _WORDS])[:20_000].lower()
    if hit := re.search(r"nbits\W{1,4}(\d{1,2})\b", said):
        return float(hit[1])
    widths = r"(?:int|float|fp|nf)_?([248])(?!\d)"
    # an activation's type may stand before the weights'
    hit = re.search(widths + r"_?weight", said) or re.search(r"weight_dtype\W+\w*?" + widths, said)
    hit = hit or re.search(widths, said)
    return float(hit[1]) if hit else 4.0


def _fp8(own: Keys, method: str) -> Quantization:
    block = own.items("weight_block_size")
    skipped = own.texts("modules_to_not_convert") or own.texts("ignored_layers")
    if block and len(block) == 2 and all(isinstance(b, int) and b > 0 for b in block):
        size = (int(block[0]), int(block[1]))
        return Quantization(
            method=method, scheme="fp8-block", bits=8.0, block=size, skipped=skipped
        )
    return Quantization(method=method, scheme="fp8", bits=8.0, skipped=skipped)


def _modelopt(own: Keys, method: str = "modelopt") -> Quantization:
    inner = own.section("quantization") or own
    algo = (inner.text("quant_algo", "quant_method") or "").upper()
    kv = inner.text("kv_cache_quant_algo")
    if kv is None and (scheme := inner.section("kv_cache_scheme")):
        kv = "fp8" if scheme.integer("num_bits") == 8 else None
    skipped = inner.texts("exclude_modules") or inner.texts("ignore")
    common: dict[str, Any] = {"kv_cache": kv.lower() if kv else None, "skipped": skipped}
    if "NVFP4" in algo or "FP4" in algo or method == "modelopt_fp4":
        return Quantization(
            method="modelopt_fp4", scheme="nvfp4", bits=4.5, group_size=16, **common
        )
    if "MXFP8" in algo:
        return Quantization(
            method="modelopt_mxfp8", scheme="mxfp8", bits=8.25, group_size=32, **common
        )
    if "W4A16" in algo or "AWQ" in algo:
        name = "w4a8-fp8" if "W4A8" in algo else "w4a16"
        return Quantization(
            method="modelopt",
            scheme=name,
            bits=4.0,
            group_size=inner.integer("group_size"),
            **common,
        )
    if "MIXED" in algo:
        return Quantization(method="modelopt_mixed", scheme="mixed", bits=8.0, **common)
    return Quantization(method="modelopt", scheme="fp8", bits=8.0, **common)


def _quark(own: Keys) -> Quantization:
    """AMD's: one configuration for all layers, and a list of those that are left out."""
    every = own.section("global_quant_config") or Keys({}, own.path)
    inputs, listed = every.section("input_tensors"), every.items("weight")
    last = listed[-1] if listed else every.values.get("weight")  # of several the last is stored
    weight = Keys(last if isinstance(last, dict) else {}, own.path)
    kind = (weight.text("dtype") or "").lower()
    scheme, bits = _QUARK.get(kind, ("quark", 8.0))
    if kind in _QUARK and inputs is None and bits == 8.0:
        scheme = "w8a16-fp8" if kind.startswith("fp8") else "w8a16"
    return Quantization(
        method="quark",
        scheme=scheme,
        bits=bits,
        group_size=weight.integer("group_size"),
        skipped=own.texts("exclude"),
    )


_QUARK = {
    "fp8_e4m3": ("fp8", 8.0),
    "int8": ("w8a8-int8", 8.0),
    "fp4": ("mxfp4", 4.25),
    "mx": ("mxfp4", 4.25),
    "mx6": ("quark", 6.25),
    "fp6_e2m3": ("quark", 6.25),
    "fp6_e3m2": ("quark", 6.25),
    "fp8_e5m2": ("fp8", 8.0),
    "int4": ("w4a16", 4.0),
    "uint4": ("w4a16", 4.0),
}
"""Quark's data types -> what is stored, and bits a weight (amd-quark export, config.json)."""


def _compressed_tensors(own: Keys, method: str) -> Quantization:
    """The first group decides; a checkpoint with several kinds of group is ``mixed``."""
    groups = own.values.get("config_groups")
    found = []
    if isinstance(groups, dict):
        found = [Keys(g, own.path) for g in list(groups.values())[:64] if isinstance(g, dict)]
    schemes = [_group(g, own.text("format") or g.text("format") or "") for g in found]
    if not schemes:
        return Quantization(method="compressed-tensors", scheme="compressed-tensors", bits=8.0)
    scheme, bits, size, block, symmetric = schemes[0]
    if len({s[0] for s in schemes}) > 1:
        scheme = "mixed"
        bits = max(s[1] for s in schemes)
    return Quantization(
        method="compressed-tensors",
        scheme=scheme,
        bits=bits,
        group_size=size,
        block=block,
        symmetric=symmetric,
        kv_cache="fp8" if own.section("kv_cache_scheme") else None,
        skipped=own.texts("ignore"),
    )


def _group(group: Keys, layout: str) -> tuple[str, float, int | None, tuple[int, int] | None, bool]:
    weights = group.section("weights") or Keys({}, group.path)
    inputs = group.section("input_activations")
    bits = weights.integer("num_bits", high=64) or 8
    kind = weights.text("type") or "int"
    strategy = weights.text("strategy") or ""
    size = weights.integer("group_size") if strategy in {"group", "tensor_group"} else None
    blocks = weights.items("block_structure")
    block = None
    if blocks and len(blocks) == 2 and all(isinstance(b, int) for b in blocks):
        block = (int(blocks[0]), int(blocks[1]))
    act = (inputs.integer("num_bits", high=64) or 16) if inputs else 16
    symmetric = weights.flag("symmetric") is not False
    if kind == "float" and bits == 4:
        if size == 32 or "mxfp4" in layout:
            return "mxfp4", 4.25, 32, None, True
        return "nvfp4", 4.5, 16, None, True
    if kind == "float":
        name = "fp8-block" if block else ("fp8" if act == 8 else "w8a16-fp8")
        return name, float(bits), size, block, symmetric
    if bits == 4 and act == 8:
        float_inputs = inputs is not None and inputs.text("type") == "float"
        return ("w4a8-fp8" if float_inputs else "w4a8-int8"), 4.0, size, None, symmetric
    if act == 8:
        return "w8a8-int8", float(bits), size, None, symmetric
    return f"w{bits}a16", float(bits), size, None, symmetric


def from_mlc(name: str) -> Quantization | None:
    """MLC-LLM's scheme names, ``q4f16_1``: bits, then the activation type, then the layout."""
    if len(name) < 4 or name[0] != "q" or not name[1].isdigit():
        return None
    bits = float(name[1])
    return Quantization(
        method="mlc",
        scheme=name[:20],
        bits=bits + 0.5 if bits < 16 else bits,
        group_size=32,
    )
