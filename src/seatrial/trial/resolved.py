"""workload.resolved.json: the workload as it was understood, beside the text as it was passed.

A trial that is resumed must be the same trial: the trace, the model and the machine named here are
compared with what is there now, and a change is refused instead of mixed in.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.provenance import Provenance, provenance
from seatrial.hardware import Host
from seatrial.store.artifact import read, write
from seatrial.trace import RequestTable
from seatrial.workload import ResolvedTraffic, Workload

SCHEMA = "seatrial/workload-resolved/1"


class ResolvedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """workload.resolved.json

    Attributes:
        workload: every key, defaults filled in.
        scaling, assumptions: what was done to the traffic; limits of what the result says.
        traffic_sha256: hash of the resolved requests (times, lengths, sessions, blocks).
        model_sha256: hash of the model's file or folder.
        host: this machine, as detected.
    """

    schema: str
    workload: Workload
    scaling: dict[str, Any]
    assumptions: list[str]
    requests: int
    traffic_sha256: str
    model_sha256: str
    host: dict[str, Any]
    provenance: Provenance


def resolve(
    path: Path,
    *,
    spec: Workload,
    traffic: ResolvedTraffic,
    traffic_sha256: str,
    model_sha256: str,
    host: Host,
) -> ResolvedWorkload:
    """Write workload.resolved.json, or check that an earlier one still holds.

    Raises:
        UsageError: trace or model is not what it was when the trial began.
    """
    if path.exists():
        earlier = read(path, ResolvedWorkload)
        for what, then, now in (
            ("traffic", earlier.traffic_sha256, traffic_sha256),
            ("model", earlier.model_sha256, model_sha256),
        ):
            if then != now:
                raise UsageError(
                    f"the {what} is not what it was when this trial began",
                    where=f"{path.parent}: {what} {then[:12]} then, {now[:12]} now",
                    unchanged="the trial",
                    remedy="restore it, or start another trial with --out",
                )
        return earlier
    made = ResolvedWorkload(
        schema=SCHEMA,
        workload=spec,
        scaling=traffic.scaling,
        assumptions=list(traffic.assumptions),
        requests=traffic.table.n,
        traffic_sha256=traffic_sha256,
        model_sha256=model_sha256,
        host=msgspec.to_builtins(host),
        provenance=provenance({"traffic": traffic_sha256, "model": model_sha256}),
    )
    write(path, made)
    return made


def traffic_identity(table: RequestTable) -> str:
    """SHA-256 of what is sent: times, lengths, sessions, turns and prefix blocks."""
    digest = hashlib.sha256()
    blocks = table.blocks
    columns = [table.arrival_ns, table.input_tokens, table.output_tokens, table.session, table.turn]
    columns += [blocks.offsets, blocks.hashes] if blocks else []
    for column in columns:
        digest.update(b"-" if column is None else column.tobytes())
    return digest.hexdigest()
