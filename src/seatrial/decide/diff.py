"""An upgrade check: two trials of the same workload, before and after.

For each metric the new one is compared with the old over their server starts, with the margin that
was stated. *Worse* means shown to be worse by more than the margin (Holm over all gated metrics): a
regression. *Better* and *equivalent* are shown too; so is *not_worse* (non-inferior: a loss beyond
the margin is excluded, a gain is not shown). What shows nothing is *undecided*, and a gate that
must not let a loss through treats it as a no (``--strict``).

Two trials run at different times are not interleaved: a machine that changed in between looks like
an upgrade. That is said with the result; a trial with both versions as candidates does not have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from seatrial.bench.cell import Cell
from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.core.provenance import Provenance, provenance
from seatrial.decide.case import METRICS, Case, gather
from seatrial.decide.causes import causes_of
from seatrial.decide.changed import Changed, differences, fact_differences, log_differences
from seatrial.decide.coldstart import cold_start_s
from seatrial.decide.folder import TrialFiles, load_trial
from seatrial.decide.record import Decision
from seatrial.gate import candidate_id
from seatrial.plan.objective import LATENCIES
from seatrial.stats.compare import Comparison, compare
from seatrial.stats.family import holm
from seatrial.stats.interval import Interval
from seatrial.stats.sequential import ALPHA
from seatrial.store.artifact import read

SCHEMA = "seatrial/diff/1"
MUST_MATCH = ("trace", "sampling", "hardware")
MetricOutcome = Literal["better", "worse", "equivalent", "not_worse", "undecided"]
_HIGHER = ("goodput", "output_tokens_per_s")
_RESOURCES = ("rss_peak_bytes", "gpu_mem_peak_bytes", "cold_start_s")


class MetricDiff(msgspec.Struct, frozen=True, kw_only=True):
    """One metric, old against new, in its own unit (mean over starts, geometric for ratios).

    ``ratio`` is new / old (None for a share, whose ``interval`` is the difference new - old).
    ``gated``: a regression in it fails the check. ``causes``: likely ones, most likely first.
    """

    name: str
    old: float | None
    new: float | None
    ratio: float | None
    interval: Interval | None
    outcome: MetricOutcome
    gated: bool
    causes: list[str]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two: its trial (folder's name), candidate, engine, valid starts, quality."""

    trial: str
    candidate: str
    engine: str
    version: str | None
    valid: int
    quality: str | None


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """``diff --json``"""

    schema: str
    old: Side
    new: Side
    margin: float
    alpha: float
    changed: Changed
    metrics: list[MetricDiff]
    regression: bool
    undecided: bool
    says: list[str]
    caveats: list[str]
    provenance: Provenance


def diff(
    old: Path,
    new: Path,
    *,
    old_candidate: str | None = None,
    new_candidate: str | None = None,
    margin: float | None = None,
    force: bool = False,
) -> Diff:
    """Compare a candidate of one trial with a candidate of another (or of the same).

    Args:
        old_candidate, new_candidate: ids; what each trial selected where not given.
        margin: non-inferiority margin as a fraction; the new trial's own where not given.
        force: compare although trace, sampling or hardware differ.

    Raises:
        UsageError: the two did not serve the same requests on the same hardware.
        PrerequisiteError: a candidate has no valid start.
    """
    left, right = load_trial(old), load_trial(new)
    a = old_candidate or _chosen(left)
    b = new_candidate or _chosen(right)
    case_a, case_b = _case(left, a), _case(right, b)
    limit = right.plan.rule.margin if margin is None else margin
    caveats = _comparable(case_a, case_b, a, b, force=force)
    if left.folder.resolve() != right.folder.resolve():
        caveats.append(
            "the two trials ran at different times and are not interleaved: a change of the machine"
            " in between would look like this too"
        )
    changed = _changed(left, right, a, b)
    metrics = _metrics(case_a, case_b, a, b, limit, changed)
    worse = [m for m in metrics if m.gated and m.outcome == "worse"]
    sides = _side(left, a, case_a), _side(right, b, case_b)
    says = [_line(m) for m in worse] + _quality_lines(*sides)
    return Diff(
        schema=SCHEMA,
        old=sides[0],
        new=sides[1],
        margin=limit,
        alpha=ALPHA,
        changed=changed,
        metrics=metrics,
        regression=bool(worse) or (sides[1].quality == "fail" and sides[0].quality != "fail"),
        undecided=any(m.gated and m.outcome == "undecided" for m in metrics),
        says=says,
        caveats=caveats,
        provenance=provenance(
            {f"old/{k}": v for k, v in left.hashes.items()}
            | {f"new/{k}": v for k, v in right.hashes.items()}
        ),
    )


