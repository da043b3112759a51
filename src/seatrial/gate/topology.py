"""Constraints of placement: what can be cut by how many, and what links it needs.

Tensor parallelism cuts heads, feed-forward columns and experts; a scale block or group must not
be cut. Pipeline parallelism cuts between layers and needs a class that can be cut. Experts under
expert parallelism are placed whole.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.facts.modeltypes import stages
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.kernels import no_integer_tiles
from seatrial.gate.pool import at_least
from seatrial.gate.registry import registered
from seatrial.hardware import link_gb_s
from seatrial.model import ModelInfo, memory
from seatrial.model.info import CacheGroup

_SLOW = {"ethernet-1g": 0.125, "ethernet-10g": 1.25}


@constraint(
    "device_count",
    asks="Are there as many devices as the placement needs?",
    needs="hardware.count, nodes, TP x PP x DP",
    verdicts=("infeasible",),
    remedy="a smaller placement, or more devices",
)
def device_count(case: Case) -> Finding | None:
    if case.target.on_cpu or case.pooled:
        return None
    need = case.tp * case.pp * case.set.dp
    have = case.target.devices
    numbers = {"needed": need, "devices": have}
    if need > have:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            says=f"TP {case.tp} x PP {case.pp} x DP {case.set.dp} needs {need} devices, "
            f"there are {have}",
            remedy=f"TP x PP x DP of at most {have}",
        )
    return None


@constraint(
    "arch_lacks_pipeline_parallel",
    asks="Can this class be cut into pipeline stages by this engine?",
    needs="PP, architecture, facts supports pipeline_parallel",
    verdicts=("infeasible", "unknown"),
    remedy="TP only, or a build whose class supports PP",
)
def arch_lacks_pipeline_parallel(case: Case) -> Finding | None:
    if case.pp < 2:
        return None
    can, fact = pipeline_support(case)
    facts = [fact] if fact else []
    if case.speculative and case.architecture:
        pair = case.known.excludes(f"{case.architecture}+pipeline_parallel+speculative")
        if pair is not None:
            return Finding(
                verdict=Verdict.INFEASIBLE,
                facts=[pair],
                says=f"pipeline parallelism is not supported for {case.architecture} with its "
                f"draft model ({pair.condition})",
                remedy="a power-of-two GPU count with TP, or without speculative decoding on a "
                "build where the class supports PP",
            )
    if can is True:
        return None
    if can is False:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            facts=facts,
            says=f"pipeline parallelism (PP {case.pp}) is not supported for {case.architecture} in "
            f"{case.engine} {case.version or ''}",
            remedy="TP with a count that divides the heads, or a build whose class supports PP",
        )
    return Finding(
        verdict=Verdict.UNKNOWN,
        facts=facts,
        probe=case.probe("boot_log"),
        says=f"whether {case.architecture} can be cut into stages in {case.engine} is not known",
        remedy="TP only",
    )


def pipeline_support(case: Case) -> tuple[bool | None, Fact | None]:
    """Whether engine and class do PP; null if not known."""
    engine = case.known.supports("pipeline_parallel")
    if engine is not None and engine.value == "no":
        return False, engine
    claimed, own = class_support(case, "pipeline_parallel")
    if claimed is not None:
        return claimed, own
    if engine is None:
        return None, None
    read, name = stages(case.engine), case.architecture
    if read is not None and name and case.version is not None:
        can, whole = (table.has(case.version, name) for table in read)
        if whole and not can:
            return False, engine
        if whole and can:
            return None, engine  # it came between two releases that were read
    return True, engine


_CLAIMS = {"pipeline_parallel": "pp", "lora": "lora"}


def class_support(case: Case, feature: str) -> tuple[bool | None, Fact | None]:
    """What the model's class itself claims (``SupportsPP``, ``SupportsLoRA``); null if not read."""
    if case.architecture is None:
        return None, None
    fact = registered(case, case.architecture)
    claims = fact.detail.get("supports") if fact is not None else None
    if not isinstance(claims, list):
        return None, None
    return _CLAIMS[feature] in claims, fact


