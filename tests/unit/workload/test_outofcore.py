"""Out of core, in parts and in memory: one fingerprint."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial import trace
from seatrial.core.errors import UsageError
from seatrial.trace.source import expand
from seatrial.workload import fingerprint, outofcore
from seatrial.workload.columns import recognise
from seatrial.workload.outofcore import EMPTY, profile_files
from seatrial.workload.partial import Histogram, Partial, gaps_of, merge
from seatrial.workload.profile import Fingerprint
from seatrial.workload.profiling import profile

SKETCHED = ("p50", "p90", "p95", "p99")


def same(a: Any, b: Any, path: str = "") -> None:
    """Equal, but for the sketched percentiles of gaps (within 0.1 %)."""
    if isinstance(a, dict):
        assert a.keys() == b.keys(), path
        for key in a:
            same(a[key], b[key], f"{path}.{key}")
    elif isinstance(a, float) and a != b:
        loose = "interarrival" in path and path.endswith(SKETCHED)
        assert a == pytest.approx(b, rel=4e-3 if loose or "on_share" in path else 1e-9), path
    elif not path.endswith(("spearman", "notes")):
        assert a == b, path


@pytest.fixture(scope="module")
def plain_csv(traces_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ooc") / "conv.csv"
    path.write_bytes(
        lzma.decompress((traces_dir / "AzureLLMInferenceTrace_conv.csv.xz").read_bytes())
    )
    return path


def out_of_core(path: Path) -> Fingerprint:
    columns = recognise([path], {})
    assert columns is not None
    return profile_files([path], columns)


def test_out_of_core_equals_in_memory(plain_csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outofcore, "SLICE", 1000)  # many slices
    got = msgspec.to_builtins(out_of_core(plain_csv))
    same(got, msgspec.to_builtins(fingerprint(trace.load(plain_csv))))


def test_parquet_and_csv_and_many_files_are_one(plain_csv: Path) -> None:
    folder = plain_csv.parent / "parts"
    folder.mkdir()
    db = duckdb.connect()
    rows = f"read_csv('{plain_csv}')"
    for part in range(3):
        db.execute(
            f"copy (select epoch_ns(TIMESTAMP) as arrival, ContextTokens as input_tokens, "
            f"GeneratedTokens as output_tokens from {rows} where ContextTokens % 3 = {part}) "
            f"to '{folder / f'{part}.parquet'}' (format parquet)"
        )
    db.close()
    whole = msgspec.to_builtins(out_of_core(plain_csv))
    columns = recognise(expand(folder), {})
    assert columns is not None
    many = msgspec.to_builtins(profile_files(expand(folder), columns))
    in_memory = msgspec.to_builtins(profile(folder, out_of_core=False))
    for key in ("requests", "input_tokens", "output_tokens", "span_s", "drift"):
        same(many[key], whole[key], key)
        same(in_memory[key], whole[key], key)
    # DuckDB reads a CSV's time stamps to the microsecond, so the last digit differs
    assert many["arrivals"]["peak_per_minute"] == whole["arrivals"]["peak_per_minute"]
    same(many["arrivals"]["dispersion"], whole["arrivals"]["dispersion"], "dispersion")


def test_bad_rows_are_counted_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(
        "arrived_at,num_prefill_tokens,num_decode_tokens\n"
        "0.0,10,5\n1.5,x,5\n2.0,10\n3.0,-4,5\n4.25,12,6\n,3,4\n"
    )
    got = out_of_core(path)
    assert got.requests == 2
    assert got.rows.bad == 4
    assert {bad.line for bad in got.rows.first_bad} >= {3, 4}
    assert got.span_s == 4.25


def test_epochs_keep_their_digits(tmp_path: Path) -> None:
    for name, (a, b) in {
        "s.csv": ("1700000000.123456", "1700000001.123457"),
        "ms.csv": ("1700000000123", "1700000001123"),
        "ns.csv": ("1700000000123456789", "1700000001123456790"),
    }.items():
        path = tmp_path / name
        path.write_text(f"timestamp,input_tokens,output_tokens\n{a},1,1\n{b},1,1\n")
        assert out_of_core(path).span_s == fingerprint(trace.load(path)).span_s, name


def test_a_file_of_nothing_readable_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("timestamp,input_tokens,output_tokens\na,b,c\n")
    with pytest.raises(UsageError, match="no request could be read"):
        out_of_core(path)
    (tmp_path / "y.parquet").write_bytes(b"PAR1" + b"\0" * 100)
    with pytest.raises(UsageError, match="no Parquet"):
        profile(tmp_path / "y.parquet")


def part_of(arrival: list[int], inputs: list[int]) -> Partial:
    times = np.sort(np.array(arrival, dtype=np.int64))
    values, counts = np.unique(np.array(inputs, dtype=np.int64), return_counts=True)
    bins, per_second = np.unique(times // 10**9, return_counts=True)
    return Partial(
        n=len(times),
        bad=0,
        first_ns=int(times[0]),
        last_ns=int(times[-1]),
        inputs=Histogram(values, counts),
        outputs=EMPTY,
        joint={},
        cross=0,
        seconds=Histogram(bins, per_second),
        gaps=gaps_of(times),
        windows=None,
    )


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 10**11), st.integers(0, 50)), min_size=2, max_size=40),
    st.integers(1, 38),
)
def test_parts_add_up_to_the_whole(rows: list[tuple[int, int]], cut: int) -> None:
    rows = sorted(rows)
    cut = min(cut, len(rows) - 1)
    whole = part_of(*map(list, zip(*rows, strict=True)))
    a, b = (part_of(*map(list, zip(*part, strict=True))) for part in (rows[:cut], rows[cut:]))
    for merged in (merge(a, b), merge(b, a)):
        assert merged.inputs.distribution() == whole.inputs.distribution()
        assert merged.seconds.values.tolist() == whole.seconds.values.tolist()
        assert merged.seconds.counts.tolist() == whole.seconds.counts.tolist()
        assert (merged.n, merged.first_ns, merged.last_ns) == (
            whole.n,
            whole.first_ns,
            whole.last_ns,
        )
        assert merged.gaps is not None
        assert whole.gaps is not None
        assert merged.gaps.total == whole.gaps.total
        assert merged.gaps.zeros == whole.gaps.zeros
        assert merged.gaps.logs.counts.tolist() == whole.gaps.logs.counts.tolist()
        assert merged.gaps.squares == pytest.approx(whole.gaps.squares)


def test_overlapping_parts_give_up_the_gaps() -> None:
    a, b = part_of([0, 10**10], [1, 2]), part_of([5 * 10**9, 2 * 10**10], [3, 4])
    assert merge(a, b).gaps is None


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200))
def test_histogram_percentiles_are_numpys(values: list[int]) -> None:
    unique, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    histogram = Histogram(unique, counts)
    for q in (0, 1, 50, 90, 95, 99, 100):
        assert histogram.percentile(q) == pytest.approx(np.percentile(values, q), rel=1e-12)
