"""The published schemas are those of the records, and what the verbs print obeys them."""

from __future__ import annotations

import json

import jsonschema
import pytest

from seatrial.bench import schema
from seatrial.cli.main import run as seatrial

_SHORT = ["--output-tokens", "4", "--input-tokens", "16", "--quiet", "--json"]


@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_published_schemas_have_not_drifted(name):
    assert json.loads((schema.folder() / name).read_bytes()) == schema.schema_of(name)


def _valid(name: str, text: str) -> dict:
    document = json.loads(text)
    jsonschema.validate(document, schema.schema_of(name))
    known = schema.schema_of(name)
    top = known["$defs"][known["$ref"].rpartition("/")[2]]["properties"]
    assert set(document) <= set(top), "a key that the schema does not name"
    return document


def test_a_bench_and_what_is_made_of_its_cell_obey(mock_url, capsys, tmp_path):
    out = tmp_path / "cell"
    options = ["--rate", "50", "--requests", "6", *_SHORT, "--out", str(out)]
    assert seatrial(["bench", "--endpoint", mock_url(), *options]) in (0, 5)
    document = _valid("bench-1.json", capsys.readouterr().out)
    assert document["schema"] == "seatrial/bench/1"
    _valid("cell-1.json", (out / "cell.json").read_text())
    report = tmp_path / "report.json"
    assert seatrial(["export", str(out), "--to", "llm-d", "--out", str(report), "--json"]) == 0
    assert _valid("export-1.json", capsys.readouterr().out)["to"] == "llm-d"


def test_a_sweep_obeys(mock_url, capsys):
    options = ["--requests", "4", "--sweep", "40", "80", *_SHORT]
    assert seatrial(["bench", "--endpoint", mock_url(), *options]) in (0, 5)
    document = _valid("bench-sweep-1.json", capsys.readouterr().out)
    assert document["loads"] == [40, 80]
    assert [p["requests"]["offered"] for p in document["points"]] == [4, 4]


def test_an_import_obeys(tmp_path, capsys):
    file = tmp_path / "vllm.json"
    row = {"model_id": "m", "completed": 4, "failed": 0, "duration": 2.0}
    more = {"total_output_tokens": 80, "output_throughput": 40.0, "mean_ttft_ms": 30.0}
    file.write_text(json.dumps({**row, **more, "request_rate": 2.0, "mean_tpot_ms": 5.0}))
    assert seatrial(["import", str(file), "--json"]) == 0
    _valid("import-1.json", capsys.readouterr().out)
