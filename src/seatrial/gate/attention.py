"""Attention kernels: does one of the engine's backends take this GPU, head and cache.

vLLM chooses among its backends by what each class says of itself (capability, head sizes, types of
the cache, sparse or not) and refuses to start where none is left; one that is named must pass the
same questions (vllm 0.11.2 vllm/platforms/cuda.py ``get_attn_backend_cls``). SGLang takes the named
or its default one and asserts afterwards that it suits the GPU and the class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding
from seatrial.gate.pool import at_least

_OTHER_DEVICES = ("ROCM_", "XPU_", "CPU_", "TORCH_SDPA", "NO_ATTENTION")
_OF_A_CLASS = re.compile(r"_DSV\d+$|MSA|MINIMAX|STEP\d|LINEAR|GDN|MAMBA|SHORT_CONV")
_ENV_ENDS = "0.15.0"
"""vllm 0.15.1 vllm/envs.py no longer reads VLLM_ATTENTION_BACKEND, 0.14.1 does."""


def without_backend(case: Case) -> Iterator[Finding]:
    """Where no attention backend, or not the named one, takes this GPU, head and cache."""
    if case.capability is None or case.loaded is None or case.form in {"gguf", "tensorrt-engine"}:
        return
    if case.engine == "sglang":
        yield from _sglang(case)
    elif case.engine == "vllm" and (found := _sinks(case) or _vllm(case)) is not None:
        yield found
    if (shown := _sparse(case)) is not None:
        yield shown
    if (blind := _image_encoder(case)) is not None:
        yield blind


def named(case: Case) -> str | None:
    """The backend that the candidate names, as written."""
    value = case.args.get("attention_backend")
    nested = case.args.get("attention_config")
    if value is None and isinstance(nested, dict):
        value = nested.get("backend")
    if value is None and case.engine == "vllm" and not at_least(case, _ENV_ENDS):
        value = case.candidate.env.get("VLLM_ATTENTION_BACKEND")
    return str(value) if value not in (None, "", "auto") else None


def family(case: Case) -> str:
    """plain, latent or sparse: which attention the model's cache asks for."""
    model = case.loaded
    if model is not None and model.shape.index_topk:
        return "sparse"
    latent = model is not None and any(g.kind == "latent" for g in model.cache)
    return "latent" if latent else "plain"


def _of_family(fact: Fact, kind: str) -> bool:
    name = fact.subject
    if name.startswith(_OTHER_DEVICES) or _OF_A_CLASS.search(name):
        return False
    if "SPARSE" in name:
        return kind == "sparse" and "MLA" in name
    return ("MLA" in name) == (kind == "latent") and kind != "sparse"


def admits(expression: str, capability: int) -> bool | None:
    """Whether a class's ``supports_compute_capability`` returns true; null where not understood."""
    whole = expression.strip()
    if whole == "True":
        return True
    major, both = capability // 10, (capability // 10, capability % 10)
    answers = []
    for part in whole.split(" and "):
        pairs = [(int(a), int(b)) for a, b in re.findall(r"\((\d+),\s*(\d+)\)", part)]
        if (listed := re.fullmatch(r"capability\.major in [\[(]([\d, ]+)[\])]", part)) is not None:
            answers.append(major in {int(n) for n in listed[1].split(",") if n.strip()})
        elif (one := re.fullmatch(r"capability\.major == (\d+)", part)) is not None:
            answers.append(major == int(one[1]))
        elif pairs and " in (" in part:
            answers.append(both in pairs)
        elif len(pairs) == 1 and (sign := re.match(r"capability (>=|<=|==) ", part)) is not None:
            answers.append(
                {">=": both >= pairs[0], "<=": both <= pairs[0], "==": both == pairs[0]}[sign[1]]
            )
        else:
            return None
    return all(answers)


def _table(case: Case) -> list[Fact]:
    """The backends of this version that say which capability they take (vLLM from 0.11.2 on)."""
    return [f for f in case.known.all("attention_backend") if "capability" in f.detail]


def _heads_fit(case: Case, fact: Fact, kind: str) -> bool:
    sizes = fact.detail.get("head_sizes")
    width = case.loaded.shape.head_dim if case.loaded and kind == "plain" else None
    return not isinstance(sizes, list) or width is None or width in sizes