@constraint(
    "heads_tp_divisibility",
    asks="Can the attention heads be cut by TP?",
    needs="attention and KV heads, TP",
    verdicts=("conditional", "infeasible"),
    remedy="PP over the same devices, another TP, or llama.cpp with split-mode layer",
)
def heads_tp_divisibility(case: Case) -> Finding | None:
    heads, tp = case.model.shape.heads if case.model else None, case.attention_tp
    if tp < 2 or not heads:
        return None
    kv = case.model.shape.kv_heads if case.model else None
    if (uneven := _state_groups(case)) is not None:
        return uneven
    if heads % tp == 0 and _kv_divides(kv, tp):
        return Finding(
            verdict=Verdict.FEASIBLE,
            numbers={"heads": heads, "kv_heads": kv, "tp": tp},
            says=f"{heads} heads and {kv} KV heads on TP {tp}: {heads // tp} "
            "heads a rank" + _replicated(kv, tp),
        )
    what = f"{heads} heads cannot be cut by {tp}"
    if heads % tp == 0:
        what = f"{kv} KV heads can be neither cut nor repeated evenly over {tp} ranks"
    return _escape(case, what, {"heads": heads, "kv_heads": kv, "tp": tp})


def _state_groups(case: Case) -> Finding | None:
    """Mamba-2 is cut by its own heads, and by its groups unless there is one, which is repeated."""
    fact = case.known.excludes("mamba2_groups+tensor_parallel")
    group = _mamba2(case)
    if fact is None or group is None or case.tp < 2:
        return None
    heads, groups, tp = group.state_heads, group.state_groups, case.tp
    if heads % tp == 0 and (groups == 1 or groups % tp == 0):
        return None
    what = f"{heads} heads in {groups} groups of Mamba-2 cannot be cut by {tp}"
    found = _escape(case, what, {"state_heads": heads, "state_groups": groups, "tp": tp})
    return msgspec.structs.replace(found, facts=[fact, *found.facts])


def _mamba2(case: Case) -> CacheGroup | None:
    cache = case.loaded.cache if case.loaded is not None else []
    return next((group for group in cache if group.state_heads), None)


@constraint(
    "quant_split_unsupported",
    asks="Can a checkpoint of this method be cut by TP or into stages?",
    needs="quant_method, TP, PP, facts excludes METHOD+tensor_parallel and +pipeline_parallel",
    verdicts=("infeasible", "conditional"),
    remedy="one device, the other kind of parallelism, or another checkpoint",
)
def quant_split_unsupported(case: Case) -> Iterator[Finding]:
    method = "gguf" if case.form == "gguf" else case.quant.method if case.quant else None
    for ways, word in ((case.tp, "tensor_parallel"), (case.pp, "pipeline_parallel")):
        fact = case.known.excludes(f"{method}+{word}") if method and ways > 1 else None
        if fact is None and case.quant is not None and ways > 1:
            fact = case.known.excludes(f"{method}:{int(case.quant.bits)}bit+{word}")
        if fact is None or fact.value != "refuses":
            continue
        stated = case.set.tp_stated or word == "pipeline_parallel"
        yield Finding(
            verdict=Verdict.INFEASIBLE if stated else Verdict.CONDITIONAL,
            numbers={word: ways},
            facts=[fact],
            says=f"{method} with {word.replace('_', ' ')} {ways}: {fact.condition}",
            remedy=str(fact.detail.get("remedy") or "one device, or another checkpoint"),
        )
    group, fact = _mamba2(case), case.known.excludes("mamba2_quantized+tensor_parallel")
    if group is None or fact is None or case.quant is None or case.tp < 2:
        return
    if fact.value == "uneven" and group.state_groups % case.tp == 0:
        return
    verdict = Verdict.INFEASIBLE if case.set.tp_stated else Verdict.CONDITIONAL
    yield by_fact(case, fact, "a quantised checkpoint with Mamba-2 layers", verdict=verdict)


