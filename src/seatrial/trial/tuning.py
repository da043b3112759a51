"""Equal tuning of every candidate, on requests that its trial does not use.

Each engine gets the same number of cells and the same minutes. Which configurations are tried
follows from the seed and the engine's own extracted flags (``engines.tuning``); the first is always
the default. The best is then measured once more beside the default on the trial's own traffic,
because the best of several is better than it will be again.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seatrial.bench import Cell
from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress
from seatrial.core.provenance import provenance
from seatrial.core.seeds import derive_seed
from seatrial.core.units import NS_PER_S
from seatrial.engines import adapter
from seatrial.engines.start import find_environment
from seatrial.engines.tuning import Space, configurations, space
from seatrial.plan import PlannedCell
from seatrial.store import read, write
from seatrial.trace import RequestTable
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.effort import (
    SCHEMA,
    Outcome,
    Tuned,
    Tuning,
    best_of,
    gaps_of,
    outcome_of,
)
from seatrial.trial.folder import TrialFolder
from seatrial.trial.measure import measure_cell
from seatrial.workload import LoadedWorkload, resolve_traffic

NAME = "tuning/tuning.json"
FIRST_START = 1000
"""Numbers of tuning starts begin here: their prompts are not those of the trial's starts."""


class Tuner:
    """One tuning effort over one trial's folder; finished cells are kept and not repeated."""

    def __init__(
        self,
        folder: TrialFolder,
        loaded: LoadedWorkload,
        *,
        hardware: str,
        cells: int,
        minutes: float,
        requests: int | None,
        progress: Progress,
    ) -> None:
        self.folder = folder
        self.loaded = loaded
        self.spec = loaded.spec
        self.hardware = hardware
        self.cells = cells
        self.minutes = minutes
        self.progress = progress
        self.own = resolve_traffic(loaded).table
        self.table, self.slice = tuning_slice(loaded, self.own, requests)

    def run(self, candidates: list[TrialCandidate], *, confirm: bool) -> Tuning:
        """Tune every candidate and write tuning/tuning.json."""
        engines = [self._tune(candidate, confirm) for candidate in candidates]
        offline = self.spec.mode == "offline"
        tuning = Tuning(
            schema=SCHEMA,
            metric="output_tokens_per_s" if offline else "e2e_ms.mean",
            lower_is_better=not offline,
            slice=self.slice,
            cells_each=self.cells,
            minutes_each=self.minutes,
            engines=engines,
            gaps=gaps_of(engines, offline, self.spec.trial.margin),
            provenance=provenance(seeds={"tuning": self._seed}),
        )
        write(self.folder.file(NAME), tuning)
        return tuning

    @property
    def _seed(self) -> int:
        return derive_seed(self.spec.trial.seed, "tuning")

    def _tune(self, candidate: TrialCandidate, confirm: bool) -> Tuned:
        place = find_environment(adapter(candidate.spec.engine), candidate.spec.version)
        found = space(candidate.spec.engine, place)
        wanted = configurations(found, dict(candidate.spec.args), self.cells, self._seed)
        tried: list[Outcome] = []
        stopped = "" if len(wanted) == self.cells else f"its space has {len(wanted)} configurations"
        for number, args in enumerate(wanted):
            spent = sum(o.minutes for o in tried)
            if spent >= self.minutes:
                stopped = f"its {self.minutes:g} minutes were used up after {len(tried)} cells"
                break
            tried.append(self._cell(candidate, args, f"{number:03d}", self.table, number))
        offline = self.spec.mode == "offline"
        best = best_of(tried, offline)
        args = best.args if best else {}
        return Tuned(
            candidate=candidate.id,
            engine=candidate.spec.engine,
            version=place.version,
            role=candidate.spec.role,
            space={d.flag: list(d.values) for d in found.dials},
            source=found.source,
            left_out=_left_out(found),
            tried=tried,
            best=args,
            confirmed=self._confirm(candidate, args) if confirm and best else [],
            minutes=sum(o.minutes for o in tried),
            stopped=stopped,
        )

    def _confirm(self, candidate: TrialCandidate, args: dict[str, Any]) -> list[Outcome]:
        """Default and best on the trial's traffic; the default alone where it is the best."""
        both = [{}, args] if args else [{}]
        return [self._cell(candidate, a, f"own-{n}", self.own, 500 + n) for n, a in enumerate(both)]

    def _cell(
        self,
        candidate: TrialCandidate,
        args: dict[str, Any],
        name: str,
        table: RequestTable,
        number: int,
    ) -> Outcome:
        place = self.folder.file("tuning") / "cells" / candidate.id / name
        shown = ", ".join(f"{k}={v}" for k, v in args.items()) or "default"
        self.progress.step("tuning", f"{candidate.id}: {shown}")
        began = time.monotonic()
        if (place / "cell.json").is_file():
            cell = read(place / "cell.json", Cell)
        else:
            changed = msgspec.structs.replace(candidate.spec, args={**candidate.spec.args, **args})
            start = FIRST_START + number
            cell = measure_cell(
                place,
                PlannedCell(candidate=candidate.id, start=start, position=number, why=shown),
                replace(candidate, spec=changed),
                spec=self.spec,
                table=table,
                hardware=self.hardware,
                progress=self.progress,
            )
        minutes = (time.monotonic() - began) / 60
        return outcome_of(cell, args, max(minutes, cell.duration_s / 60))


