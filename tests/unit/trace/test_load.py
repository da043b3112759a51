"""Files of every packing, several at once, damaged, empty, foreign; bad rows counted."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from pathlib import Path

import duckdb
import pytest

from seatrial import trace
from seatrial.core.errors import UsageError

ROWS = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,10,3\n1.25,20,4\n"


def tar(name: str, data: bytes, mode: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for number in (1, 2):
            info = tarfile.TarInfo(f"folder/{number}-{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "n"),
    [
        ("t.csv", ROWS.encode(), 2),
        ("t.csv.gz", gzip.compress(ROWS.encode()), 2),
        ("t.csv.bz2", bz2.compress(ROWS.encode()), 2),
        ("t.csv.xz", lzma.compress(ROWS.encode()), 2),
        ("t.tar", tar("t.csv", ROWS.encode(), "w"), 4),
        ("t.tar.gz", tar("t.csv", ROWS.encode(), "w:gz"), 4),
        ("t.tar.xz", tar("t.csv", ROWS.encode(), "w:xz"), 4),
        ("bom.csv", b"\xef\xbb\xbf" + ROWS.encode(), 2),
        ("crlf.csv", ROWS.replace("\n", "\r\n").encode().rstrip(), 2),
    ],
)
def test_packings_are_read_through(name: str, data: bytes, n: int, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    table = trace.load(path)
    assert table.n == n
    assert table.format == "vidur"
    assert table.files[0].name == name


@pytest.mark.parametrize("form", ["%s\n%s\n", "[%s,%s]"])
def test_a_byte_order_mark_costs_no_request_in_json_either(form: str, tmp_path: Path) -> None:
    row = '{"timestamp": 1, "prompt_tokens": 5, "completion_tokens": 6}'
    path = tmp_path / "bom.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + (form % (row, row)).encode())
    table = trace.load(path)
    assert (table.n, table.bad_rows) == (2, ())


def test_zstd_is_read_through(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.zst"
    row = '{"timestamp": 1, "prompt_tokens": 5, "completion_tokens": 6, "user": "a, b"}'
    plain = tmp_path / "t.jsonl"
    plain.write_text(f"{row}\n{row}\n")
    duckdb.sql(
        f"copy (select * from read_csv('{plain}', delim=chr(31), quote='', header=false,"
        f"columns={{'l': 'VARCHAR'}}, auto_detect=false)) to '{path}' (format csv, header false,"
        "delimiter '\x1f', quote '', escape '', compression zstd)"
    )
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert trace.load(path).n == 2


def test_globs_folders_and_lists_are_one_trace(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for number, name in enumerate(("a.csv", "b.csv", "sub/c.csv")):
        text = ROWS.replace("0.5", f"{number}.5")
        (tmp_path / name).write_text(text)
    assert trace.load(tmp_path / "*.csv").n == 4
    assert trace.load(tmp_path).n == 6
    both = trace.load([tmp_path / "a.csv", tmp_path / "sub"])
    assert both.n == 4
    assert [file.name for file in both.files] == ["a.csv", "c.csv"]
    assert both.arrival_ns is not None
    assert both.arrival_ns.tolist() == [0, 750_000_000, 750_000_000, 2_000_000_000]


def test_bad_rows_are_counted_and_the_first_ten_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS + "x,1,2\n3,4\n" + "5,-1,2\n" * 12 + "6,1e30,2\n7,nan,1\n")
    table = trace.load(path)
    assert table.n == 2
    assert table.files[0].bad == 16
    assert len(table.bad_rows) == 10
    assert [bad.line for bad in table.bad_rows[:3]] == [4, 5, 6]
    assert "not a time" in table.bad_rows[0].why


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing in the file"),
        (b"\x00\x01\x02" * 100, "not recognised"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "pointer of Git LFS"),
        (b"hello world\nthis is no trace\n", "not recognised"),
        (b"PK\x03\x04" + b"\x00" * 60, "ZIP archive"),
        (ROWS.encode("utf-16"), "UTF-16"),
        (ROWS.replace(",", ";").encode(), "separated by semicolons"),
        (ROWS.replace(",", "\t").encode(), "separated by tabs"),
        (gzip.compress(ROWS.encode())[:-12], "damaged or cut short"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 40, "damaged or cut short"),
        (lzma.compress(ROWS.encode() * 50)[:-40], "damaged or cut short"),
        (b"arrived_at,num_prefill_tokens,num_decode_tokens\n", "no request could be read"),
    ],
)
def test_what_is_no_trace_is_an_error_in_words(data: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=why):
        trace.load(path)


def test_what_explains_a_folder_is_not_taken_for_its_data(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(ROWS)
    for name in ("README.md", "LICENSE", "SOURCES.txt", ".hidden"):
        (tmp_path / name).write_text("where this came from\n")
    assert [Path(f.name).name for f in trace.load(tmp_path).files] == ["a.csv"]
    with pytest.raises(UsageError, match="not recognised"):
        trace.load(tmp_path / "README.md")


def test_errors_name_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such trace file"):
        trace.load(tmp_path / "none*.csv")
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    with pytest.raises(UsageError, match="did you mean vidur"):
        trace.load(path, format="vidor")
    other = tmp_path / "o.jsonl"
    other.write_text('{"req_time": 1, "adapter": "a", "prompt_len": 1, "output_len": 1}\n')
    with pytest.raises(UsageError, match="another kind"):
        trace.load([path, other])
    with pytest.raises(UsageError, match="not in the file"):
        trace.load(path, mapping={"input_tokens": "nope"})
    with pytest.raises(UsageError, match="does not know"):
        trace.load(path, mapping={"inputs": "arrived_at"})


def test_a_mapping_names_columns_and_units(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("when,a,b,who,s\n1000,5,6,ann,1\n3000,7,8,bob,0\n")
    table = trace.load(
        path,
        mapping={
            "arrival": "when",
            "arrival_unit": "ms",
            "input_tokens": "a",
            "output_tokens": "b",
            "client": "who",
            "stream": "s",
        },
    )
    assert table.arrival_ns is not None
    assert table.arrival_ns.tolist() == [0, 2_000_000_000]
    assert table.labels["client"] == ("client-0", "client-1")
    assert table.features["stream"].tolist() == [True, False]


def test_texts_are_counted_with_a_tokenizer_if_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(
        '{"timestamp": 1760428221546118, "input": "one two", "output": "x", "session_id": "s"}\n'
    )
    guessed = trace.load(path)
    assert guessed.estimated == ("input tokens", "output tokens")
    counted = trace.load(path, count=lambda text: len(text.split()))
    assert counted.estimated == ()
    assert counted.input_tokens is not None
    assert counted.input_tokens.tolist() == [2]


def test_rows_without_a_time_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"created_at": "2026-01-01T00:00:00Z", "eval_count": 1, "total_duration": 5}\n'
        '{"eval_count": 1, "total_duration": 5}\n'
    )
    table = trace.load(path, format="ollama")
    assert table.n == 1
    assert "1 rows without a time were left out" in table.notes