def _chosen(trial: TrialFiles) -> str:
    path = trial.folder / "decision.json"
    selected = read(path, Decision).selected if path.is_file() else None
    if selected is None:
        names = ", ".join(arm.candidate for arm in trial.plan.survivors)
        if len(trial.plan.survivors) == 1:
            return trial.plan.survivors[0].candidate
        raise UsageError(
            "this trial selected nobody: say which candidate is meant",
            where=str(trial.folder),
            remedy=f"give --old-candidate or --new-candidate, one of: {names}",
        )
    return selected


def _case(trial: TrialFiles, candidate: str) -> Case:
    """The trial with this candidate's cells alone."""
    mine = [cell for cell in trial.cells if cell.candidate == candidate]
    if candidate not in {arm.candidate for arm in trial.plan.survivors}:
        raise UsageError(
            f"no candidate {candidate} was on trial",
            where=str(trial.folder),
            remedy="one of: " + ", ".join(arm.candidate for arm in trial.plan.survivors),
        )
    case = gather(
        spec=trial.spec,
        plan=trial.plan,
        cells=mine,
        requests=trial.requests,
        quality=trial.quality,
        lifecycle=trial.lifecycle,
        platform={},
    )
    if not case.cells[candidate]:
        raise PrerequisiteError(
            f"{candidate} has no valid start in this trial",
            where=str(trial.folder),
            remedy="run the trial again; seatrial decide says what is missing",
        )
    return case


def _comparable(a: Case, b: Case, name_a: str, name_b: str, *, force: bool) -> list[str]:
    left, right = a.cells[name_a][0].comparability, b.cells[name_b][0].comparability
    found = differences(left, right)
    fatal = [d for d in found if d.name.split(".")[0] in MUST_MATCH]
    if fatal and not force:
        raise UsageError(
            "the two trials did not serve the same requests on the same hardware: they differ in "
            + ", ".join(d.name for d in fatal),
            where=f"{name_a} and {name_b}",
            remedy="run the same workload file on the same machine, or compare all the same with"
            " --force",
        )
    return [f"not the same in both: {d.name} ({d.old} then, {d.new} now)" for d in found]


def _changed(left: TrialFiles, right: TrialFiles, a: str, b: str) -> Changed:
    arm_a = next(arm for arm in left.plan.survivors if arm.candidate == a)
    arm_b = next(arm for arm in right.plan.survivors if arm.candidate == b)
    one, two = _first_cell(left, a), _first_cell(right, b)
    versions = differences(
        {"engine": arm_a.engine, "engine_version": arm_a.version, **_tools(one)},
        {"engine": arm_b.engine, "engine_version": arm_b.version, **_tools(two)},
    )
    facts = []
    if arm_a.engine == arm_b.engine:
        facts = fact_differences(arm_a.engine, arm_a.version, arm_b.version)
    return Changed(
        versions=versions,
        flags=differences(_asked(left, a), _asked(right, b)),
        settings=differences(one.effective, two.effective),
        logs=log_differences(_log(left, one), _log(right, two)),
        facts=facts,
    )


def _first_cell(trial: TrialFiles, candidate: str) -> Cell:
    mine = [c for c in trial.cells if c.candidate == candidate and c.valid]
    return min(mine, key=lambda c: c.start)


def _tools(cell: Cell) -> dict[str, Any]:
    keys = ("model", "precision", "hardware", "template")
    return {"seatrial": cell.provenance.tool_version} | {
        key: cell.comparability.get(key) for key in keys
    }


def _asked(trial: TrialFiles, candidate: str) -> dict[str, Any]:
    """What the workload file asked for, as flat names."""
    for spec in trial.spec.candidates or []:
        if candidate_id(spec) == candidate:
            asked: dict[str, Any] = msgspec.to_builtins(spec)
            return {k: asked[k] for k in ("artefact", "args", "env", "backend") if asked.get(k)}
    return {}


def _log(trial: TrialFiles, cell: Cell) -> Path:
    return trial.cell_folders[cell.candidate, cell.start] / "engine.log"


def _metrics(
    case_a: Case, case_b: Case, a: str, b: str, margin: float, changed: Changed
) -> list[MetricDiff]:
    gated = _gated(case_b)
    rows = []
    for name in [*METRICS, *_RESOURCES]:
        old, new = _values(case_a, a, name), _values(case_b, b, name)
        if old and new:
            places = _places(case_a, a, case_b, b)
            rows.append((name, _against(name, old, new, places, margin)))
    claims = [c for name, c in rows if name in gated]
    least = np.array([min(c.p_better, c.p_worse, c.p_equivalent, c.p_not_worse) for c in claims])
    factor = dict(
        zip(
            (c.metric for c in claims),
            np.divide(holm(least), least, out=np.ones_like(least), where=least > 0),
            strict=True,
        )
    )
    out = []
    for name, c in rows:
        outcome = _outcome(c, float(factor.get(name, 1.0)))
        causes = causes_of(name, changed) if outcome == "worse" else []
        out.append(_metric_diff(name, c, outcome, name in gated, causes, case_a, case_b, a, b))
    return out


