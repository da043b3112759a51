"""A made-up trial with known truth: log-normal requests, a known factor for each candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest

from seatrial.bench.cell import Cell, ClientReport, Counts, Summary
from seatrial.core.ids import sha256_file
from seatrial.core.provenance import provenance
from seatrial.core.verdict import Verdict
from seatrial.gate.table import GateRow, GateTable, Reason
from seatrial.plan import Plan, make
from seatrial.store import write
from seatrial.workload.spec import Budget, Slo, Trial, Workload
from seatrial.workload.spec import Model as SpecModel

DB = duckdb.connect(config={"threads": 1})


@dataclass
class MadeTrial:
    """Inputs of ``decide`` as keyword arguments, and the columns behind each cell."""

    spec: Workload
    gate: GateTable
    plan: Plan
    cells: list[Cell]
    columns: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The trial as files, as far as the decision reads them."""
        write(folder / "workload.resolved.json", {"workload": self.spec})
        write(folder / "gate.json", self.gate)
        write(folder / "plan.json", self.plan)
        for cell in self.cells:
            place = folder / "cells" / cell.candidate / f"{cell.start:03d}"
            place.mkdir(parents=True)
            write_parquet(place / "requests.parquet", self.columns[cell.candidate, cell.start])
            files = {"requests.parquet": sha256_file(place / "requests.parquet")}
            write(place / "cell.json", msgspec.structs.replace(cell, files=files))
        return folder

    def kwargs(self) -> dict[str, Any]:
        return {
            "spec": self.spec,
            "gate": self.gate,
            "plan": self.plan,
            "cells": self.cells,
            "requests": lambda cell: self.columns[cell.candidate, cell.start],
        }


def columns_of(factor: float, *, requests: int, fail: float, seed: int) -> dict[str, Any]:
    base = np.random.default_rng(7)  # the same requests in every cell
    size = base.lognormal(0, 0.4, requests)
    scheduled = np.cumsum(base.exponential(0.5, requests)) * 1e9
    noise = np.random.default_rng(seed)
    ttft = 100e6 * size * factor * noise.lognormal(0, 0.02, requests)
    tpot = 20e6 * factor * noise.lognormal(0, 0.01, requests)
    tokens = np.full(requests, 32)
    failed = noise.random(requests) < fail
    return {
        "request_id": np.arange(requests),
        "status": np.where(failed, "failed", "completed").astype(object),
        "scheduled_ns": scheduled.astype(np.int64),
        "done_ns": (scheduled + ttft + 31 * tpot).astype(np.int64),
        "output_tokens": np.where(failed, 0, tokens),
        "ttft_ns": np.where(failed, np.nan, ttft),
        "tpot_ns": np.where(failed, np.nan, tpot),
        "e2e_ns": np.where(failed, np.nan, ttft + 31 * tpot),
    }


def write_parquet(path: Path, columns: dict[str, Any]) -> None:
    """requests.parquet with the columns of DESIGN 4.4 that the decision reads."""
    scheduled = columns["scheduled_ns"]
    failed = columns["status"] != "completed"
    ttft = np.nan_to_num(columns["ttft_ns"]).astype(np.int64)
    tpot = np.nan_to_num(columns["tpot_ns"])
    rows = {
        "request_id": columns["request_id"],
        "status": columns["status"],
        "scheduled_ns": scheduled,
        "done_ns": columns["done_ns"],
        "first_token_ns": np.ma.masked_array(scheduled + ttft, failed),
        "last_token_ns": np.ma.masked_array((scheduled + ttft + 31 * tpot).astype(int), failed),
        "output_tokens": columns["output_tokens"],
    }
    DB.register("rows", rows)
    DB.execute(f"COPY (SELECT *, [1, 2] AS event_ns FROM rows) TO '{path}' (FORMAT parquet)")


def summary_of(ns: np.ndarray) -> Summary:
    ms = ns[~np.isnan(ns)] / 1e6
    if not ms.size:
        return Summary(mean=None, p50=None, p90=None, p95=None, p99=None, n=0)
    p50, p90, p95, p99 = (float(v) for v in np.percentile(ms, [50, 90, 95, 99]))
    return Summary(mean=float(ms.mean()), p50=p50, p90=p90, p95=p95, p99=p99, n=ms.size)


