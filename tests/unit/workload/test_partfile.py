"""Parts summed apart and merged: the fingerprint of one pass, within what is stated."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.cli.main import run
from seatrial.core.errors import IntegrityError, SeatrialError, UsageError
from seatrial.store import write
from seatrial.workload.partfile import PartFile, merge_files
from seatrial.workload.profile import Fingerprint
from seatrial.workload.profiling import partial, profile

EXACT = ("requests", "span_s", "input_tokens", "output_tokens", "input_output_ratio", "lengths")


@pytest.fixture(scope="module")
def rows(traces_dir: Path) -> list[str]:
    """Header and rows of a real trace."""
    packed = (traces_dir / "AzureLLMInferenceTrace_conv.csv.xz").read_bytes()
    return lzma.decompress(packed).decode().splitlines()


def parts_of(folder: Path, header: str, slices: list[list[str]]) -> list[Path]:
    made = []
    for number, lines in enumerate(slices):
        source = folder / f"{number}.csv"
        source.write_text("\n".join([header, *lines]) + "\n")
        write(folder / f"{number}.json", partial(source))
        made.append(folder / f"{number}.json")
    return made


def whole_of(folder: Path, rows: list[str]) -> Fingerprint:
    path = folder / "whole.csv"
    path.write_text("\n".join(rows) + "\n")
    return profile(path, out_of_core=True)


def test_parts_in_a_row_are_one_pass(tmp_path: Path, rows: list[str]) -> None:
    header, body = rows[0], rows[1:]
    parts = parts_of(tmp_path, header, [body[:5000], body[5000:5001], body[5001:]])
    merged = merge_files(list(reversed(parts)))
    whole = whole_of(tmp_path, rows)
    a, b = msgspec.to_builtins(merged), msgspec.to_builtins(whole)
    for key in EXACT:
        assert a[key] == b[key], key
    assert merged.arrivals is not None
    assert whole.arrivals is not None
    assert merged.arrivals.rate_per_s == whole.arrivals.rate_per_s
    assert merged.arrivals.cv_interarrival == pytest.approx(whole.arrivals.cv_interarrival)
    assert merged.arrivals.interarrival_s is not None
    assert whole.arrivals.interarrival_s is not None
    assert merged.arrivals.interarrival_s.p50 == whole.arrivals.interarrival_s.p50
    # bins begin less than a second earlier
    assert merged.arrivals.peak_per_minute == pytest.approx(whole.arrivals.peak_per_minute, rel=0.1)
    for scale in ("10s", "60s"):
        assert merged.arrivals.dispersion_full_bins[scale] == pytest.approx(
            whole.arrivals.dispersion_full_bins[scale], rel=0.2
        )
    assert merged.pressure.label == whole.pressure.label
    for name in ("prefill", "decode_kv"):
        assert merged.pressure.loads[name] == pytest.approx(whole.pressure.loads[name])
    assert len(merged.files) == 3
    assert merged.drift.rate is None
    assert any("drift is not reckoned" in note for note in merged.notes)


def test_a_trace_that_begins_on_a_whole_second_merges_exactly(tmp_path: Path) -> None:
    header = "arrived_at,num_prefill_tokens,num_decode_tokens"
    body = [f"{i * 1.7},{i % 90 + 1},{i % 7 + 1}" for i in range(900)]
    merged = merge_files(parts_of(tmp_path, header, [body[:400], body[400:]]))
    whole = whole_of(tmp_path, [header, *body])
    assert merged.arrivals is not None
    assert whole.arrivals is not None
    for field in ("dispersion", "dispersion_full_bins", "per_minute", "peak_per_second",
                  "peak_to_mean_minute", "on_share"):  # fmt: skip
        assert getattr(merged.arrivals, field) == getattr(whole.arrivals, field), field
    assert merged.pressure.loads == pytest.approx(whole.pressure.loads)
    assert merged.concurrency_little is not None
    assert whole.concurrency_little is not None
    assert merged.concurrency_little.mean == pytest.approx(whole.concurrency_little.mean)


def test_overlapping_parts_give_up_gaps_only_and_say_so(tmp_path: Path, rows: list[str]) -> None:
    body = rows[1:]
    merged = merge_files(parts_of(tmp_path, rows[0], [body[::2], body[1::2]]))
    whole = msgspec.to_builtins(whole_of(tmp_path, rows))
    got = msgspec.to_builtins(merged)
    for key in EXACT:
        assert got[key] == whole[key], key
    assert merged.arrivals is not None
    assert merged.arrivals.interarrival_s is None
    assert merged.arrivals.cv_interarrival is None
    assert any("overlap" in note for note in merged.notes)


def test_the_verb(tmp_path: Path, rows: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    made = []
    for number, lines in enumerate((rows[1:3000], rows[3000:6000])):
        source = tmp_path / f"{number}.csv"
        source.write_text("\n".join([rows[0], *lines]) + "\n")
        made.append(str(tmp_path / f"{number}.json"))
        assert run(["profile", str(source), "--partial", made[-1]]) == 0
    capsys.readouterr()
    page = tmp_path / "p.html"
    assert run(["profile", "--merge", *made, "--json", "--html", str(page)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["requests"] == 5999
    assert page.read_text().startswith("<!doctype html>")
    assert run(["profile", "--merge", *made, "--format", "azure-csv"]) == 2
    assert run(["profile", made[0], "--partial", "x.json", "--gpu", "l40s"]) == 2


def test_what_does_not_merge_is_refused(tmp_path: Path, traces_dir: Path) -> None:
    header = "arrived_at,num_prefill_tokens,num_decode_tokens"
    (part,) = parts_of(tmp_path, header, [["0,1,1", "5,2,2"]])
    again = tmp_path / "again.json"
    again.write_bytes(part.read_bytes())
    with pytest.raises(UsageError, match="same source file"):
        merge_files([part, again])
    other = tmp_path / "o.csv"
    other.write_text("input_tokens,output_tokens\n1,2\n")
    write(tmp_path / "o.json", partial(other))
    with pytest.raises(UsageError, match="different logs"):
        merge_files([part, tmp_path / "o.json"])
    with pytest.raises(UsageError, match="whole requests"):
        partial(traces_dir / "mooncake_synthetic_trace.jsonl.xz")


HOSTILE: list[tuple[str, Any]] = [
    ("schema", "seatrial/profile/1"),
    ("requests", 0),
    ("requests", 1 << 70),
    ("origin_ns", 3),
    ("origin_ns", None),
    ("last_ns", -1),
    ("last_ns", 1 << 61),
    ("cross", "1e9"),
    ("inputs", {"values": [2, 1], "counts": [1, 1]}),
    ("inputs", {"values": [1], "counts": [1, 1]}),
    ("inputs", {"values": [-5], "counts": [1]}),
    ("seconds", {"values": [0, 1 << 60], "counts": [1, 1]}),
    ("gaps", {"n": 0, "zeros": 0, "smallest": 0, "largest": 0, "total": 0, "squares": 0.0,
              "logs": {"values": [], "counts": []}}),
    ("windows", {"place": [1 << 50], **{k: [1.0] for k in ("n", "i", "ii", "o", "oi", "oo")}}),
    ("windows", {"place": [0], **{k: [] for k in ("n", "i", "ii", "o", "oi", "oo")}}),
    ("joint", [[1, 2]]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_a_forged_part_is_refused(tmp_path: Path, key: str, value: Any) -> None:
    header = "arrived_at,num_prefill_tokens,num_decode_tokens"
    (part,) = parts_of(tmp_path, header, [["0,1,1", "5,2,2"]])
    msgspec.json.decode(part.read_bytes(), type=PartFile)
    document = json.loads(part.read_bytes())
    document[key] = value
    part.write_text(json.dumps(document))
    with pytest.raises((UsageError, IntegrityError)):
        merge_files([part])


def test_no_file_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SeatrialError):
        merge_files([tmp_path / "none.json"])
    with pytest.raises(UsageError, match="no parts"):
        merge_files([])
