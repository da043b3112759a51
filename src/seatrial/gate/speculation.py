"""Constraints on speculation: has this version the method, and has the checkpoint its head.

The methods are listed by each version; multi-token prediction is listed once for each family of
models whose head the engine can build.
"""

from __future__ import annotations

import re

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, by_fact, constraint
from seatrial.gate.contracts import judge


@constraint(
    "feature_missing_speculative",
    asks="Has the engine what is required: speculative decoding, by this method?",
    needs="requires.speculative or the flags, facts supports speculative, speculative_method",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another method, another version, or another engine",
)
def feature_missing_speculative(case: Case) -> Finding | None:
    if not case.speculative:
        return None
    if (radix := _recurrent_prefix(case)) is not None:
        return radix
    if (refused := _refused(case)) is not None:
        return refused
    listed = _methods_listed(case)
    asked = _SAME.get(case.speculative, case.speculative)
    if listed is None or asked not in _METHODS:
        return judge(case, "speculative", "speculative decoding")
    facts, sure = listed
    names = {f.subject.lower() for f in facts}
    if any(_names(asked, name) for name in names) or (asked == "mtp" and case.engine == "sglang"):
        if asked == "mtp" and (other := _other_family(case, names, facts, sure)) is not None:
            return other
        return judge(case, "speculative", "speculative decoding")
    return Finding(
        verdict=Verdict.INFEASIBLE if sure else Verdict.UNKNOWN,
        says=f"{asked} is not among the speculative methods of {case.engine} {case.version or ''}: "
        f"{', '.join(sorted(names))}",
        facts=facts[:1],
        remedy="one of these methods, or a version that has it",
        probe=None if sure else case.probe("boot_log"),
    )


def _refused(case: Case) -> Finding | None:
    """What a release's speculation refuses although it lists the method: a whole draft model, a
    host without a GPU, a head on more than one device."""
    args = case.args
    cut = case.tp > 1 and str(args.get("speculative_draft_tensor_parallel_size")) != "1"
    here = {
        "speculative+draft_model": case.speculative in {"draft_model", "draft"},
        "speculative+cpu": case.target.on_cpu,
        "speculative+eagle_tp": case.speculative == "eagle" and cut,
    }
    for subject, holds in here.items():
        fact = case.known.excludes(subject) if holds else None
        if fact is None:
            continue
        flag = fact.detail.get("flag")
        verdict = Verdict.CONDITIONAL if flag else Verdict.INFEASIBLE
        return by_fact(
            case, fact, str(case.speculative), verdict=verdict, remedy=flag or "no drafts"
        )
    return None


def _recurrent_prefix(case: Case) -> Finding | None:
    """SGLang: drafts on a hybrid, its prefix cache and the strategy by which states are kept.
    Without a buffer of their own for the states the cache is switched off, or start-up refuses."""
    fact = case.known.excludes("speculative+recurrent_prefix")
    hybrid = case.loaded is not None and case.loaded.recurrent
    args = case.args
    strategy = args.get("mamba_scheduler_strategy") or args.get("mamba_radix_cache_strategy")
    if fact is None or not hybrid or str(strategy).startswith("extra_buffer"):
        return None
    needed = bool(case.spec.requires.prefix_cache)
    off = args.get("disable_radix_cache") is True
    silent = fact.value == "switches-off" or case.target.vendor == "amd"
    if not needed and (off or silent):
        return None
    buffered = case.architecture not in fact.detail.get("without_buffer", [])
    buffered = buffered and case.target.vendor == "nvidia"
    buffer = "--mamba-scheduler-strategy extra_buffer and SGLANG_ENABLE_SPEC_V2=1"
    return Finding(
        verdict=Verdict.INFEASIBLE if needed and not buffered else Verdict.CONDITIONAL,
        facts=[fact],
        says=f"{case.speculative} with recurrent layers in {case.engine} {case.version or ''}: "
        f"{fact.condition}",
        remedy=buffer if buffered else "--disable-radix-cache where no prefix reuse is needed",
    )


def _other_family(case: Case, names: set[str], facts: list[Fact], sure: bool) -> Finding | None:
    """vLLM builds a multi-token head for the families that it lists (``glm4_moe_mtp``); DeepSeek's
    serves what has its layout. Before 0.11 the list did not name them all."""
    family = case.model.model_type if case.model is not None else None
    listed = {n.removesuffix("_mtp") for n in names if n.endswith("_mtp")}
    if case.engine != "vllm" or "mtp" not in names or not family or len(listed) < 4:
        return None
    if case.model is None or not case.model.shape.draft_layers:
        return None  # that the checkpoint has none is said by draft_head_missing
    if family.startswith(_AS_DEEPSEEK) or any(family.startswith(one) for one in listed):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE if sure else Verdict.UNKNOWN,
        says=f"multi-token prediction of {family} is not among the families of vllm "
        f"{case.version or ''}: {', '.join(sorted(listed))}",
        facts=facts[:1],
        remedy="EAGLE or a draft model, n-gram speculation, or a later version",
        probe=None if sure else case.probe("boot_log"),
    )


_AS_DEEPSEEK = ("deepseek_v", "kimi_k2", "glm_moe_dsa", "pangu")
_METHODS = {"eagle", "eagle3", "medusa", "ngram", "suffix", "dflash", "mtp", "mlp_speculator"}
_SAME = {"nextn": "mtp", "deepseek_mtp": "mtp", "eagle-3": "eagle3", "[ngram]": "ngram"}


def _names(asked: str, listed: str) -> bool:
    """Whether a listed method is the one asked for: ``ngram-cache`` and ``draft-eagle3`` are."""
    parts = re.split(r"[-_]", listed)
    return asked == listed or asked in parts


def _methods_listed(case: Case) -> tuple[list[Fact], bool] | None:
    """(methods of this version's list, whether a name that is not there was not there): between
    two readings both must lack it, so both are given; null where none was read."""
    if not case.known.complete("speculative_method") or case.engine not in {"vllm", "sglang"}:
        return None
    here = case.known.all("speculative_method")
    if case.known.exact:
        return here, True
    later = case.known.later
    if later is None or not later.knows("speculative_method"):
        return here, False
    return here + later.all("speculative_method"), True


@constraint(
    "draft_head_missing",
    asks="Has the checkpoint the multi-token head that the method needs?",
    needs="speculative method, num_nextn_predict_layers",
    verdicts=("infeasible",),
    remedy="EAGLE or a draft model, n-gram speculation, or none",
)
def draft_head_missing(case: Case) -> Finding | None:
    method = case.speculative or ""
    if not any(word in method for word in ("mtp", "nextn")) or case.model is None:
        return None
    if case.model.shape.draft_layers or case.model.shape.layers is None:
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        says=f"{method}: the checkpoint has no multi-token prediction layers",
        remedy="EAGLE or a draft model, n-gram speculation, or none",
    )