def cell_of(
    candidate: str, start: int, columns: dict[str, Any], *, valid: bool = True, **more: Any
) -> Cell:
    n = len(columns["status"])
    done = int((columns["status"] == "completed").sum())
    span = float(columns["done_ns"].max()) / 1e9
    tokens = int(columns["output_tokens"].sum())
    fields: dict[str, Any] = {
        "schema": "seatrial/cell/1",
        "candidate": candidate,
        "start": start,
        "valid": valid,
        "invalid_because": [] if valid else ["the client was late: p99 lateness 80 ms"],
        "requests": Counts(
            offered=n,
            completed=done,
            failed=n - done,
            cancelled=0,
            timed_out=0,
            cut=0,
            in_flight=0,
        ),
        "ttft_ms": summary_of(columns["ttft_ns"]),
        "itl_ms": summary_of(columns["tpot_ns"]),
        "tpot_ms": summary_of(columns["tpot_ns"]),
        "e2e_ms": summary_of(columns["e2e_ns"]),
        "output_tokens": tokens,
        "output_tokens_per_s": tokens / span,
        "duration_s": span,
        "goodput": done / n,
        "failure_rate": 1 - done / n,
        "resources": {"rss_peak_bytes": 1e9},
        "effective": {},
        "client": ClientReport(
            cpu_s=1.0,
            cpu_s_per_million_tokens=9.0,
            lateness_ms={"p99": 0.5},
            loop_lag_ms={"p99": 0.2},
            cpu_share=0.1,
        ),
        "findings": [],
        "cold_start_s": {"process": 1.0, "weights": 2.0, "warmup": 0.5, "first_token": 0.1},
        "comparability": {"model": "m", "precision": "f16", "sampling": {"temperature": 0}},
        "provenance": provenance(),
    }
    return Cell(**(fields | more))


def gate_of(
    names: Mapping[str, Verdict] | list[str], roles: Mapping[str, str] | None = None
) -> GateTable:
    verdicts = names if isinstance(names, Mapping) else dict.fromkeys(names, Verdict.FEASIBLE)
    rows = [
        GateRow(
            candidate=name,
            engine="llama.cpp",
            version="1",
            verdict=verdict,
            role=(roles or {}).get(name, "candidate"),
            reasons=[
                Reason(
                    constraint="memory",
                    verdict=verdict,
                    says=f"{name} says so",
                    numbers={},
                    facts=[],
                    remedy="a smaller model",
                )
            ],
        )
        for name, verdict in verdicts.items()
    ]
    return GateTable(schema="seatrial/gate/1", candidates=rows, provenance=provenance())


MakeTrial = Callable[..., MadeTrial]


@pytest.fixture
def make_trial() -> MakeTrial:
    """make_trial({"a": 1.0, "b": 1.3}, sd=0.01): a trial in which b is 30 % slower."""

    def make_it(
        factors: Mapping[str, float],
        *,
        sd: float = 0.01,
        starts: int = 5,
        requests: int = 300,
        slo: Slo | None = None,
        fail: Mapping[str, float] | None = None,
        roles: Mapping[str, str] | None = None,
        mode: str = "online",
        margin: float = 0.03,
        seed: int = 1,
    ) -> MadeTrial:
        spec = Workload(
            schema="seatrial/workload/1",
            name="t",
            model=SpecModel(path="m"),
            mode=mode,  # type: ignore[arg-type]
            slo=slo or Slo(ttft_ms={"p95": 500.0}, tpot_ms={"p95": 100.0}),
            budget=Budget(usd_per_hour=2.0),
            trial=Trial(starts=starts, margin=margin, seed=seed),
        )
        gate = gate_of(list(factors), roles)
        plan = make(spec, gate, minutes_per_cell=1.0)
        rng = np.random.default_rng(seed)
        trial = MadeTrial(spec, gate, plan, [])
        for planned in plan.cells:
            name = planned.candidate
            columns = columns_of(
                factors[name] * float(np.exp(rng.normal(0, sd))),
                requests=requests,
                fail=(fail or {}).get(name, 0.0),
                seed=seed * 1000 + planned.position,
            )
            trial.columns[name, planned.start] = columns
            trial.cells.append(cell_of(name, planned.start, columns))
        return trial

    return make_it