@constraint(
    "vision_heads_tp",
    asks="Can the image encoder's heads be cut by TP?",
    needs="heads of the image encoder, TP, mm_encoder_tp_mode, fact excludes vision_tower",
    verdicts=("infeasible", "unknown"),
    remedy="a TP that divides them, or the encoder kept whole (data parallel)",
)
def vision_heads_tp(case: Case) -> Finding | None:
    heads = case.model.shape.vision_heads if case.model else None
    if case.tp < 2 or not heads or heads % case.tp == 0 or case.form == "gguf":
        return None
    own = case.model.shape.heads if case.model else None
    if own and own % case.tp:
        return None  # that TP is out for the language model: heads_tp_divisibility says so
    if case.candidate.args.get("mm_encoder_tp_mode") == "data":
        return None
    subject = f"{case.architecture}+uneven_vision_heads"
    whole = next((f for f in case.known.documented("excludes") if f.subject == subject), None)
    says = f"{heads} heads of the image encoder on TP {case.tp}"
    if whole is None:
        verdict, says = Verdict.UNKNOWN, f"{says}: whether it is then kept whole is not known"
    elif at_least(case, whole.since or ""):
        verdict, says = Verdict.FEASIBLE, f"{says}: {whole.condition}"
    else:
        verdict = Verdict.INFEASIBLE
        says = f"{says} cannot be cut; {case.engine} keeps it whole from {whole.since} on"
    return Finding(
        verdict=verdict,
        numbers={"vision_heads": heads, "tp": case.tp},
        facts=[whole] if whole else [],
        says=says,
        remedy="a TP that divides them; --mm-encoder-tp-mode data where the engine has it",
        probe=case.probe("boot_log") if verdict is Verdict.UNKNOWN else None,
    )


def _kv_divides(kv: int | None, tp: int) -> bool:
    return kv is None or kv % tp == 0 or tp % kv == 0


def _replicated(kv: int | None, tp: int) -> str:
    return (
        f"; KV is kept {tp // kv} times (no gain in KV memory beyond TP {kv})"
        if (kv and tp > kv and tp % kv == 0)
        else ""
    )


def _escape(case: Case, what: str, numbers: dict[str, int | None]) -> Finding:
    """TP is out; PP over the same cards, or a TP that divides, may still serve."""
    ranks = case.tp
    can, fact = pipeline_support(case)
    facts = [fact] if fact else []
    fewer = largest_dividing(case, ranks)
    if can and not case.speculative and case.pp == 1:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=dict(numbers),
            facts=facts,
            says=f"{what}: TP {ranks} is out; PP {ranks} is the escape where the class supports it",
            remedy=f"PP {ranks} (no speculative decoding with it); TP {fewer} on {fewer} of the "
            "devices if it fits; llama.cpp with split-mode layer takes any number of GPUs",
        )
    if fewer > 1 and case.pp == 1 and (not case.set.tp_stated or _holds_weights(case, fewer)):
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers=dict(numbers),
            facts=facts,
            says=f"{what}; PP is not open either",
            remedy=f"TP {fewer}, if it fits",
        )
    return Finding(
        verdict=Verdict.INFEASIBLE,
        numbers=dict(numbers),
        facts=facts,
        says=what,
        remedy=f"TP {fewer}; llama.cpp with split-mode layer",
    )


def _holds_weights(case: Case, ranks: int) -> bool:
    """Whether the weights surely fit on so many of the devices."""
    gpu, band = case.target.gpu, memory.weight_bytes(case.loaded) if case.loaded else None
    return gpu is not None and band is not None and band.upper < 0.8 * ranks * gpu.memory_bytes


def largest_dividing(case: Case, limit: int) -> int:
    """Largest TP below ``limit`` that heads, KV heads and blocks allow."""
    return next((tp for tp in range(limit - 1, 1, -1) if divides(case, tp)), 1)


def divides(case: Case, tp: int) -> bool:
    """Whether heads, KV heads and blocks of scales can be cut by so many ranks."""
    shape = case.model.shape if case.model else None
    if shape and shape.heads and (shape.heads % tp or not _kv_divides(shape.kv_heads, tp)):
        return False
    return not any(True for _ in cut_blocks(case, tp))


@constraint(
    "quant_block_tp_divisibility",
    asks="Does TP cut a two-dimensional scale block?",
    needs="weight_block_size, widths of the layers, TP, expert parallel",
    verdicts=("infeasible", "conditional"),
    remedy="a smaller TP, expert parallelism, or a checkpoint without blocks",
)
def quant_block_tp_divisibility(case: Case) -> Iterator[Finding]:
    quant = case.quant
    if quant is None or quant.block is None or case.tp < 2:
        return
    yield from _cut(case, "block", case.known.excludes("block_fp8+tensor_parallel"))


