"""The generic model class: what an engine may still run that its own registry does not hold.

vLLM and SGLang look an unknown class up in the Transformers library beside them; without it they
take what the model's own code registers (``auto_map`` with an ``AutoModel`` entry), and else
refuse (vllm 0.13.0 vllm/model_executor/models/registry.py ``_try_resolve_transformers``; sglang
0.5.8.post1 sglang/srt/model_loader/utils.py ``resolve_transformers_arch``). Which Transformers
that is follows from the engine's requirement and the day of its release.
"""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact, FactSet
from seatrial.facts import version as order
from seatrial.facts.modeltypes import admits, config_types, model_types
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding
from seatrial.gate.knowledge import Knowledge


def beside(case: Case) -> tuple[str | None, Fact | None]:
    """The newest Transformers that can stand beside this version of the engine, and the fact
    of its requirement; null where neither requirement nor day is known."""
    fact = case.known.get("requires", "transformers")
    if fact is not None and not case.known.exact and fact.state == "extracted":
        fact = None  # carried over from an older version: its pin has moved
    wanted = str(fact.value) if fact is not None else None
    if case.known.released is None and not (wanted or "").startswith("=="):
        return None, fact
    return model_types().newest(wanted, case.known.released), fact


_GENERIC = ("TransformersForCausalLM", "TransformersModel")
"""The generic class of text generation; vLLM 0.7.2 to 0.8.2 calls it by the second name."""


def generic_class(known: Knowledge | FactSet) -> Fact | None:
    """The engine's generic class, null where this version has none."""
    return next((f for n in _GENERIC if (f := known.get("architecture", n)) is not None), None)


_POOLED = ("TransformersForSequenceClassification", "TransformersEmbeddingModel")
_WITH_IMAGES = ("TransformersMultiModalForCausalLM", "TransformersForMultimodalLM")


def _kind_lacking(case: Case, name: str) -> tuple[str, str, list[Fact]] | None:
    """The generic class of text generation runs no image or audio model: that takes one of its
    own (vLLM 0.10.1, SGLang 0.5.10), and none runs an encoder and a decoder."""
    towers = case.model is not None and (case.model.vision or case.model.audio)
    remedy = "an engine or a version whose registry has it"
    encodes = case.loaded is not None and case.loaded.encoder_only
    if encodes and not any(case.known.get("architecture", c) is not None for c in _POOLED):
        return "the generic class runs decoders only", remedy, []
    if not towers and not name.endswith("ForConditionalGeneration"):
        return None
    if not towers:
        return "the generic classes run decoders only", remedy, []
    if any(case.known.get("architecture", c) is not None for c in _WITH_IMAGES):
        return None
    why = f"{case.engine} {case.version} has no generic class for images or audio"
    return why, remedy, []


def refused(case: Case, name: str) -> tuple[str, str, list[Fact]] | None:
    """(why, remedy, facts) where the generic class has nothing to run; null where it may have."""
    model = case.model
    if model is not None and model.remote_code:
        return None
    if (lacking := _kind_lacking(case, name)) is not None:
        return lacking
    tables, (release, fact) = model_types(), beside(case)
    if release is None:
        return None
    family = model.model_type if model is not None else None
    pinned = fact is not None and str(fact.value).startswith("==")
    if case.known.later is None and not pinned and tables.first(family=family or "") is None:
        return None  # the newest version read may meet a library newer than any that was read
    facts = [fact] if fact is not None else []
    if not tables.has(release, name=name):
        since, what = tables.first(name=name), name
    elif family is not None and not tables.has(release, family=family):
        since, what = tables.first(family=family), f"model type {family}"
    else:
        return None
    why = (
        f"the generic class has nothing to run either: {what} is not in Transformers {release}, "
        f"the newest that {case.engine} {case.version} takes ({tables.place(release)}), and the "
        "model brings no code of its own"
    )
    remedy = "an engine or a version whose registry has it"
    if since is not None:
        remedy = f"a later {case.engine}, whose Transformers is {since} or newer; or another engine"
    return why, remedy, facts