def _cache_fits(fact: Fact, asked: str | None) -> bool:
    types = fact.detail.get("kv_cache_dtypes")
    if asked is None or not isinstance(types, list):
        return True
    return asked in types or any(t.startswith(asked) for t in types)


def _asked_cache(case: Case) -> str | None:
    """The cache type where it is a narrow one; what this GPU cannot hold is another rule's."""
    asked = (case.spec.requires.kv_cache_dtype or case.set.kv_dtype or "").lower()
    narrow = asked.startswith(("fp8", "nvfp4", "int8", "int4"))
    return asked if narrow and (case.capability or 0) >= 89 else None


def usable(case: Case, kind: str, cache: str | None) -> list[Fact]:
    """Backends of the family that take the GPU, the head width and the cache type. What a class
    decides by more than constants (FlashAttention and narrow caches) is not struck out."""
    capability = case.capability or 0
    return [
        f
        for f in _table(case)
        if _of_family(f, kind)
        and admits(str(f.detail["capability"]), capability) is not False
        and _heads_fit(case, f, kind)
        and (_cache_fits(f, cache) or (f.subject == "FLASH_ATTN" and capability // 10 == 9))
    ]


def _vllm(case: Case) -> Finding | None:
    table, kind = _table(case), family(case)
    asked = named(case)
    if not table or any(_named_for(case, f) for f in table):
        return None if not table or asked is None else _named_vllm(case, asked, table, kind)
    if asked is not None and (wrong := _named_vllm(case, asked, table, kind)) is not None:
        return wrong
    cache = _asked_cache(case)
    fitting = usable(case, kind, cache)
    where = f"{case.engine} {case.version or ''} on compute {(case.capability or 0) / 10:.1f}"
    if fitting:
        return Finding(
            verdict=Verdict.FEASIBLE,
            facts=fitting[:1],
            says=f"{fitting[0].subject} takes {kind} attention in {where}",
        )
    without = usable(case, kind, None) if cache else []
    known = case.known.exact and kind == "sparse"
    if without:
        return Finding(
            verdict=Verdict.CONDITIONAL,
            facts=without[:1],
            says=f"no backend takes {kind} attention with a cache in {cache} in {where}",
            remedy="kv_cache_dtype auto",
        )
    return Finding(
        verdict=Verdict.INFEASIBLE if known else Verdict.UNKNOWN,
        facts=[f for f in table if _of_family(f, kind)][:3],
        says=f"no attention backend of {where} takes {kind} attention: "
        + ", ".join(f"{f.subject} ({f.detail['capability']})" for f in table if _of_family(f, kind))
        if any(_of_family(f, kind) for f in table)
        else f"{where} has no backend for {kind} attention",
        remedy="another GPU generation, or a later version",
        probe=None if known else case.probe("boot_log"),
    )


def _named_for(case: Case, fact: Fact) -> bool:
    """Whether a backend is for this model's class alone (DeepSeek-V4's ``..._DSV4``)."""
    found = re.search(r"_DSV(\d+)$", fact.subject)
    return found is not None and (case.architecture or "").startswith(f"DeepseekV{found[1]}For")


def _named_vllm(case: Case, asked: str, table: list[Fact], kind: str) -> Finding | None:
    """A backend named by flag or environment is taken as it is, or start-up refuses it."""
    name = asked.upper()
    fact = next((f for f in case.known.all("attention_backend") if f.subject == name), None)
    where = f"{case.engine} {case.version or ''}"
    if fact is None:
        if not case.known.exact:
            return None
        why = f"{where} has no attention backend {asked}"
    elif fact not in table or _named_for(case, fact):
        return None
    elif admits(str(fact.detail["capability"]), case.capability or 0) is False:
        why = f"{name} in {where} takes {fact.detail['capability']}"
    elif not _of_family(fact, kind) and not _OF_A_CLASS.search(name):
        why = f"{name} does not do {kind} attention"
    elif not _heads_fit(case, fact, kind):
        why = f"{name} takes head widths {fact.detail['head_sizes']}"
    else:
        return None
    others = [f.subject for f in usable(case, kind, _asked_cache(case))]
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"capability": case.capability},
        facts=[fact] if fact else table[:1],
        says=f"{why}: start-up refuses it",
        remedy=f"leave the backend to the engine{', or ' + others[0] if others else ''}",
    )


