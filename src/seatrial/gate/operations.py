"""Constraints of operation: who maintains it, how it starts, what it costs, who else must help."""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.units import format_bytes
from seatrial.core.verdict import Verdict
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.platforms import cpu_isa_missing
from seatrial.gate.registry import class_names
from seatrial.model import memory

CPU_BANDWIDTH_GB_S = (20.0, 1000.0)
"""Memory bandwidth of server processors: one old channel pair, and two sockets of twelve
channels DDR5-6400 (12 x 51.2 x 2 = 1229) less what is never reached. Only bounds."""

_SERVING = "a serving platform beside it (KServe, llm-d, Dynamo, Ray Serve, a router)"
_MANY = 10


@constraint(
    "engine_unmaintained",
    asks="Is the engine maintained?",
    needs="fact maintenance (as of today, whichever version is asked for)",
    verdicts=("infeasible",),
    remedy="an engine that is maintained; a migration dossier for those who run it",
)
def engine_unmaintained(case: Case) -> Finding | None:
    latest = [f for f in case.known.latest("maintenance") if f.subject == case.engine]
    fact = latest[0] if latest else None
    if fact is None or fact.value == "active":
        return None
    when = fact.detail.get("on")
    return Finding(
        verdict=Verdict.INFEASIBLE,
        facts=[fact],
        says=f"{case.engine} is in {fact.value} since {when or fact.since}"
        + (f", archived {fact.detail['archived']}" if "archived" in fact.detail else "")
        + f"; its last version is {fact.detail.get('last_version', 'known')}",
        remedy=str(fact.detail.get("remedy") or "vLLM or SGLang"),
    )


@constraint(
    "license_restricted",
    asks="Does a licence stand against this use?",
    needs="license of model card or GGUF, fact license",
    verdicts=("unknown",),
    remedy="have the licence read by whoever answers for it",
)
def license_restricted(case: Case) -> Finding | None:
    name = (case.model.license or "").lower().replace("_", "-") if case.model else ""
    words = set(name.split("-"))
    if not words & {"nc", "noncommercial", "research"} and "non-commercial" not in name:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"the model's licence ({name}) excludes some uses",
        remedy="have the licence read by whoever answers for it, or another model",
        probe=case.probe("license"),
    )


@constraint(
    "concurrency_default",
    asks="Does the engine serve more than one request at once as configured?",
    needs="concurrency, slots, facts default OLLAMA_NUM_PARALLEL, serial_architectures, scheduling",
    verdicts=("conditional", "infeasible"),
    remedy="raise the number of slots (and their cache), or another engine",
)
def concurrency_default(case: Case) -> Finding | None:
    count = case.concurrency or _people(case)
    if count is None or count < 2:
        return None
    if case.engine == "ollama":
        return _ollama(case, count)
    if case.engine == "llama.cpp":
        return _llama_server(case, count)
    if case.engine == "transformers" and not case.candidate.args.get("continuous_batching"):
        return Finding(
            verdict=Verdict.CONDITIONAL,
            numbers={"concurrency": count},
            says="transformers serve answers one request after another by default",
            remedy="--continuous-batching",
        )
    return None


def _people(case: Case) -> int | None:
    """Some people at once: a tenth of them, at least two (the assumption is shown)."""
    people = case.spec.traffic.people if case.spec.traffic else None
    return max(2, people // 10) if people and people > 1 else None


def _one_at_a_time(case: Case, count: int) -> Finding | None:
    """Architectures for which Ollama forces one slot, and any model with a projector at first."""
    fact = case.known.get("requires", "serial_architectures")
    if fact is None or case.architecture is None:
        return None
    names = {*class_names(case, case.architecture)}
    if case.spec.requires.vision:
        names.add("projector")
    if not (found := names & set(fact.value)):
        return None
    return Finding(
        verdict=Verdict.INFEASIBLE,
        numbers={"slots": 1, "concurrency": count},
        facts=[fact],
        says=f"{count} at once: {', '.join(sorted(found))} in Ollama {case.version or ''}: "
        f"{fact.condition}",
        remedy="several servers behind a proxy, or llama-server, vLLM or SGLang",
    )


def _llama_server(case: Case, count: int) -> Finding | None:
    """llama-server had one slot by default, and has four since it chooses their number itself."""
    fact = case.known.get("default", "n_parallel")
    slots = fact.value if fact and isinstance(fact.value, int) else None
    if case.set.slots or fact is None or slots is None or slots >= count:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"slots": slots, "concurrency": count},
        facts=[fact],
        says=f"llama-server has {slots} slot(s) by default: of {count} requests at once "
        f"{count - slots} wait(s)",
        remedy=f"-np {count} and -c {count} x the longest request",
    )