@constraint(
    "quant_group_tp_divisibility",
    asks="Does TP cut a quantisation group, or leave a width that the kernel's tiles do not fill?",
    needs="group_size, widths of the layers, TP, fact requires weight_only_tile:METHOD",
    verdicts=("infeasible", "conditional"),
    remedy="a smaller TP, a checkpoint with smaller groups, or one padded for this TP",
)
def quant_group_tp_divisibility(case: Case) -> Iterator[Finding]:
    quant = case.quant
    if quant is None or quant.block is not None or case.tp < 2:
        return
    if (uneven := no_integer_tiles(case)) is not None and not any(cut_blocks(case, case.tp)):
        yield uneven
    if not quant.group_size or quant.method in {"gguf", "mlx", "mlc"}:
        return
    if quant.method == "mxfp4" and case.moe:
        return  # whole blocks are shared out, the last rank gets fewer (vllm gpt_oss.py: cdiv)
    yield from _cut(case, "group", None)


def _cut(case: Case, word: str, fact: Fact | None) -> Iterator[Finding]:
    for layer, width, part, unit in cut_blocks(case, case.tp):
        fewer = largest_dividing(case, case.tp)
        expert = layer.startswith("expert")
        also = ", or expert parallelism (experts are then not cut)" if expert else ""
        smaller = f"TP {fewer}" if fewer > 1 else "TP 1 with data parallelism"
        heads = heads_tp_divisibility(case)  # a TP that is out for the heads: PP cuts no width
        out = isinstance(heads, Finding) and heads.verdict is Verdict.CONDITIONAL
        stated = case.set.tp_stated and not (out and pipeline_support(case)[0])
        yield Finding(
            verdict=Verdict.INFEASIBLE if stated else Verdict.CONDITIONAL,
            says=f"{layer} {width} / TP {case.tp} = {part}, not divisible by the {word} of {unit}",
            numbers={"width": width, "tp": case.tp, "per_rank": part, word: unit},
            facts=[fact] if fact else [],
            remedy=f"{smaller}{also}, or a checkpoint without such {word}s (BF16, other format)",
        )
        return


def cut_blocks(case: Case, tp: int) -> Iterator[tuple[str, int, float, int]]:
    """Widths whose share per rank is no whole number of blocks or groups."""
    quant, model = case.quant, case.model
    if quant is None or model is None:
        return
    unit = max(quant.block) if quant.block else quant.group_size
    if not unit or quant.method in {"gguf", "mlx", "mlc"}:
        return
    if quant.method == "mxfp4" and case.moe:
        return
    shape = model.shape
    widths: list[tuple[str, int | None]] = []
    whole = case.set.ep or quant.expert_bits is not None  # FP4 experts have groups of their own
    if shape.experts and shape.expert_intermediate and not whole:
        widths.append(("expert intermediate size", shape.expert_intermediate))
    if shape.shared_expert_intermediate:
        widths.append(("shared expert intermediate size", shape.shared_expert_intermediate))
    if shape.intermediate and (not shape.experts or shape.dense_layers):
        widths.append(("intermediate size", shape.intermediate))
    if quant.scheme != "mxfp4" and not any("attn" in n or "attention" in n for n in quant.skipped):
        widths.append(("attention output", _attention_width(model)))
    for name, width in widths:
        ways = max(tp // case.set.attention_dp, 1) if name == "attention output" else tp
        if width and (width % ways or (width // ways) % unit):
            yield name, width, width / ways, unit


def _attention_width(model: ModelInfo) -> int | None:
    """Inputs of the output projection, which tensor parallelism cuts by rows; null for a latent,
    whose value heads have a width of their own."""
    if any(g.kind == "latent" for g in model.cache):
        return None
    return (model.shape.heads or 0) * (model.shape.head_dim or 0) or None


@constraint(
    "intermediate_tp_divisibility",
    asks="Can the feed-forward width be cut by TP?",
    needs="intermediate size, TP",
    verdicts=("conditional", "infeasible"),
    remedy="another TP, or PP over the same devices",
)
def intermediate_tp_divisibility(case: Case) -> Finding | None:
    shape = case.model.shape if case.model else None
    if case.tp < 2 or shape is None:
        return None
    width = shape.expert_intermediate if shape.experts else shape.intermediate
    if not width or width % case.tp == 0 or (shape.experts and case.set.ep):
        return None
    return _escape(
        case,
        f"the feed-forward width {width} cannot be cut by {case.tp}",
        {"width": width, "tp": case.tp},
    )


@constraint(
    "experts_ep_divisibility",
    asks="Can the experts be shared out evenly?",
    needs="experts, EP size",
    verdicts=("conditional",),
    remedy="another EP size, or redundant experts",
)
def experts_ep_divisibility(case: Case) -> Finding | None:
    shape = case.model.shape if case.model else None
    if shape is None or not shape.experts or not case.set.ep:
        return None
    ranks = case.tp * case.set.dp
    if ranks < 2 or shape.experts % ranks == 0:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"experts": shape.experts, "ranks": ranks},
        says=f"{shape.experts} experts over {ranks} ranks leave {shape.experts % ranks} over",
        remedy="a rank count that divides the experts, or redundant experts (EPLB)",
    )


@constraint(
    "interconnect_too_slow",
    asks="Has tensor parallelism across nodes a link that carries it?",
    needs="nodes, count, TP, interconnect",
    verdicts=("infeasible", "unknown"),
    remedy="TP within a node and PP between nodes, or RDMA",
)
def interconnect_too_slow(case: Case) -> Finding | None:
    target = case.target
    if target.on_cpu or target.nodes < 2 or case.tp <= target.count:
        return None
    link = case.spec.hardware.interconnect
    remedy = f"TP {target.count} within a node and PP {target.nodes} between nodes, or RDMA"
    numbers = {"tp": case.tp, "per_node": target.count, "interconnect": link}
    if link in _SLOW:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            remedy=remedy,
            says=f"TP {case.tp} spans {target.nodes} nodes over {link} "
            f"({_SLOW[link]} GB/s): two all-reduces a layer have no path",
        )
    if link in {"infiniband", "nvlink"}:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers=dict(numbers),
        remedy=remedy,
        says=f"TP {case.tp} spans {target.nodes} nodes over {link or 'an unnamed link'}: "
        "whether it carries two all-reduces a layer must be measured",
        probe=case.probe("load_test"),
    )


