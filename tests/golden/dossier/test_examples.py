"""Dossiers of real trials in examples/: what their pages show is in their Parquet files."""

from __future__ import annotations

import base64
import gzip
import hashlib
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "dossiers").glob("*/"))


def shown(folder: Path) -> dict[str, Any]:
    """dossier.json as the page carries it."""
    text = (folder / "dossier.html").read_text("utf-8")
    found = re.search(r'<script type="(.*?)" id="dossier-data">(.*?)</script>', text, re.S)
    assert found is not None
    data = found[2].encode()
    if found[1] == "application/gzip":
        data = gzip.decompress(base64.b64decode(data))
    document: dict[str, Any] = msgspec.json.decode(data)
    return document


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    result = con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def same(again: Any, before: Any) -> bool:
    if again is None or before is None or isinstance(again, str):
        return bool(again == before)
    return math.isclose(float(again), float(before), rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
def test_every_figure_shown_is_recomputed_by_the_sql_beside_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = shown(folder)
    monkeypatch.chdir(folder)
    text = (folder / "dossier.html").read_text("utf-8")
    checked = 0
    with duckdb.connect() as con:
        con.execute(document["sql_prelude"])
        for figure in document["figures"]:
            if figure["basis"] != "measured":
                continue  # a prediction is recomputed by the simulator, not from requests
            assert f'id="fig-{figure["id"]}"' in text
            found = rows(con, figure["sql"])
            assert len(found) == len(figure["rows"]), figure["id"]
            for again, before in zip(found, figure["rows"], strict=True):
                assert all(same(again[key], before[key]) for key in before), figure["id"]
            checked += 1
        table = {
            (r["candidate"], r["metric"], r["start"]): r
            for r in rows(con, document["candidates_sql"])
        }
    assert checked >= 12
    _check_table(document, table)


def _check_table(document: dict[str, Any], table: dict[tuple[str, str, int], Any]) -> None:
    numbers = 0
    for line in document["candidates"]:
        name = line["candidate"]
        starts = [c["start"] for c in document["cells"] if c["candidate"] == name and c["valid"]]
        for metric in line["metrics"]:
            for start, value in zip(starts, metric["per_start"], strict=True):
                assert same(table[name, metric["metric"], start]["value"], value)
                numbers += 1
    assert numbers > 50


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
def test_it_is_a_page_of_its_own_and_names_no_place_of_a_machine(folder: Path) -> None:
    text = (folder / "dossier.html").read_text("utf-8")
    assert len(text.encode()) < 1_000_000
    assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/[\w.-]+", text)
    assert "default-src &#39;none&#39;" in text


def test_there_is_an_example_of_a_real_trial() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda p: p.name)
def test_what_is_published_is_what_the_manifest_says(folder: Path) -> None:
    files = msgspec.json.decode((folder / "manifest.json").read_bytes())["files"]
    here = {name: folder / name for name in files if (folder / name).is_file()}
    assert len(here) > 20
    for name, path in here.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == files[name]["sha256"], name