def _ollama(case: Case, count: int) -> Finding | None:
    if (serial := _one_at_a_time(case, count)) is not None:
        return serial
    fact = case.known.get("default", "OLLAMA_NUM_PARALLEL")
    slots = case.set.slots or (fact.value if fact and isinstance(fact.value, int) else 1)
    if slots >= count:
        return None
    numbers = {"slots": slots, "concurrency": count}
    facts = [fact] if fact else []
    if count >= _MANY:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            facts=facts,
            says=f"{count} users at once on {slots} slot(s): Ollama answers them one by one and "
            "never runs two copies of a model",
            remedy="vLLM, SGLang or llama-server",
        )
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers=dict(numbers),
        facts=facts,
        says=f"OLLAMA_NUM_PARALLEL is {slots}: {count} conversations are answered one by one",
        remedy=f"OLLAMA_NUM_PARALLEL={count} with {count} x the context in memory, else vLLM, "
        "SGLang or llama-server",
    )


@constraint(
    "concurrency_limit_set",
    asks="Do the candidate's own flags admit the required concurrency?",
    needs="concurrency, max_num_seqs and its like, llama.cpp -np",
    verdicts=("conditional",),
    remedy="raise the flag, and the memory that goes with it",
)
def concurrency_limit_set(case: Case) -> Finding | None:
    count = case.concurrency
    own = case.set.slots if case.engine == "llama.cpp" else case.set.seqs
    if count is None or own is None or own >= count:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"concurrency": count, "limit": own},
        says=f"the flags admit {own} at once, {count} are required: the rest waits",
        remedy=f"-np {count} and -c in proportion"
        if case.engine == "llama.cpp"
        else f"raise the limit to {count}",
    )


@constraint(
    "stability_under_concurrency",
    asks="Is the server known to stay up under this concurrency?",
    needs="concurrency, fact excludes concurrency+serve",
    verdicts=("infeasible", "unknown"),
    remedy="another engine, or a newer build tested under load",
)
def stability_under_concurrency(case: Case) -> Finding | None:
    count = case.concurrency or _people(case)
    if count is None or count < 4:
        return None
    for fact, holds in case.known.history("excludes"):
        if fact.subject == "concurrency+serve":
            sure = holds and count >= 5
            return Finding(
                verdict=Verdict.INFEASIBLE if sure else Verdict.UNKNOWN,
                facts=[fact],
                numbers={"concurrency": count},
                says=f"{count} at once: {fact.condition}",
                remedy="vLLM or SGLang on the same cards; retest a newer build under load before "
                "believing either way",
                probe=case.probe("load_test"),
            )
    return None


