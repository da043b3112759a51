"""Constraints of dialect: the routes that clients speak to, and whether they mean the same thing.

Routes come and go with releases. What was read of a version speaks for it; between two readings
that agree, and before the first one, what neither has was not there: a route that is taken up
stays for years.
"""

from __future__ import annotations

from seatrial.core.verdict import Verdict
from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint


def asks_for(case: Case, word: str) -> bool:
    """Whether a required API has this word in its name."""
    return any(word in name.lower() for name in case.spec.requires.api)


@constraint(
    "api_semantics_differ",
    asks="Does the same route mean the same thing as where the users come from?",
    needs="model kind, requires.api, fact excludes rerank_scores",
    verdicts=("unknown",),
    remedy="adapt the client and compare on real data",
)
def api_semantics_differ(case: Case) -> Finding | None:
    fact = case.known.excludes("rerank_scores")
    reranks = asks_for(case, "rerank") or (
        case.model is not None and "Classification" in (case.model.architecture or "")
    )
    if fact is None or not reranks:
        return None
    return Finding(
        verdict=Verdict.UNKNOWN,
        facts=[fact],
        probe=case.probe("real_request"),
        says=f"rerank scores: {fact.condition}",
        remedy=str(fact.detail.get("remedy") or "a sigmoid in the client")
        + "; or stay with TEI or vLLM",
    )


_ROUTES = {
    "openai.chat": ("/v1/chat/completions",),
    "openai.completions": ("/v1/completions",),
    "openai.responses": ("/v1/responses",),
    "openai.embeddings": ("/v1/embeddings",),
    "openai.models": ("/v1/models",),
    "openai.audio": ("/v1/audio/transcriptions",),
    "anthropic.messages": ("/v1/messages",),
    "rerank": ("/rerank", "/v1/rerank", "/v2/rerank"),
    "cohere.rerank": ("/v2/rerank", "/rerank", "/v1/rerank"),
    "score": ("/score", "/v1/score"),
    "tokenize": ("/tokenize",),
    "ollama": ("/api/chat",),
    "tgi": ("/generate_stream",),
}
_SHORT = {
    "chat": "openai.chat",
    "messages": "anthropic.messages",
    "anthropic": "anthropic.messages",
    "transcriptions": "openai.audio",
} | {n: f"openai.{n}" for n in ("completions", "responses", "embeddings", "models", "audio")}
_NAMES = {paths[0]: name for name, paths in _ROUTES.items() if len(paths) == 1}
_EVERYWHERE = {"openai.chat", "openai.models"}


@constraint(
    "api_missing",
    asks="Does the server answer the required API?",
    needs="requires.api, fact route",
    verdicts=("infeasible", "conditional", "unknown"),
    remedy="another engine, or a gateway in front",
)
def api_missing(case: Case) -> list[Finding]:
    return [f for name in case.spec.requires.api if (f := _route(case, name.strip().lower()))]


def _route(case: Case, name: str) -> Finding | None:
    name = _NAMES.get(name, _SHORT.get(name, name))
    paths = _ROUTES.get(name, (name,) if name.startswith("/") else ())
    fact = _first_route(case, paths)
    if fact is not None:
        gated = fact.condition or fact.detail.get("gate")
        if gated and fact.state == "conditional":
            return Finding(
                verdict=Verdict.CONDITIONAL,
                says=f"{fact.subject} only if {gated}",
                facts=[fact],
                remedy=str(gated),
            )
        return Finding(verdict=Verdict.FEASIBLE, says=f"{name}: {fact.subject}", facts=[fact])
    denied = [f for p in paths if (f := case.known.get("route", p)) is not None]
    if name in _EVERYWHERE and not denied:
        return Finding(verdict=Verdict.FEASIBLE, says=f"{name}: every engine here serves it")
    why = None if denied else _not_there(case, name, paths)
    sure = bool(denied or why)
    return Finding(
        verdict=Verdict.INFEASIBLE if sure else Verdict.UNKNOWN,
        says=f"{name} is {'not among the routes of' if sure else 'not verified for'} "
        f"{case.engine} {case.version or ''}" + (f": {why}" if why else ""),
        facts=denied,
        remedy=_later_with(denied) + "another engine, or a gateway that translates",
        probe=None if sure else case.probe("real_request"),
    )


def _later_with(denied: list[Fact]) -> str:
    until = denied[0].until if denied else None
    return f"{until} or later, " if until else ""


def _not_there(case: Case, name: str, paths: tuple[str, ...]) -> str | None:
    """Why a route that no fact names is known to be missing: this version was read, or the next
    one that was read lacks it as well (and the one before it, or the route is a dialect's)."""
    if not paths:
        return None
    if case.known.complete("route") and case.known.exact:
        return f"none of {', '.join(paths)}"
    later = case.known.later
    if later is None or not later.knows("route"):
        return None
    subjects = [s for p in paths for s in (p, f"POST {p}", f"GET {p}")]
    if any(later.get("route", s, layer=case.known.layer) is not None for s in subjects):
        return None
    if not case.known.complete("route") and name not in _ROUTES:
        return None
    return f"{later.resolved}, the next version read, does not have it either"


def _first_route(case: Case, paths: tuple[str, ...]) -> Fact | None:
    for path in paths:
        for subject in (path, f"POST {path}", f"GET {path}"):
            fact = case.known.get("route", subject)
            if fact is not None and fact.value not in ("no", False, "none"):
                return fact
    return None