def _sinks(case: Case) -> Finding | None:
    """A backend named for a class whose attention has sinks: most take none."""
    asked = (named(case) or "").upper()
    fact = case.known.get("requires", f"attention_sinks:{asked}") if asked else None
    if fact is None or case.architecture not in fact.detail.get("classes", []):
        return None
    if (case.capability or 0) // 10 in fact.value:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"capability": case.capability},
        facts=[fact],
        says=f"{asked} with {case.architecture} on compute {(case.capability or 0) / 10:.1f}: "
        f"{fact.condition}",
        remedy="leave the backend to the engine, or TRITON_ATTN",
    )


def _sparse(case: Case) -> Finding | None:
    """Sparse attention with an indexer (DeepSeek-V3.2, GLM-5 and what follows) has kernels for
    Hopper and data-centre Blackwell; elsewhere somebody has to have shown it."""
    keeps = case.model.shape.index_topk if case.model else None
    capability = case.capability or 0
    if not keeps or capability // 10 in (9, 10) or (case.engine == "vllm" and _table(case)):
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"capability": capability, "index_topk": keeps},
        says=f"sparse attention (the {keeps} best tokens) has kernels for compute 9.0 and 10.0; "
        f"that {case.engine} {case.version or ''} runs it on {capability / 10:.1f} is not shown",
        remedy="Hopper or data-centre Blackwell, or a model without sparse attention",
        probe=case.probe("load_and_kernel"),
    )


def _sglang(case: Case) -> Iterator[Finding]:
    """Lists of backends that a class, or gated delta layers on Blackwell, may be served with."""
    major = (case.capability or 0) // 10
    chip = f"sm{major}0"
    asked = (named(case) or "").lower() or None
    default = case.known.get("default", f"attention_backend+{chip}")
    chosen = asked or (str(default.value) if default else None)
    lists = [case.known.get("requires", f"attention:{case.architecture}")] if asked else []
    lists.append(case.known.get("requires", f"attention:hybrid_gdn+{chip}"))
    for fact in lists:
        if fact is None or chosen is None or chosen in fact.value:
            continue
        classes = fact.detail.get("classes")
        if isinstance(classes, list) and case.architecture not in classes:
            continue
        yield Finding(
            verdict=Verdict.CONDITIONAL,
            facts=[fact, *([default] if default and not asked else [])],
            says=f"--attention-backend {chosen}{'' if asked else ' (the default here)'} with "
            f"{case.architecture} in sglang {case.version or ''}: {fact.condition}",
            remedy=f"--attention-backend {' or '.join(fact.value[:3])}",
        )
        return
    if asked is not None and (wrong := _wrong_chip(case, asked, major)) is not None:
        yield wrong


def _wrong_chip(case: Case, asked: str, major: int) -> Finding | None:
    fact = case.known.get("requires", f"attention_majors:{asked}")
    if fact is None or not isinstance(fact.value, list):
        return None
    latent = family(case) != "plain"
    majors = fact.detail.get("latent", fact.value) if latent else fact.value
    if major in majors and (latent or not fact.detail.get("only_latent")):
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"capability": case.capability},
        facts=[fact],
        says=f"--attention-backend {asked} on compute {(case.capability or 0) / 10:.1f}: "
        f"{fact.condition}",
        remedy="leave --attention-backend out, or triton or flashinfer",
    )


def _image_encoder(case: Case) -> Finding | None:
    """The image encoder attends with a kernel of its own, which may lack the chip; it runs in the
    profiling at start-up as well, unless no images are admitted."""
    fact = case.known.excludes(f"image_encoder+sm{(case.capability or 0) // 10}0")
    classes = fact.detail.get("classes") if fact else None
    if fact is None or fact.value != "refuses" or not isinstance(classes, list):
        return None
    if case.architecture not in classes:
        return None
    needed = bool(case.spec.requires.vision)
    return Finding(
        verdict=Verdict.INFEASIBLE if needed else Verdict.CONDITIONAL,
        numbers={"capability": case.capability},
        facts=[fact],
        says=f"image encoder of {case.architecture}: {fact.condition}",
        remedy=str(fact.detail.get("remedy") or "another GPU, release or engine")
        if needed
        else '--limit-mm-per-prompt {"image": 0, "video": 0}',
    )