@constraint(
    "performance_infeasible",
    asks="Could the hardware reach the SLO even if it only read the weights?",
    needs="active weight bytes, memory bandwidth, slo.tpot_ms or itl_ms",
    verdicts=("infeasible", "unknown"),
    remedy="a smaller format, a smaller model, more bandwidth",
)
def performance_infeasible(case: Case) -> Finding | None:
    if case.loaded is None or case.loaded.encoder_only:
        return None
    active = memory.active_weight_bytes(case.loaded)
    if active is None:
        return None
    limit = _token_limit_ms(case)
    low, high = _bandwidth(case)
    fastest, slowest = active / high / 1e6, active / low / 1e6
    numbers = {
        "active_weight_bytes": active,
        "fastest_ms_per_token": round(fastest, 2),
        "slowest_ms_per_token": round(slowest, 2),
        "limit_ms": limit,
    }
    says = f"each token reads {format_bytes(active)} of weights: at least {fastest:.1f} ms a token"
    smaller = "a 4-bit GGUF on llama.cpp" if case.target.on_cpu else "a smaller format"
    if limit is not None and fastest > limit:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            says=f"{says}, the SLO is {limit} ms",
            remedy=f"{smaller}, or more bandwidth",
        )
    doubt = _doubtful(case, active, fastest, slowest, limit) if case.target.on_cpu else None
    if doubt and limit is None and _not_started(case):
        doubt = None  # what makes it start comes first
    if doubt is not None:
        return Finding(
            verdict=Verdict.UNKNOWN,
            numbers=dict(numbers),
            probe=case.probe("load_test"),
            says=f"{says}, {slowest:.0f} ms on a slow host{doubt}: starting and answering is not "
            "serving",
            remedy=f"{smaller}; bind threads; measure",
        )
    if limit or case.target.on_cpu:
        return Finding(verdict=Verdict.FEASIBLE, numbers=dict(numbers), says=says)
    return None


def _not_started(case: Case) -> bool:
    """Whether the build has to change before the processor runs it at all."""
    found = cpu_isa_missing(case)
    return isinstance(found, Finding) and found.verdict is Verdict.CONDITIONAL


_SLOWEST_MS = 1000.0
"""A token a second: nobody asks for less without saying so."""


def _doubtful(
    case: Case, active: int, fastest: float, slowest: float, limit: float | None
) -> str | None:
    """Why serving is in doubt on a processor, null if it is not: an SLO inside the bound, a token
    of more than a second at best, or a processor that has to emulate the type it computes in
    (vllm-project/vllm#12153: 0.1 token/s)."""
    if limit is not None:
        return "" if slowest > limit and active > 1 << 30 else None
    if fastest > _SLOWEST_MS:
        return ""
    if case.engine not in {"vllm", "transformers", "sglang"} or active < 6 << 30:
        return None
    flags = {f.lower() for f in case.target.flags}
    if not flags:
        return ", and the processor's instructions are not given"
    whole = case.quant is not None and case.quant.scheme == "w8a8-int8"
    wanted = {"avx512_vnni", "avx_vnni", "amx_int8", "i8mm"} if whole else _MATRIX
    if flags & wanted:
        return None
    return f", and the processor has none of {', '.join(sorted(wanted))}"


_MATRIX = {"avx512_bf16", "amx_bf16", "bf16", "sme", "avx512_fp16", "amx_tile"}
"""Instructions that multiply 16-bit matrices, as the kernel spells them."""


def _token_limit_ms(case: Case) -> float | None:
    """The largest time a token may take: any percentile must reach the fastest possible."""
    slo = case.spec.slo
    values = [v for part in (slo.tpot_ms, slo.itl_ms) if part for v in part.values()]
    return min(values, default=None)


def _bandwidth(case: Case) -> tuple[float, float]:
    """(lower, upper) GB/s over all devices that read at the same time."""
    gpu = case.target.gpu
    if gpu is None:
        return CPU_BANDWIDTH_GB_S
    ways = case.tp if not case.pooled else 1
    return gpu.bandwidth_gb_s * ways * 0.5, gpu.bandwidth_gb_s * ways


