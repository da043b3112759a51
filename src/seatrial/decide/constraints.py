"""Who is out before anybody is compared: engines that do not run, quality, operations, SLOs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from seatrial.bench.cell import Cell
from seatrial.decide.record import Excluded, Operating, SloCheck
from seatrial.workload.spec import Operations

TRIES = 3


def by_engine(names: Sequence[str], cells: Sequence[Cell]) -> list[Excluded]:
    """Candidates whose engine failed in every one of at least TRIES starts: they do not run here.

    A cell that is void because the client was late says nothing about the engine and is not one.
    """
    out = []
    for name in names:
        mine = [cell for cell in cells if cell.candidate == name]
        broken = [c for c in mine if not c.valid and c.requests.completed == 0]
        if len(mine) >= TRIES and len(broken) == len(mine):
            because = "; ".join(dict.fromkeys(r for c in mine for r in c.invalid_because))
            out.append(
                Excluded(
                    candidate=name,
                    constraint="starts",
                    says=f"no request completed in any of {len(mine)} starts: {because}",
                    remedy="see engine.log in its cells, mend the cause, and run another trial",
                )
            )
    return out


class QualityLike(Protocol):
    """What the decision reads of a quality check; ``quality.QualityResult`` is one."""

    @property
    def verdict(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def margin(self) -> float: ...
    @property
    def diff(self) -> Any: ...


def by_quality(names: Sequence[str], quality: Mapping[str, QualityLike]) -> list[Excluded]:
    """Candidates whose quality check failed."""
    out = []
    for name in names:
        check = quality.get(name)
        if check is not None and str(check.verdict) == "fail":
            low, high = ends(check.diff)
            out.append(
                Excluded(
                    candidate=name,
                    constraint="quality",
                    says=f"the task check against the reference failed: difference {low:.4g} to"
                    f" {high:.4g} with a margin of {check.margin:.4g} (n = {check.n})",
                    remedy="take an artefact with less loss, or state a wider quality margin",
                )
            )
    return out


def by_operations(ops: Sequence[Operating], limits: Operations) -> list[Excluded]:
    """Candidates measured above a limit on start, recovery, upgrade or roll-back."""
    out = []
    for mine in ops:
        for key in ("cold_start_s", "recovery_s", "upgrade_s", "rollback_s"):
            limit, value = getattr(limits, key), getattr(mine, key)
            if limit is not None and value is not None and value > limit:
                out.append(
                    Excluded(
                        candidate=mine.candidate,
                        constraint=f"operations.{key}",
                        says=f"{key} was {value:.1f} s, {limit:g} s are allowed",
                        remedy=f"allow {value:.0f} s, or shorten it (smaller weights, faster disk,"
                        " prebuilt caches)",
                    )
                )
                break
    return out


def by_slo(names: Sequence[str], checks: Sequence[SloCheck]) -> list[Excluded]:
    """Candidates that were shown to miss an SLO; the worst one binds."""
    out = []
    for name in names:
        missed = [c for c in checks if c.candidate == name and c.verdict == "missed"]
        if missed:
            worst = min(missed, key=lambda c: c.attained.best if c.attained and c.needed else 0.0)
            asked = f"{worst.slo} {_sign(worst.slo)} {worst.limit:g}"
            at = f"measured {worst.value:.4g}" if worst.value is not None else "never reached"
            out.append(
                Excluded(
                    candidate=name,
                    constraint=f"slo.{worst.slo}",
                    says=f"misses {asked}: {at}; {worst.says}",
                    remedy="lower the load per replica (traffic.scale), loosen this SLO, or take"
                    " faster hardware",
                )
            )
    return out


def ends(diff: Any) -> tuple[float, float]:
    """low and high of an interval given as a record or as a mapping."""
    if isinstance(diff, Mapping):
        return float(diff["low"]), float(diff["high"])
    return float(diff.low), float(diff.high)


def _sign(slo: str) -> str:
    return ">=" if slo in ("goodput", "output_tokens_per_s") else "<="
