"""Fit, validate, capacity and what-if on cells whose truth is known: they were simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from seatrial.core.errors import MeasurementInvalid, PrerequisiteError, UsageError
from seatrial.fit import Observed, StepCost, fit, step_table
from seatrial.fit.observe import from_rows, observe
from seatrial.fit.steps import prefill_began
from seatrial.sim import POLICIES, Limits, make_load, poisson
from seatrial.sim.calibrate import calibrate, foresee, future_interval
from seatrial.sim.capacity import capacity, ramp_share, split
from seatrial.sim.cells import Measured, engine_limits, measured_cells
from seatrial.sim.load import Load
from seatrial.sim.metrics import METRICS, PARTS, of_observed
from seatrial.sim.result import Step
from seatrial.sim.state import State
from seatrial.sim.steps import step_loop
from seatrial.sim.validate import Compared, coverage_by_cell, validate
from seatrial.sim.whatif import whatif
from seatrial.stats import proportion_interval
from seatrial.trace.table import RequestTable
from seatrial.workload.spec import Slo

TRUTH = StepCost(step=0.02, prefill=1e-3, decode=2e-3, context=1e-5)
LIMITS = Limits(max_seqs=4, token_budget=512, blocks=4 * 32, reserve_tokens=512)
POLICY = POLICIES["chunked-prefill"]


def cell(seed: int, rate: float, *, noise: float = 0.0, name: str = "c", n: int = 60) -> Measured:
    """A cell as a perfect client would have seen the simulated engine."""
    load = poisson(n, rate, 60, 30, seed=seed)
    load = make_load(load.arrival, np.minimum(load.input, 200), np.minimum(load.output, 100))
    cost = TRUTH
    if noise:
        factor = 1 + noise * np.random.default_rng(seed).normal()
        cost = StepCost(**{k: v * factor for k, v in msgspec.structs.asdict(TRUTH).items()})
    tokens: dict[int, list[float]] = {i: [] for i in range(load.n)}
    last: dict[int, int] = dict.fromkeys(range(load.n), 0)

    def watch(step: Step, state: State) -> None:
        for sequence in state.running:
            if sequence.generated > last[sequence.number]:
                last[sequence.number] = sequence.generated
                tokens[sequence.number].append(step.ended)

    result = step_loop(load, POLICY, LIMITS, cost, watch=watch)
    for i in range(load.n):  # who finished in a step has left before the watch looks
        tokens[i] = [*tokens[i][: int(load.output[i]) - 1], float(result.finish[i])]
    observed = Observed(
        name=f"{name}/{seed:03d}",
        load=f"load{rate:g}",
        arrival=load.arrival,
        sent=load.arrival,
        first=result.first_token,
        last=result.finish,
        input=load.input,
        output=load.output,
        cached=load.cached,
        events=tuple(np.array(tokens[i]) for i in range(load.n)),
    )
    return Measured(name, seed, observed, LIMITS, POLICY, {})


CELLS = [cell(1, 0.5), cell(2, 1.0), cell(3, 2.0)]


def tables(cells: list[Measured]) -> dict[str, Any]:
    return {m.observed.name: step_table(m.observed, max_seqs=4) for m in cells}


def test_the_fit_recovers_the_law():
    found = fit(tables(CELLS))
    truth, got = msgspec.structs.asdict(TRUTH), msgspec.structs.asdict(found.cost)
    for term in ("step", "prefill", "decode"):
        assert got[term] == pytest.approx(truth[term], rel=0.2), term
    assert found.residual < 0.05
    assert found.intervals["step"].n == 3
    assert fit(tables(CELLS)) == found  # same seed, same bytes


def test_too_few_steps_are_refused():
    tiny = cell(4, 1.0, n=1)
    with pytest.raises(MeasurementInvalid, match="too few"):
        fit({"tiny": step_table(tiny.observed, max_seqs=4)} if tiny.observed.n < 2 else {})


def test_a_prompt_that_waits_for_a_place_begins_when_one_is_free():
    busy = CELLS[2].observed
    began = prefill_began(busy, 4)
    assert (began >= busy.sent).all()
    assert (began <= busy.first).all()
    late = began > busy.sent + 0.05
    assert late.any()


def test_a_load_that_was_not_seen_is_predicted_within_ten_per_cent():
    result = validate(CELLS)
    assert result.held_back == "load"
    assert result.median_abs_error["tpot_ms.mean"] < 0.1
    assert result.median_abs_error["output_tokens_per_s"] < 0.1
    assert result.median_abs_error["ttft_ms.p99"] < 0.2
    assert {row.load for row in result.compared} == {"load0.5", "load1", "load2"}


def test_one_load_holds_a_start_back_and_says_so():
    same = [cell(i, 1.0, noise=0.05) for i in range(3)]
    result = validate(same)
    assert result.held_back == "start"
    assert "nothing about another load" in result.says
    assert result.coverage is not None
    assert result.coverage.n == len(result.compared)


@pytest.mark.slow
def test_nine_of_ten_intervals_cover():
    """200 trials of four starts that differ by 5 %: three are fitted, the fourth predicted."""
    covered = 0
    for trial in range(200):
        group = [cell(1000 + 4 * trial + i, 1.0, noise=0.05, n=20) for i in range(4)]
        held, known = group[0], calibrate(group[1:])
        span = known.interval("tpot_ms.mean", foresee(held, known.law), alike=True)
        assert span is not None
        covered += span[0] <= of_observed(held.observed)["tpot_ms.mean"] <= span[1]
    share = proportion_interval(covered, 200)
    assert share.low <= 0.90 <= share.high, covered


@pytest.mark.slow
def test_nine_of_ten_intervals_cover_a_load_that_was_not_seen():
    """16 trials of five loads, two starts each that differ by 8 %: four are fitted, one is not."""
    rows: list[Compared] = []
    for trial in range(16):
        group = [
            cell(5000 + 100 * trial + 10 * i + j, rate, noise=0.08, n=24, name=f"t{trial}")
            for i, rate in enumerate((0.4, 0.8, 1.2, 1.6, 2.2))
            for j in range(2)
        ]
        rows += validate(group).compared
    share = coverage_by_cell(rows)
    assert share is not None
    assert share.low <= 0.90 <= share.high, share


def test_errors_come_from_what_was_left_out():
    known = calibrate(CELLS)
    assert known.held_back == "load"
    assert len(known.errors["tpot_ms.mean"]) == 3  # one group a load
    assert set(known.errors) <= {*METRICS, *PARTS}
    foreseen = foresee(CELLS[0], known.law)
    assert foreseen.elasticity["tpot_ms.mean"] > 0.5
    assert abs(foreseen.elasticity["output_tokens_per_s"]) < 0.5  # arrivals set it, far below full
    span = known.interval("tpot_ms.mean", foreseen)
    assert span is not None
    assert span[0] < foreseen.value["tpot_ms.mean"] * 1.2
    assert calibrate(CELLS[:1]).interval("tpot_ms.mean", foreseen) is None


def test_starts_of_one_load_say_nothing_about_another():
    same = calibrate([cell(i, 1.0, noise=0.05) for i in range(3)])
    foreseen = foresee(CELLS[2], same.law)
    assert same.held_back == "start"
    assert same.interval("tpot_ms.mean", foreseen) is None
    assert same.interval("tpot_ms.mean", foreseen, alike=True) is not None


def test_the_interval_of_a_group_to_come():
    assert future_interval([[0.1, 0.2]]) is None
    low, high = future_interval([[0.0], [0.2]]) or (0, 0)
    # halved for two groups: mean 0.05, sd 0.0707; half = t(1, .95) 6.3138 * 0.0707 * sqrt(1.5)
    assert (low, high) == pytest.approx((0.05 - 0.5468, 0.05 + 0.5468), abs=1e-3)
    # cells of a group that differ as groups do not: within 0.02 on 3 df, half of it in a new value
    alike = future_interval([[0.0, 0.2], [0.0, 0.2], [0.0, 0.2]]) or (0, 0)
    assert alike == pytest.approx((0.1 * 2 / 3 - 0.2353, 0.1 * 2 / 3 + 0.2353), abs=1e-3)


def test_figures_of_one_cell_count_as_dependent():
    def row(cell: int, covered: bool) -> Compared:
        return Compared(
            candidate="c", cell=f"c/{cell}", load="l", metric="m", predicted=1.0, low=0.5,
            high=2.0, measured=1.0, error=0.0, covered=covered,
        )  # fmt: skip

    together = [row(i, i != 3) for i in range(10) for _ in range(10)]  # one cell misses wholly
    scattered = [row(i, j != i) for i in range(10) for j in range(10)]  # each misses one
    wide, narrow = coverage_by_cell(together), coverage_by_cell(scattered)
    assert wide is not None
    assert narrow is not None
    assert wide.best == narrow.best == 0.9
    assert wide.n <= 10
    assert wide.high - wide.low > 3 * (proportion_interval(90, 100).high - 0.9)
    assert coverage_by_cell(together[:10]) is None


def test_one_cell_proves_nothing():
    with pytest.raises(MeasurementInvalid, match="two valid cells"):
        validate(CELLS[:1])


SLO = Slo(ttft_ms={"p95": 2000}, tpot_ms={"p95": 60})


def test_capacity_grows_with_traffic_and_what_was_not_measured_gets_no_number():
    result = capacity(
        CELLS[:1], SLO, scales=(1.0, 8.0, 32.0), usd_per_replica_hour=2.0, not_measured=["vllm"]
    )
    mine = [p for p in result.points if p.candidate == "c"]
    best = [p.replicas.best for p in mine]
    assert best == sorted(best)
    assert best[-1] > best[0] >= 1
    assert mine[0].basis == "measured"
    assert mine[-1].basis == "calibrated"
    for point in mine:
        found = point.replicas
        assert found.low <= found.best <= found.high
        assert point.with_one_failed == found.high + 1
        assert point.usd_per_hour == 2.0 * found.best
    others = [p for p in result.points if p.candidate == "vllm"]
    assert {p.basis for p in others} == {"not_measured"}
    assert all(p.replicas.best is None and p.usd_per_hour is None for p in others)
    assert result.to_run


def test_an_slo_that_no_number_of_replicas_holds():
    impossible = Slo(tpot_ms={"p95": 1})
    result = capacity(CELLS[:1], impossible, scales=(1.0,))
    assert result.points[0].replicas.best is None
    assert "alone on its replica" in result.says[-1]


def test_what_passes_beside_the_steps_counts_against_the_slo():
    seen = CELLS[0].observed
    slow = replace(
        CELLS[0],
        observed=replace(
            seen,
            first=seen.first + 1.0,
            last=seen.last + 1.0,
            events=tuple(times + 1.0 for times in seen.events),
        ),
    )
    slo = Slo(ttft_ms={"p50": 700})
    assert capacity(CELLS[:1], slo, scales=(2.0,)).points[0].replicas.best is not None
    assert capacity([slow], slo, scales=(2.0,)).points[0].replicas.best is None


def test_split_and_ramp():
    load = Load(*(np.arange(10, dtype=float) for _ in range(4)))
    assert [part.n for part in split(load, 3)] == [4, 3, 3]
    burst = make_load(np.r_[np.arange(10.0), np.full(50, 10.0)], np.ones(60), np.ones(60))
    assert ramp_share(burst, 5.0) == pytest.approx(45 / 50)
    assert ramp_share(make_load(np.arange(60.0), np.ones(60), np.ones(60)), 5.0) <= 0.2


def requests(n: int) -> RequestTable:
    load = poisson(n, 8.0, 60, 30, seed=9)
    return RequestTable(
        format="t",
        n=n,
        arrival_ns=(load.arrival * 1e9).astype(np.int64),
        grain_ns=1,
        input_tokens=np.minimum(load.input, 200),
        output_tokens=np.minimum(load.output, 100),
    )


def test_whatif_names_what_matters_and_refuses_what_cannot_be():
    result = whatif(requests(200), cost=TRUTH, limits=LIMITS, policy=POLICY, basis="prior, test")
    effect = dict(result.ranking)
    assert effect["places"] > 1.2
    assert effect["block size"] == pytest.approx(1.0)
    assert any("prior, test" in line for line in result.says)
    assert all(v.refused or v.predicted for v in result.variants)
    tight = msgspec.structs.replace(LIMITS, reserve_tokens=300, blocks=4 * 19)
    refused = whatif(requests(200), cost=TRUTH, limits=tight, policy=POLICY, basis="x")
    assert any(v.refused for v in refused.variants if v.variable == "places")


def test_limits_from_effective_settings():
    llama, _ = engine_limits({"slots": 4, "context_tokens": 512, "max_batch_tokens": 2048}, 100)
    assert (llama.max_seqs, llama.reserve_tokens, llama.blocks) == (4, 512, 128)
    vllm, _ = engine_limits({"kv_capacity_tokens": 184_832, "slots": 256}, 100)
    assert (vllm.blocks, vllm.reserve_tokens) == (11_552, 0)


def test_cells_that_cannot_be_used_are_said(tmp_path: Path):
    with pytest.raises(PrerequisiteError, match="no measured cells"):
        measured_cells(tmp_path)
    with pytest.raises(PrerequisiteError, match="requests.parquet"):
        observe(tmp_path / "requests.parquet", name="a", load="l")
    row = ("completed", 0, 0, 5, 9, 10, 2, 0, [5, 9])
    good = from_rows([row, (*row[:1], 3, *row[2:])], name="a", load="l")
    assert good.n == 2
    with pytest.raises(MeasurementInvalid, match="1 of 2"):
        from_rows([row, ("failed", 1, None, None, None, None, None, 0, None)], name="a", load="l")


def test_loads_that_no_engine_could_serve():
    with pytest.raises(UsageError):
        make_load(np.array([1.0, 0.5]), np.ones(2), np.ones(2))
    with pytest.raises(UsageError):
        step_loop(make_load(np.zeros(1), np.array([9000]), np.ones(1)), POLICY, LIMITS, TRUTH)
