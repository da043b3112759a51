"""The form's question: a workload as text, and what the gate says of it while it is written.

Nothing is started and nothing is written. Paths in the text may only lead into the trials folder;
a model from a hub is not fetched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.dossier.escape import harmless
from seatrial.web.guard import inside
from seatrial.workload.spec import Workload

MAX_TEXT_BYTES = 65_536


def answer(root: Path, raw: bytes) -> dict[str, Any]:
    """The gate's table for the workload in ``raw`` (YAML), and what a number of people asks for.

    Raises:
        UsageError: the text is too long, has errors (all are listed), or names a file elsewhere.
    """
    from seatrial import gate
    from seatrial.engines import installed
    from seatrial.facts import load
    from seatrial.hardware import detect
    from seatrial.workload.people import translate

    spec = confined(root, raw)
    table = gate.run(
        spec,
        base_dir=root,
        fingerprint=None,
        facts=load(),
        host=detect(),
        installed=installed(),
    )
    people = spec.traffic.people if spec.traffic else None
    found = {
        "schema": "seatrial/web-gate/1",
        "gate": table,
        "people": translate(people) if people else None,
    }
    shown: dict[str, Any] = harmless(msgspec.to_builtins(found))
    return shown


def confined(root: Path, raw: bytes) -> Workload:
    """The workload in ``raw``, none of whose paths leads out of ``root``; nothing is opened.

    Raises:
        UsageError: too long, errors in it, or a file elsewhere.
    """
    from seatrial.workload.load import parse

    if len(raw) > MAX_TEXT_BYTES:
        raise UsageError(
            "the workload is longer than 64 KiB",
            where="the form",
            remedy="write it as a file and use seatrial gate",
        )
    spec = parse(raw, name="the form", folder=None)
    traces = spec.traffic.trace if spec.traffic else None
    named = [spec.model.path, *([traces] if isinstance(traces, str) else traces or [])]
    named += [c.artefact.path for c in spec.candidates or [] if c.artefact and c.artefact.path]
    for path in named:
        inside(root, path)
    return spec


def plain_candidates(spec: Workload) -> Workload:
    """``spec`` if no candidate reaches beyond the trials folder by its flags or environment.

    Raises:
        UsageError: one sets environment variables, or a flag looks like a path elsewhere.
    """
    for candidate in spec.candidates or []:
        values = [str(v) for v in candidate.args.values()]
        away = [v for v in values if v.startswith(("/", "~")) or ".." in v]
        if candidate.env or away:
            raise UsageError(
                f"candidate {candidate.name or candidate.engine}: "
                + (f"a flag names a place elsewhere ({away[0][:80]})" if away else "it sets env"),
                where="the form",
                unchanged="nothing was started",
                remedy="write the workload as a file and use seatrial run",
            )
    return spec
