"""The published schemas of ``doctor`` are those of its records, and its output obeys them."""

from __future__ import annotations

import json

import jsonschema
import pytest

from seatrial.cli.main import run
from seatrial.hardware import schema


@pytest.mark.parametrize("name", schema.DOCUMENTS)
def test_published_schemas_have_not_drifted(name: str) -> None:
    assert json.loads((schema.folder() / name).read_bytes()) == schema.schema_of(name)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["doctor", "--json"], "doctor-1.json"),
        (["doctor", "--gpus", "--json"], "doctor-gpus-1.json"),
        (["doctor", "--gpu", "mi300x", "--json"], "doctor-gpus-1.json"),
    ],
)
def test_real_output_obeys(
    arguments: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) in (0, 3)
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema.schema_of(name))
    assert document["schema"] == schema.schema_of(name)["title"]
