"""From the traffic section to the requests that are sent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from seatrial import workload
from seatrial.core.errors import UsageError

HEAD = "schema: seatrial/workload/1\nname: w\nmodel: {path: org/name}\n"
TRACE = "".join(
    f'{{"timestamp": {1000 * i}, "input_length": {600 + i}, "output_length": {i + 1}, '
    f'"hash_ids": [0, {i + 1}]}}\n'
    for i in range(10)
)


def resolved(folder: Path, traffic: str, extra: str = "") -> workload.ResolvedTraffic:
    (folder / "t.jsonl").write_text(TRACE)
    path = folder / "w.yaml"
    path.write_text(f"{HEAD}traffic: {{{traffic}}}\n{extra}")
    return workload.resolve_traffic(workload.load(path))


def test_slice_rate_lengths_and_caps_are_applied_and_recorded(tmp_path: Path) -> None:
    got = resolved(
        tmp_path,
        "trace: t.jsonl, slice: {start_s: 2, requests: 5}, scale: 2, output_scale: 3, "
        "max_input_tokens: 604, max_output_tokens: 15",
    )
    assert got.table.n == 5
    assert got.table.arrival_ns is not None
    assert got.table.arrival_ns.tolist() == [k * 500_000_000 for k in range(5)]
    assert got.table.input_tokens is not None
    assert got.table.input_tokens.tolist() == [602, 603, 604, 604, 604]
    assert got.table.output_tokens is not None
    assert got.table.output_tokens.tolist() == [9, 12, 15, 15, 15]
    assert got.scaling["kind"] == "trace"
    assert got.scaling["requests_in"] == 10
    assert got.scaling["requests"] == 5
    assert got.scaling["rate_factor"] == 2
    assert got.scaling["input_capped"] == 2
    assert got.scaling["output_capped"] == 2
    assert any("cut to 604 tokens" in line for line in got.assumptions)


def test_columns_of_ones_own_are_named_in_the_workload(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("when,in,out\n5.0,7,3\n6.5,9,4\n")
    named = "map: {arrival: when, input_tokens: in, output_tokens: out}"
    got = resolved(tmp_path, f"trace: own.csv, {named}")
    assert got.table.input_tokens is not None
    assert got.table.input_tokens.tolist() == [7, 9]
    assert got.table.arrival_ns is not None
    assert got.table.arrival_ns.tolist() == [0, 1_500_000_000]
    with pytest.raises(UsageError, match=r"traffic\.map"):
        resolved(tmp_path, "trace: own.csv")
    with pytest.raises(UsageError, match="not in the file: then"):
        resolved(tmp_path, "trace: own.csv, map: {arrival: then}")


def test_blocks_follow_scaled_and_capped_inputs(tmp_path: Path) -> None:
    small = resolved(tmp_path, "trace: t.jsonl, input_scale: 0.1").table
    assert small.blocks is not None
    assert small.blocks.block_tokens == 51
    assert np.diff(small.blocks.offsets).tolist() == [2] * 10
    cut = resolved(tmp_path, "trace: t.jsonl, max_input_tokens: 512").table
    assert cut.blocks is not None
    assert cut.blocks.hashes.tolist() == [0] * 10


def test_an_empty_slice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no request is left"):
        resolved(tmp_path, "trace: t.jsonl, slice: {start_s: 1000}")


def test_people_become_a_rate_with_the_assumption_in_words(tmp_path: Path) -> None:
    got = resolved(tmp_path, "people: 200")
    assert got.scaling["kind"] == "people"
    assert got.scaling["low_per_s"] < got.scaling["rate_per_s"] < got.scaling["high_per_s"]
    assert "200 people" in got.assumptions[0]
    assert got.table.input_tokens is not None
    assert got.table.input_tokens.mean() == pytest.approx(1155, rel=0.03)
    assert np.percentile(got.table.input_tokens, 99) == pytest.approx(4142, rel=0.1)


def test_synthetic_is_deterministic_and_has_the_stated_shape(tmp_path: Path) -> None:
    text = (
        "synthetic: {rate_per_s: 4, input_tokens: {mean: 800, p99: 3000}, output_tokens: 50, "
        "shared_prefix_tokens: 64}, slice: {requests: 2000}"
    )
    one, two = resolved(tmp_path, text), resolved(tmp_path, text)
    other = resolved(tmp_path, text, "trial: {seed: 2}\n")
    assert one.table.arrival_ns is not None
    assert other.table.arrival_ns is not None
    assert two.table.arrival_ns is not None
    assert (one.table.arrival_ns == two.table.arrival_ns).all()
    assert not (one.table.arrival_ns == other.table.arrival_ns).all()
    found = workload.fingerprint(one.table)
    assert found.arrivals is not None
    assert found.arrivals.rate_per_s == pytest.approx(4, rel=0.1)
    assert found.prefix is not None
    assert found.prefix.shared_prefix_tokens >= 48
    assert found.input_tokens is not None
    assert found.input_tokens.mean == pytest.approx(800, rel=0.02)
    assert found.input_tokens.p99 == pytest.approx(3000, rel=0.05)


def test_turns_grow_and_share_their_history(tmp_path: Path) -> None:
    got = resolved(
        tmp_path,
        "synthetic: {concurrency: 4, input_tokens: 1000, output_tokens: 100, turns: 5}, "
        "slice: {requests: 200}",
    ).table
    assert got.arrival_ns is None
    assert got.input_tokens is not None
    assert got.session is not None
    assert got.turn is not None
    assert got.input_tokens.mean() == pytest.approx(1000, rel=0.01)
    one = np.flatnonzero(got.session == 3)
    assert got.turn[one].tolist() == [0, 1, 2, 3, 4]
    assert (np.diff(got.input_tokens[one]) > 0).all()
    found = workload.fingerprint(got)
    assert found.prefix is not None
    # turn t repeats all of turn t - 1: with 5 turns of equal growth most of the input is old
    assert 0.6 < found.prefix.token_hit < 0.8