def _gated(case: Case) -> set[str]:
    """Metrics whose regression fails the check: what the workload asks for."""
    slo = case.spec.slo
    asked = {f"{n}.{key}" for n in LATENCIES for key in (getattr(slo, n) or {})} & set(METRICS)
    if case.spec.mode == "offline":
        return {"output_tokens_per_s"}
    return {"goodput", *(asked or {"ttft_ms.p95", "tpot_ms.mean", "e2e_ms.p95"})}


def _values(case: Case, candidate: str, name: str) -> list[float]:
    """One finite value per start, or nothing."""
    if name == "cold_start_s":
        found = [cold_start_s(c.cold_start_s) or 0.0 for c in case.cells[candidate]]
    elif name in _RESOURCES:
        found = [c.resources.get(name) or 0.0 for c in case.cells[candidate]]
    else:
        found = case.series(candidate, name)
    usable = all(np.isfinite(v) and (v > 0 or name == "goodput") for v in found)
    return [float(v) for v in found] if usable else []


def _places(case_a: Case, a: str, case_b: Case, b: str) -> tuple[list[int], list[int]]:
    """Positions of the old and the new starts; all the same where the two were not interleaved."""
    starts_a, starts_b = [c.start for c in case_a.cells[a]], [c.start for c in case_b.cells[b]]
    if case_a.plan != case_b.plan:
        return [0] * len(starts_a), [0] * len(starts_b)
    place = {(c.candidate, c.start): c.position for c in [*case_a.plan.cells, *case_a.plan.reserve]}
    return [place.get((a, s), 0) for s in starts_a], [place.get((b, s), 0) for s in starts_b]


def _against(
    name: str,
    old: Sequence[float],
    new: Sequence[float],
    places: tuple[list[int], list[int]],
    margin: float,
) -> Comparison:
    log = name != "goodput"
    y_new, y_old = (np.log(v) if log else np.asarray(v) for v in (new, old))
    return compare(
        metric=name,
        a="new",
        b="old",
        y_a=y_new,
        y_b=y_old,
        position_a=places[1],
        position_b=places[0],
        margin=margin,
        alpha=ALPHA,
        log=log,
        higher_is_better=name in _HIGHER,
    )


def _outcome(c: Comparison, factor: float) -> MetricOutcome:
    claims: list[tuple[float, MetricOutcome]] = [
        (c.p_better, "better"),
        (c.p_worse, "worse"),
        (c.p_equivalent, "equivalent"),
        (c.p_not_worse, "not_worse"),
    ]
    for p, name in claims:
        if p * factor <= ALPHA:
            return name
    return "undecided"


def _metric_diff(
    name: str,
    c: Comparison,
    outcome: MetricOutcome,
    gated: bool,
    causes: list[str],
    case_a: Case,
    case_b: Case,
    a: str,
    b: str,
) -> MetricDiff:
    spread = c.ratio or c.delta
    return MetricDiff(
        name=name,
        old=_centre(_values(case_a, a, name), log=c.scale == "log"),
        new=_centre(_values(case_b, b, name), log=c.scale == "log"),
        ratio=c.ratio.best if c.ratio else None,
        interval=spread if np.isfinite([spread.low, spread.high]).all() else None,
        outcome=outcome,
        gated=gated,
        causes=causes,
    )


def _centre(values: Sequence[float], *, log: bool) -> float:
    """Mean over starts; the geometric one where ratios are compared, so that new / old agrees."""
    return float(np.exp(np.mean(np.log(values)))) if log else float(np.mean(values))


def _side(trial: TrialFiles, candidate: str, case: Case) -> Side:
    arm = next(arm for arm in trial.plan.survivors if arm.candidate == candidate)
    check = trial.quality.get(candidate)
    return Side(
        trial=trial.folder.resolve().name,
        candidate=candidate,
        engine=arm.engine,
        version=arm.version,
        valid=len(case.cells[candidate]),
        quality=str(check.verdict) if check else None,
    )


def _line(m: MetricDiff) -> str:
    ratio = f", {m.ratio - 1:+.1%}" if m.ratio is not None else ""
    likely = f"; look first at: {m.causes[0]}" if m.causes else ""
    return f"{m.name} is worse: {m.old:.4g} then, {m.new:.4g} now{ratio}{likely}"


def _quality_lines(old: Side, new: Side) -> list[str]:
    if new.quality == "fail" and old.quality != "fail":
        return [f"the quality check fails now (it was: {old.quality or 'not run'})"]
    return []


__all__ = ["Diff", "MetricDiff", "diff"]
