"""Equal tuning: who owns a gap, which requests are used, which configurations are tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seatrial.core.errors import UsageError
from seatrial.trial.effort import Outcome, Tuned, best_of, gaps_of
from seatrial.trial.tuning import tuning_slice
from seatrial.workload import load, resolve_traffic

WORKLOAD = """
schema: seatrial/workload/1
name: t
model: {{path: m.gguf}}
traffic: {traffic}
trial: {{starts: 3, seed: 4}}
"""


def outcome(e2e: float | None, *, goodput: float = 1.0, **args: Any) -> Outcome:
    return Outcome(
        args=args,
        valid=e2e is not None,
        because=[] if e2e is not None else ["the client was late"],
        goodput=goodput,
        ttft_p95_ms=None,
        tpot_mean_ms=None,
        e2e_mean_ms=e2e,
        output_tokens_per_s=None if e2e is None else 1000 / e2e,
        minutes=0.5,
    )


def tuned(name: str, *tried: Outcome, confirmed: tuple[Outcome, ...] = ()) -> Tuned:
    return Tuned(
        candidate=name,
        engine=name,
        version="1",
        role="candidate",
        space={},
        source="",
        left_out=[],
        tried=list(tried),
        best={},
        confirmed=list(confirmed),
        minutes=1.0,
        stopped="",
    )


def test_goodput_goes_before_latency_and_void_cells_do_not_count() -> None:
    fast_and_bad = outcome(50, goodput=0.5, a=1)
    good = outcome(90, a=2)
    assert best_of([outcome(100), fast_and_bad, good, outcome(None)], False) is good
    assert best_of([outcome(None)], False) is None
    assert best_of([outcome(100), outcome(80)], True) == outcome(80)  # offline: tokens per second


@pytest.mark.parametrize(
    ("default", "after", "share"),
    [
        ((100, 400), (100, 400), 0.0),  # tuning changed nothing
        ((100, 400), (100, 200), 0.5),
        ((100, 400), (100, 100), 1.0),
        ((100, 400), (100, 50), 1.5),  # turned round
        ((100, 400), (50, 400), -0.5),  # grew
    ],
)
def test_the_share_of_a_gap_that_configuration_owns(
    default: tuple[float, float], after: tuple[float, float], share: float
) -> None:
    engines = [
        tuned(name, outcome(before), outcome(best, flag=1))
        for name, before, best in zip("ab", default, after, strict=True)
    ]
    (gap,) = gaps_of(engines, False, 0.03)
    assert gap.default_ratio == 4.0
    assert gap.configuration_share == pytest.approx(share)
    assert gap.basis == "tuning slice"


def test_a_gap_within_the_margin_is_not_divided_and_confirmed_cells_go_first() -> None:
    one = tuned("a", outcome(100), confirmed=(outcome(100), outcome(90)))
    two = tuned("b", outcome(900), confirmed=(outcome(101), outcome(60)))
    (gap,) = gaps_of([one, two], False, 0.03)
    assert gap.configuration_share is None
    assert gap.default_ratio == pytest.approx(1.01)
    assert "within the margin" in gap.says
    (void,) = gaps_of([one, tuned("c", outcome(None))], False, 0.03)
    assert void.says == "one of the two has no valid cell"


def test_synthetic_traffic_is_drawn_anew(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    lengths = "{mean: 60, p99: 300}"
    traffic = f"{{synthetic: {{rate_per_s: 2, input_tokens: {lengths}, output_tokens: 8}}}}"
    path.write_text(WORKLOAD.format(traffic=traffic))
    loaded = load(path)
    own = resolve_traffic(loaded).table
    table, says = tuning_slice(loaded, own, 10)
    again, _ = tuning_slice(loaded, own, 10)
    assert table.n == 10
    assert own.arrival_ns is not None
    assert table.arrival_ns is not None
    assert again.arrival_ns is not None
    assert not np.array_equal(table.arrival_ns, own.arrival_ns[:10])
    assert np.array_equal(table.arrival_ns, again.arrival_ns)
    assert "another seed" in says["says"]


def test_of_a_trace_the_requests_after_the_trials_slice_are_used(tmp_path: Path) -> None:
    rows = "".join(f"{i * 0.5},{100 + i},7\n" for i in range(20))
    (tmp_path / "t.csv").write_text("arrival_s,input_tokens,output_tokens\n" + rows)
    path = tmp_path / "w.yaml"
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    path.write_text(WORKLOAD.format(traffic="{trace: t.csv, slice: {requests: 8}, scale: 2.0}"))
    loaded = load(path)
    own = resolve_traffic(loaded).table
    table, _ = tuning_slice(loaded, own, 5)
    assert own.input_tokens is not None
    assert table.input_tokens is not None
    assert own.input_tokens.tolist() == [100 + i for i in range(8)]
    assert table.input_tokens.tolist() == [108 + i for i in range(5)]
    path.write_text(WORKLOAD.format(traffic="{trace: t.csv, slice: {requests: 20}}"))
    with pytest.raises(UsageError, match="nothing is left to tune on"):
        tuning_slice(load(path), resolve_traffic(load(path)).table, 5)
    path.write_text(WORKLOAD.format(traffic="{trace: t.csv}"))
    with pytest.raises(UsageError, match="nothing is left to tune on"):
        tuning_slice(load(path), resolve_traffic(load(path)).table, 5)