def newer_library(case: Case, name: str) -> tuple[str, Fact] | None:
    """The first Transformers that knows the class and that the engine's requirement admits, though
    it is younger than the engine: put beside it the generic class has something to run. Plain
    decoders only: experts, recurrent layers and latents came to the generic class later."""
    model, (release, fact) = case.loaded, beside(case)
    if model is None or model.shape.experts or release is None or fact is None:
        return None
    plain = all(g.kind in {"full", "sliding"} for g in model.cache)
    if not plain or model.quantization is not None or not name.endswith("ForCausalLM"):
        return None
    since = model_types().first(name=name, family=model.model_type)
    if since is None or order.key(since) <= order.key(release):
        return None
    return (since, fact) if admits(str(fact.value), since) else None


def in_library(case: Case, name: str) -> tuple[bool | None, str]:
    """For Transformers itself, between its full readings: whether the release has the class and
    the model type, and where that is read; null where neighbours differ or none is newer."""
    tables, version = model_types(), case.version
    if version is None:
        return None, ""
    family = case.model.model_type if case.model is not None else None
    sides = [v for v in tables.around(version) if v is not None]
    if len(sides) < 2:
        return None, ""
    found = {tables.has(v, name=name, family=family) for v in sides}
    where = tables.place(sides[0])
    return (found.pop(), where) if len(found) == 1 else (None, "")


def config_unread(case: Case) -> tuple[str, str, list[Fact]] | None:
    """(why, remedy, facts) where the class is registered, and neither the engine's own
    configurations nor any Transformers that its requirement admits knows the model type: start-up
    stops at config.json until a newer Transformers is put in by hand."""
    family = case.model.model_type if case.model is not None else None
    own = config_types(case.engine)
    if own is None or not family or case.version is None or case.model is None:
        return None
    if case.model.remote_code or own.has(case.version, family) is not False:
        return None
    floor, fact = (
        case.known.get("requires", f"transformers:{case.architecture}"),
        _requirement(case),
    )
    if floor is None or fact is None:
        return None
    since = str(floor.value).removeprefix(">=")
    newest = model_types().newest(str(fact.value), None)
    if newest is None or order.key(newest) >= order.key(since):
        return None
    why = (
        f"its class is there, but model type {family} is not: the engine has no configuration of "
        f"its own for it, and Transformers {fact.value} ends before {since}, the first that has it"
    )
    remedy = f"install transformers {since} or later beside it, against the requirement"
    return why, f"{remedy}; or a later {case.engine}", [floor, fact]


def _requirement(case: Case) -> Fact | None:
    """What this version requires of Transformers: its own metadata, or both neighbours' alike."""
    fact = case.known.get("requires", "transformers")
    if fact is None or case.known.exact or fact.state != "extracted":
        return fact
    other = case.known.later.get("requires", "transformers") if case.known.later else None
    return fact if other is not None and other.value == fact.value else None


def auto_model(case: Case, name: str, facts: list[Fact]) -> Finding:
    """TGI: what is in no branch goes to Transformers' AutoModel, on one shard and for text only
    (server/text_generation_server/models/__init__.py: "sharded is not supported for AutoModel")."""
    says = f"{name} is not among the optimised types of tgi {case.version}"
    since = next((str(f.detail["remedy"]) for f in facts if "remedy" in f.detail), None)
    remedy = since or "another engine that has the class"
    if case.tp == 1 and not (case.spec.requires.vision and case.model and case.model.vision):
        return Finding(
            verdict=Verdict.UNKNOWN,
            says=f"{says}; the generic Transformers class may run it, or refuse",
            facts=facts,
            remedy=remedy,
            probe=case.probe("boot_log"),
        )
    kind = f"cannot be cut into {case.tp} shards" if case.tp > 1 else "reads no images"
    return Finding(
        verdict=Verdict.INFEASIBLE if case.set.tp_stated or case.tp == 1 else Verdict.CONDITIONAL,
        says=f"{says}, and the generic Transformers class {kind}",
        facts=facts,
        remedy=remedy if case.set.tp_stated or case.tp == 1 else f"num_shard 1, or {remedy}",
    )