@constraint(
    "pd_link_too_slow",
    asks="Can the cache cross from prefill to decode in time?",
    needs="PD disaggregation, interconnect, cache of a mean prompt, slo.ttft_ms",
    verdicts=("infeasible", "conditional"),
    remedy="RDMA or NVLink between the two sides, or no disaggregation",
)
def pd_link_too_slow(case: Case) -> Finding | None:
    link = case.spec.hardware.interconnect
    length = case.traffic_mean or case.context
    if not case.spec.requires.pd_disaggregation or link is None or not length or not case.loaded:
        return None
    try:
        speed = link_gb_s(link, case.target.gpu)
    except UsageError:
        return None
    seconds = memory.kv_bytes(case.loaded, length) / (speed * 1e9)
    slo = case.spec.slo.ttft_ms
    limit = min(slo.values()) / 1000 if slo else None
    numbers = {
        "seconds": round(seconds, 3),
        "gb_per_s": speed,
        "tokens": length,
        "ttft_limit_s": limit,
    }
    says = f"the cache of {length} tokens takes {seconds:.2f} s over {link} ({speed:g} GB/s)"
    remedy = "RDMA or NVLink between the two sides, or no disaggregation"
    if limit is not None and seconds > limit:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            remedy=remedy,
            says=f"{says}, the first token is due after {limit:g} s",
        )
    if limit is None and seconds > 1:
        return Finding(verdict=Verdict.CONDITIONAL, numbers=dict(numbers), remedy=remedy, says=says)
    return Finding(verdict=Verdict.FEASIBLE, numbers=dict(numbers), says=says)


@constraint(
    "multi_node_unsupported",
    asks="Can this engine span nodes?",
    needs="nodes, engine",
    verdicts=("infeasible", "conditional"),
    remedy="one node, or an engine that spans nodes",
)
def multi_node_unsupported(case: Case) -> Finding | None:
    if case.target.nodes < 2 or case.target.on_cpu:
        return None
    if case.engine in {"ollama", "transformers", "tgi", "mlc-llm"}:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers={"nodes": case.target.nodes},
            says=f"{case.engine} serves one model from one node",
            remedy="one node per replica behind a router, or vLLM or SGLang",
        )
    if case.engine == "llama.cpp":
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers={"nodes": case.target.nodes},
            says="llama.cpp spans hosts only through its RPC backend",
            remedy="start rpc-server on each host and name them with --rpc",
        )
    return None