@constraint(
    "cold_start_bound",
    asks="Can the weights be read within the cold-start limit?",
    needs="weight bytes, hardware.disk_gb_per_s, operations.cold_start_s",
    verdicts=("infeasible",),
    remedy="a faster disk, a smaller format, a warm standby",
)
def cold_start_bound(case: Case) -> Finding | None:
    limit, disk = case.spec.operations.cold_start_s, case.spec.hardware.disk_gb_per_s
    if not limit or not disk or case.loaded is None:
        return None
    band = memory.weight_bytes(case.loaded)
    if band is None:
        return None
    seconds = band.lower / (disk * 1e9)
    numbers = {
        "weights_bytes": band.best,
        "disk_gb_per_s": disk,
        "read_s": round(seconds, 1),
        "limit_s": limit,
    }
    says = f"reading {format_bytes(band.best)} at {disk} GB/s takes {seconds:.0f} s"
    if seconds > limit:
        return Finding(
            verdict=Verdict.INFEASIBLE,
            numbers=dict(numbers),
            says=f"{says}, the limit is {limit:g} s before anything else is done",
            remedy="a faster disk, a smaller format, or a warm standby",
        )
    return Finding(verdict=Verdict.FEASIBLE, numbers=dict(numbers), says=f"{says} of {limit:g} s")


@constraint(
    "build_time",
    asks="Does a build per model fit how often the model changes?",
    needs="team.model_changes_per_month, team.max_build_minutes, fact kernel_source",
    verdicts=("unknown",),
    remedy="an engine without a build, or the build measured",
)
def build_time(case: Case) -> Finding | None:
    changes, limit = case.spec.team.model_changes_per_month, case.spec.team.max_build_minutes
    if not case.builds or (changes is None and limit is None):
        return None
    often = f"{changes:g} times a month" if changes else "when the model changes"
    return Finding(
        verdict=Verdict.UNKNOWN,
        numbers={"model_changes_per_month": changes, "max_build_minutes": limit},
        says=f"{case.engine} is compiled per model and GPU, {often}; how long that takes is not "
        f"known" + (f", the limit is {limit:g} min" if limit is not None else ""),
        remedy="an engine that loads the checkpoint as it is",
        probe=case.probe("lifecycle"),
    )


@constraint(
    "platform_layer_required",
    asks="Is something asked that no engine gives alone?",
    needs="platform.routing, canary, autoscaling, tenant_isolation",
    verdicts=("conditional",),
    remedy="a serving platform beside the engine",
)
def platform_layer_required(case: Case) -> Finding | None:
    asked = case.spec.platform
    words = [
        w for w in ("routing", "canary", "autoscaling", "tenant_isolation") if getattr(asked, w)
    ]
    if not words:
        return None
    return Finding(
        verdict=Verdict.CONDITIONAL,
        numbers={"asked": ", ".join(words)},
        says=f"{', '.join(words)}: an engine alone never satisfies this, the serving platform must",
        remedy=_SERVING,
    )


@constraint(
    "portability_vendor",
    asks="Does the engine run on every vendor that is asked for?",
    needs="portability.vendors, facts platform",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="an engine that covers the vendors, or one engine per vendor",
)
def portability_vendor(case: Case) -> Iterator[Finding]:
    for vendor in case.spec.portability.vendors:
        fact = case.known.get("platform", vendor.lower())
        if fact is None:
            yield Finding(
                verdict=Verdict.UNKNOWN,
                probe=case.probe("facts"),
                says=f"whether {case.engine} runs on {vendor} is not known",
            )
        elif fact.value == "none":
            yield Finding(
                verdict=Verdict.INFEASIBLE,
                facts=[fact],
                says=f"{case.engine} does not run on {vendor}",
                remedy="llama.cpp (all vendors), vLLM (NVIDIA, AMD, Intel, CPU), or one "
                "engine per vendor",
            )
        elif fact.value != "native":
            yield Finding(
                verdict=Verdict.CONDITIONAL,
                facts=[fact],
                says=f"{case.engine} on {vendor}: {fact.value}",
                remedy=str(fact.detail.get("plugin") or "see the condition"),
            )


@constraint(
    "budget",
    asks="Is the hardware within the budget?",
    needs="budget.usd_per_hour, a price",
    verdicts=(),
    remedy="cheaper hardware, fewer replicas",
)
def budget(case: Case) -> Finding | None:
    limit = case.spec.budget.usd_per_hour
    if limit is None:
        return None
    return Finding(
        verdict=Verdict.FEASIBLE,
        numbers={"usd_per_hour": limit},
        says=f"no price of the hardware is known here: {limit:g} USD an hour is weighed "
        "in the decision",
    )
