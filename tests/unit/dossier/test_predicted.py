"""The simulated timeline and curves as rows and as drawings."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.charts import library, svg, with_rows
from seatrial.dossier.predicted import PredictedPart, simulation, spans
from seatrial.dossier.predicted_page import predicted_page
from seatrial.dossier.words import words
from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, make_load, step_loop

COST = StepCost(step=0.01, prefill=1e-4, decode=1e-3, context=1e-6)
POLICY = POLICIES["chunked-prefill"]


def test_equal_steps_are_one_span_and_pauses_are_seen():
    load = make_load(np.array([1.0, 5.0]), np.full(2, 32), np.full(2, 20))
    steps = step_loop(load, POLICY, Limits(blocks=100), COST, keep_steps=True).timeline
    rows = spans(steps)
    assert len(rows) < len(steps)
    times = [row["t_s"] for row in rows]
    assert times == sorted(times)
    idle = [row for row in rows if row["decoding"] == row["prefilling"] == 0]
    assert idle[0]["t_s"] == 0  # until the first arrival
    assert len(idle) == 2  # and between the two
    assert rows[-1]["t_s"] == pytest.approx(steps[-1].ended, abs=1e-3)
    assert max(float(row["blocks"]) for row in rows) == 4  # 52 tokens in blocks of 16


def test_a_long_timeline_is_cut_and_preemptions_are_marked():
    load = make_load(np.zeros(30), np.full(30, 60), np.full(30, 40))
    limits = Limits(max_seqs=8, token_budget=256, blocks=20)
    steps = step_loop(load, POLICY, limits, COST, keep_steps=True).timeline
    assert sum(int(row["preempted"]) for row in spans(steps)) == steps[-1].preemptions > 0
    assert len(spans(steps, most=10)) == 11


@pytest.mark.skipif(library() is None, reason="the extra charts is not installed")
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_draws_everything_in_both_languages(lang: str):
    load = make_load(np.cumsum(np.full(40, 0.1)), np.full(40, 60), np.full(40, 40))
    limits = Limits(max_seqs=8, token_budget=256, blocks=40)
    t = words(lang)
    simulated, figures = simulation(
        load, POLICY, limits, COST, candidate="c", basis="calibrated on 2 cells", t=t
    )
    assert {f.id for f in figures} == {
        "sim-timeline", "whatif-traffic", "whatif-places", "whatif-token_budget",
    }  # fmt: skip
    for figure in figures:
        assert figure.basis == "predicted"
        drawn = svg(with_rows(figure.spec, figure.rows), name=figure.id)
        assert drawn is not None
        assert drawn.startswith("<svg")
    part = PredictedPart(
        cells=[], inside=0, judged=0, simulated=simulated, not_simulated="", figures=figures
    )
    page = predicted_page(part, "<b>name</b>", t)
    assert "<b>name</b>" not in page
    assert (
        page.count("<svg") == 1 + 2 * 3
    )  # the timeline once, it scrolls; the others in two widths
    assert simulated.why["places"] in page
