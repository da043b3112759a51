"""Synthetic traces and slices: like the source where they must be, and the same twice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, kstwobign

from seatrial import trace
from seatrial.cli.main import run
from seatrial.core.errors import UsageError
from seatrial.trace import RequestTable
from seatrial.trace.write import write
from seatrial.workload import fingerprint
from seatrial.workload.part import choose
from seatrial.workload.spec import Synthetic
from seatrial.workload.synth import synthesise
from seatrial.workload.synthetic import synthetic
from seatrial.workload.twosample import compare, kolmogorov, ks


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=60),
    st.lists(st.integers(0, 30), min_size=1, max_size=60),
)
def test_ks_is_the_textbooks(x: list[int], y: list[int]) -> None:
    distance, p = ks(np.array(x), np.array(y))
    assert distance == pytest.approx(ks_2samp(x, y, method="asymp").statistic)
    z = distance * (len(x) * len(y) / (len(x) + len(y))) ** 0.5
    assert p == pytest.approx(kstwobign.sf(z), abs=1e-6)
    assert kolmogorov(0.0) == 1.0


@pytest.mark.parametrize(
    "name",
    [
        "AzureLLMInferenceTrace_conv.csv.xz",
        "mooncake_synthetic_trace.jsonl.xz",
        "vtc_real_trace.jsonl.xz",
    ],
)
def test_a_synthetic_trace_is_within_every_tolerance(traces_dir: Path, name: str) -> None:
    source = trace.load(traces_dir / name)
    made = synthesise(source, seed=1)
    outside = [check.name for check in compare(source, made.table) if not check.ok]
    assert not outside
    assert made.model in ("poisson", "gamma", "onoff", "profile")


def test_it_is_the_same_for_the_same_seed_only(traces_dir: Path) -> None:
    source = trace.load(traces_dir / "vtc_real_trace.jsonl.xz")
    one, two, other = (synthesise(source, seed=s).table for s in (1, 1, 2))
    assert one.arrival_ns is not None
    assert two.arrival_ns is not None
    assert other.arrival_ns is not None
    assert (one.arrival_ns == two.arrival_ns).all()
    assert not (one.arrival_ns == other.arrival_ns).all()


def test_comparison_sees_what_differs(traces_dir: Path) -> None:
    source = trace.load(traces_dir / "AzureLLMInferenceTrace_conv.csv.xz")
    poisson = synthesise(source, seed=1, model="poisson").table
    bad = {check.name for check in compare(source, poisson) if not check.ok}
    assert "dispersion at 60s" in bad
    fast = synthesise(source, seed=1, rate_factor=2).table
    assert "rate" in {check.name for check in compare(source, fast) if not check.ok}


def test_more_users_and_more_minutes(traces_dir: Path) -> None:
    source = trace.load(traces_dir / "vtc_real_trace.jsonl.xz")
    twice = synthesise(source, seed=1, users_factor=2).table
    longer = synthesise(source, seed=1, minutes=20).table
    assert twice.n == longer.n == 2 * source.n
    assert twice.arrival_ns is not None
    assert longer.arrival_ns is not None
    assert twice.arrival_ns[-1] == 600 * 10**9
    assert longer.arrival_ns[-1] == 1200 * 10**9


def chats() -> RequestTable:
    spec = Synthetic(
        rate_per_s=2, input_tokens=800, output_tokens=60, turns=4, shared_prefix_tokens=160
    )
    return synthetic(spec, seed=3, n=400)


def test_copies_share_what_the_source_shared_and_nothing_else() -> None:
    source = chats()
    made = synthesise(source, seed=1, users_factor=3).table
    before, after = fingerprint(source), fingerprint(made)
    assert before.prefix is not None
    assert after.prefix is not None
    assert after.sessions is not None
    assert after.sessions.turns_mean == 4
    assert after.prefix.token_hit == pytest.approx(before.prefix.token_hit, abs=0.02)
    assert made.session is not None
    assert made.turn is not None
    assert made.blocks is not None
    shared = 160 // 16
    heads = {tuple(made.blocks.hashes[o : o + shared]) for o in made.blocks.offsets[:-1]}
    assert len(heads) == 1
    for number in range(0, 300, 50):
        rows = np.flatnonzero(made.session == number)
        assert made.turn[rows].tolist() == [0, 1, 2, 3]


def test_pauses_within_a_session_stay() -> None:
    source = chats()
    made = synthesise(source, seed=1, minutes=60).table
    a, b = fingerprint(source).sessions, fingerprint(made).sessions
    assert a is not None
    assert a.gap_s is not None
    assert b is not None
    assert b.gap_s is not None
    assert b.gap_s.p50 == pytest.approx(a.gap_s.p50, rel=0.05)


def test_a_representative_part_is_less_unlike_than_others(traces_dir: Path) -> None:
    source = trace.load(traces_dir / "AzureLLMInferenceTrace_conv.csv.xz")
    good, busy = choose(source, 5), choose(source, 5, "busiest")
    first = choose(source, 5, "first")
    assert first.start_s == 0
    assert good.unlike < min(busy.unlike, first.unlike)
    assert busy.table.n > max(good.table.n, first.table.n)
    assert good.table.arrival_ns is not None
    assert good.table.arrival_ns[0] == 0
    assert good.table.arrival_ns[-1] <= 300 * 10**9
    whole = choose(source, 500)
    assert whole.table is source


def test_a_trace_without_times_has_no_minutes(traces_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("num_prefill_tokens,num_decode_tokens\n1,2\n3,4\n")
    with pytest.raises(UsageError, match="no arrival times"):
        choose(trace.load(path), 1)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    source = chats()
    lost = write(source, tmp_path / f"t{suffix}")
    back = trace.load(tmp_path / f"t{suffix}")
    for name in ("input_tokens", "output_tokens", "arrival_ns"):
        assert getattr(back, name).tolist() == getattr(source, name).tolist(), name
    if suffix == ".jsonl":
        assert lost == []
        assert back.session is not None
        assert source.turn is not None
        assert back.turn is not None
        assert back.turn.tolist() == source.turn.tolist()
        assert fingerprint(back).prefix == fingerprint(source).prefix
    else:
        assert lost == ["prefix blocks", "sessions"]


def test_the_verbs(traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = str(traces_dir / "vtc_real_trace.jsonl.xz"), tmp_path / "o.jsonl"
    assert run(["trace", "synth", source, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["requests"] == 1500
    assert all(check["ok"] for check in document["checks"])
    assert trace.load(out).n == 1500
    assert run(["trace", "slice", source, "--minutes", "2", "--out", str(tmp_path / "p.csv")]) == 0
    assert "within" in capsys.readouterr().out
    assert run(["trace", "slice", source, "--requests", "5", "--out", str(tmp_path / "q.csv")]) == 0
    assert trace.load(tmp_path / "q.csv").n == 5
    assert run(["trace", "slice", source, "--out", str(out)]) == 2
    assert run(["trace", "synth", source, "--out", str(tmp_path / "x.txt")]) == 2
    capsys.readouterr()
    assert run(["trace", "formats", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "seatrial/trace-formats/1"


def test_the_verb_compares_a_replay_with_its_source(
    traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    azure = str(traces_dir / "AzureLLMInferenceTrace_conv.csv.xz")
    vidur = str(traces_dir / "splitwise_conv.csv.xz")
    other = str(traces_dir / "vtc_real_trace.jsonl.xz")
    assert run(["trace", "compare", azure, vidur, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["alike"]
    assert all(check["value"] in (0, 1) for check in document["checks"])
    assert run(["trace", "compare", azure, other]) == 1
    assert "not alike" in capsys.readouterr().out
