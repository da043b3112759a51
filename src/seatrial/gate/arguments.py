"""Is the candidate itself written down right: a version that was read, flags that it has?

A version nobody has read is judged by the nearest older reading, which cannot say that the version
exists or what it changed. A flag that the version does not have stops the engine before it serves.
Neither is a pass.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from seatrial.core.verdict import Verdict
from seatrial.facts import version as order
from seatrial.facts.modeltypes import parsers
from seatrial.facts.shortened import ARGPARSE, plain, short_for
from seatrial.gate.case import Case
from seatrial.gate.constraint import Finding, constraint
from seatrial.gate.flags import COUNTS
from seatrial.gate.knowledge import spellings

_NOT_OF_THE_COMMAND_LINE = ("extra.", "overrides.")
"""Prefixes of settings that TensorRT-LLM and MLC-LLM take in a file or in one option."""


_COMMON = frozenset(COUNTS | {"backend", "model_format", "quantization", "dtype"})
"""What this workload file lets a candidate say whichever way the engine spells it."""


@constraint(
    "version_unread",
    asks="Was this version's artefact read, or a later one, or is it installed here?",
    needs="the version, the fact store, what is installed",
    verdicts=("unknown",),
    remedy="read its facts, or name a version that was read",
)
def version_unread(case: Case) -> Finding | None:
    if case.known.exact or case.version is None or case.version in case.installed:
        return None
    facts = case.known.facts
    newest = facts.newest if facts is not None else None
    if facts is None or facts.file is None or newest is None or case.known.later is not None:
        return None
    if order.key(facts.file.version)[0] == order.key(case.version)[0]:
        return None  # its release candidate was read
    return Finding(
        verdict=Verdict.UNKNOWN,
        says=f"{case.engine} {case.version} was not read, nor any later one (the newest read is "
        f"{newest}): whether it exists and what it changed is not known",
        remedy=f"seatrial facts sync {case.engine}=={case.version}, or the version {newest}",
        probe=case.probe("facts"),
    )


@constraint(
    "flag_unknown",
    asks="Does the engine have the flags in args, and do their values make sense?",
    needs="the candidate's args, fact flag",
    verdicts=("conditional",),
    remedy="the flag as this version spells it",
)
def flag_unknown(case: Case) -> Iterator[Finding]:
    yield from _senseless_counts(case)
    yield from _unknown_parsers(case)
    if not case.candidate.args:
        return
    if not case.known.exact or not case.known.complete("flag"):
        yield from _of_another_engine(case)
        return
    names = spellings(case.known.all("flag")) | _options(case)
    for flag in case.candidate.args:
        name = plain(flag).lower()
        if flag.startswith(_NOT_OF_THE_COMMAND_LINE) or name in names:
            continue
        if name.removeprefix("no_") in names or f"ollama_{name}" in names:
            continue
        if case.engine in ARGPARSE and short_for(name, names):
            continue
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
        yield Finding(
            verdict=Verdict.CONDITIONAL,
            facts=case.known.all("flag")[:1],
            says=f"{case.engine} {case.version} has no flag {flag}: the start would be refused",
            remedy=f"did you mean {near[0]}? or leave it out" if near else "leave it out",
        )


_PARSERS = {"tool_call_parser": "tool", "reasoning_parser": "reasoning"}


def _unknown_parsers(case: Case) -> Iterator[Finding]:
    """A parser's name is looked up as the server starts; a plugin brings names of its own."""
    read = parsers(case.engine)
    if read is None or case.version is None or any("plugin" in flag for flag in case.args):
        return
    for flag, kind in _PARSERS.items():
        value = case.args.get(flag)
        if not isinstance(value, str) or read.has(case.version, f"{kind}:{value}") is not False:
            continue
        names = [n.partition(":")[2] for n in read.types if n.startswith(f"{kind}:")]
        here = [n for n in names if read.has(case.version, f"{kind}:{n}")]
        near = difflib.get_close_matches(value, here, n=1, cutoff=0.5)
        yield Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"{case.engine} {case.version} has no {flag.replace('_', ' ')} {value[:40]!r} "
            f"among its {len(here)}: the start would be refused",
            remedy=f"did you mean {near[0]}? or a later {case.engine}"
            if near
            else f"one of: {', '.join(sorted(here)[:12])}; or a later {case.engine}",
        )


def _options(case: Case) -> frozenset[str]:
    """Ollama's options: of a request or of a Modelfile, and written among the args all the same."""
    fact = case.known.excludes("options")
    return frozenset(fact.detail.get("names", [])) if fact is not None else frozenset()


def _of_another_engine(case: Case) -> Iterator[Finding]:
    """This version's flags were not read: one that no version read of this engine has, and another
    engine does, was written for that one."""
    unseen: list[str] = []
    own = case.known.flags_read() | _options(case)
    for flag in case.candidate.args if own else ():
        name = plain(flag).lower()
        spelt = {name, name.removeprefix("no_"), f"ollama_{name}"}
        prefix = case.engine in ARGPARSE and short_for(name, own)
        if not (flag.startswith(_NOT_OF_THE_COMMAND_LINE) or spelt & own or prefix):
            unseen.append(flag)
    others = case.known.flags_read(of_others=True) if unseen else frozenset()
    for flag in unseen:
        if plain(flag).lower() in others and plain(flag).lower() not in _COMMON:
            yield Finding(
                verdict=Verdict.CONDITIONAL,
                says=f"{flag} is another engine's flag: no version of {case.engine} that was read "
                "has it, the start would be refused",
                remedy="leave it out",
            )


def _senseless_counts(case: Case) -> Iterator[Finding]:
    """Numbers of ranks, tokens and sequences that are none."""
    for flag, value in case.candidate.args.items():
        if plain(flag).lower() not in COUNTS or value is None:
            continue
        text = str(value).strip()
        if not isinstance(value, bool) and text.isdecimal() and int(text) > 0:
            continue
        yield Finding(
            verdict=Verdict.CONDITIONAL,
            says=f"args.{flag} must be a whole number above 0, is {text[:40]!r}",
            remedy=f"give {flag} a number, or leave it out for the engine's default",
        )