def _left_out(found: Space) -> list[str]:
    return list(found.left_out)


def tuning_slice(
    loaded: LoadedWorkload, own: RequestTable, requests: int | None
) -> tuple[RequestTable, dict[str, Any]]:
    """Requests for tuning that the trial does not use, and words that say which they are.

    Of a trace: those after the trial's slice. Of described traffic: the same description drawn
    from another seed.

    Raises:
        UsageError: the trace has no requests beyond the trial's.
    """
    traffic = loaded.spec.traffic
    assert traffic is not None  # resolve_traffic has refused a workload without it
    count = requests or min(own.n, 12)
    if traffic.trace is None:
        return _redrawn(loaded, count)
    if traffic.slice is None:
        raise _nothing_left(loaded.path)
    plain = msgspec.structs.replace(traffic, scale=1.0)
    as_recorded = resolve_traffic(_with(loaded, plain)).table
    if as_recorded.arrival_ns is None:
        raise _nothing_left(loaded.path)
    after_s = traffic.slice.start_s + (float(as_recorded.arrival_ns[-1]) + 1) / NS_PER_S
    later = msgspec.structs.replace(traffic.slice, start_s=after_s, requests=count, duration_s=None)
    try:
        table = resolve_traffic(_with(loaded, msgspec.structs.replace(traffic, slice=later))).table
    except UsageError:
        raise _nothing_left(loaded.path) from None
    says = f"{table.n} requests of the trace after the trial's slice, from {after_s:.3f} s on"
    return table, {"kind": "trace", "requests": table.n, "says": says}


def _redrawn(loaded: LoadedWorkload, count: int) -> tuple[RequestTable, dict[str, Any]]:
    spec = loaded.spec
    seed = derive_seed(spec.trial.seed, "tuning slice") % (1 << 31)
    trial = msgspec.structs.replace(spec.trial, seed=seed)
    drawn = resolve_traffic(replace(loaded, spec=msgspec.structs.replace(spec, trial=trial))).table
    from seatrial.workload.transform import take

    table = take(drawn, np.arange(min(count, drawn.n), dtype=np.int64))
    says = f"{table.n} requests of the same description, drawn from another seed ({seed})"
    return table, {"kind": "synthetic", "seed": seed, "requests": table.n, "says": says}


def _with(loaded: LoadedWorkload, traffic: Any) -> LoadedWorkload:
    return replace(loaded, spec=msgspec.structs.replace(loaded.spec, traffic=traffic))


def _nothing_left(path: Path) -> UsageError:
    return UsageError(
        "the trace has no requests that the trial does not use: nothing is left to tune on",
        where=f"{path.name}: traffic.slice",
        unchanged="nothing was started",
        remedy="give the trial a slice of the trace; what comes after it is then used for tuning",
    )
