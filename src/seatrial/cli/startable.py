"""Candidates of a workload that can be started here, with their weights at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.trial.candidate import TrialCandidate
    from seatrial.workload import LoadedWorkload


def startable(
    loaded: LoadedWorkload, console: Console, only: str | None = None
) -> list[TrialCandidate]:
    """The workload's candidates whose engine is here; the others are named on stderr.

    Args:
        only: the id of one candidate; None: all.

    Raises:
        UsageError: the workload names none, or none of that id.
        PrerequisiteError: none of them can be started here.
    """
    from seatrial.core.errors import PrerequisiteError, UsageError
    from seatrial.engines import adapter, installed
    from seatrial.engines.environment import on_path
    from seatrial.facts import load as load_facts
    from seatrial.gate.candidate import unique_ids
    from seatrial.trial.candidate import named as spelled_out
    from seatrial.trial.candidate import prepare

    spec = loaded.spec
    # spelled out as `seatrial run` does it, so that a candidate has one id in every stage
    asked = spelled_out(spec, load_facts(), installed()).candidates if spec.candidates else None
    asked = asked or []
    named = dict(zip(unique_ids(asked), asked, strict=True))
    chosen = {name: c for name, c in named.items() if only in (None, name)}
    if not chosen:
        raise UsageError(
            f"the workload names no candidate {only}"
            if only
            else "the workload names no candidates",
            where=str(loaded.path),
            unchanged="nothing was started",
            remedy=f"one of: {', '.join(named)}" if named else "list them under candidates:",
        )
    here = installed()
    found = {}
    for name, candidate in chosen.items():
        binary = adapter(candidate.engine).binary
        there = binary is not None and on_path(candidate.engine, binary) is not None
        if candidate.endpoint or candidate.engine in here or there:
            found[name] = candidate
        else:
            console.note(f"{name}: left out, {candidate.engine} is not on this machine")
    if not found:
        raise PrerequisiteError(
            "none of the candidates' engines is on this machine",
            where=str(loaded.path),
            unchanged="nothing was started",
            remedy=f"seatrial engines install {next(iter(chosen.values())).engine}",
        )
    base = loaded.path.parent
    model = (base / spec.model.path).resolve()
    return [prepare(name, c, model, base, console.progress) for name, c in found.items()]
