"""The page and the small plots: every number from the fingerprint, nothing active, all escaped."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from seatrial import trace
from seatrial.cli.main import run
from seatrial.cli.spark import spark
from seatrial.workload import Fingerprint, fingerprint
from seatrial.workload.page import page
from seatrial.workload.schema import FOLDER
from seatrial.workload.views import figures


@pytest.fixture(scope="module")
def found(traces_dir: Path) -> Fingerprint:
    return fingerprint(trace.load(traces_dir / "mooncake_synthetic_trace.jsonl.xz"))


def test_figures_hold_the_fingerprints_numbers(found: Fingerprint) -> None:
    made = {figure.id: figure for figure in figures(found)}
    assert set(made) == {"arrivals", "concurrency", "lengths", "lru"}
    assert sum(row["requests"] for row in made["arrivals"].rows) == found.requests
    assert sum(row["requests"] for row in made["lengths"].rows) == found.requests
    assert found.prefix is not None
    assert [row["hit"] for row in made["lru"].rows] == list(found.prefix.lru.values())


def test_a_week_has_a_heat_map(found: Fingerprint) -> None:
    assert found.arrivals is not None
    week = msgspec.structs.replace(found.arrivals, per_hour_of_week=[float(i) for i in range(168)])
    made = {f.id: f for f in figures(msgspec.structs.replace(found, arrivals=week))}
    assert made["hours"].rows[24 + 9] == {"day": "Tue", "hour": 9, "requests": 33.0}


def test_the_page_is_whole_and_inert(found: Fingerprint) -> None:
    hostile = msgspec.structs.replace(
        found, notes=["<script>alert(1)</script>"], missing=['"><img']
    )
    text = page(hostile)
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert f"{found.requests:,} requests" in text
    assert text.count("<svg ") == len(figures(found))


def test_the_page_without_the_drawing_library(
    found: Fingerprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.workload.page.svg", lambda spec, name: None)
    text = page(found)
    assert "<svg" not in text
    assert text.count("<details open>") == len(figures(found))


def test_documents_match_the_published_schema(traces_dir: Path, found: Fingerprint) -> None:
    schema = json.loads((FOLDER / "profile-1.json").read_text())
    lengths = trace.load(traces_dir / "bwb_stats_llama2_tokenizer_filtered_v2.csv.xz")
    for each in (found, fingerprint(lengths)):
        jsonschema.validate(json.loads(msgspec.json.encode(each)), schema)


def test_spark() -> None:
    assert spark([]) == ""
    assert spark([0, 0]) == "  "
    assert spark([0, 1, 8]) == " ▁█"
    assert len(spark(list(range(1000)), 50)) == 50


def test_the_verb_writes_both(
    traces_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = str(traces_dir / "vtc_real_trace.jsonl.xz")
    html, out = tmp_path / "p.html", tmp_path / "p.json"
    assert run(["profile", source, "--html", str(html), "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "per minute" in shown
    assert "adapter: 27, the busiest 20%" in shown
    assert html.read_text().startswith("<!doctype html>")
    again = msgspec.json.decode(out.read_bytes(), type=Fingerprint)
    assert again.requests == 1500
    assert run(["profile", source, "--gpu", "l40s"]) == 0
    assert "8B bf16 model on 1 x l40s" in capsys.readouterr().out
    assert run(["profile"]) == 2
    assert run(["profile", source, "--map", "nonsense"]) == 2
