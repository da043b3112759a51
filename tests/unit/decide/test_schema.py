"""The published schemas are those of the records, and the documents obey them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from seatrial.decide import decide_folder
from seatrial.decide.diff import diff
from seatrial.decide.schema import DOCUMENTS, folder, schema_of
from seatrial.store import encode


@pytest.mark.parametrize("name", DOCUMENTS)
def test_published_schemas_have_not_drifted(name: str) -> None:
    assert json.loads((folder() / name).read_bytes()) == schema_of(name)


def test_documents_obey(make_trial: Any, tmp_path: Path) -> None:
    trial = make_trial({"a": 1.0, "b": 1.3}, starts=3, requests=100)
    place = trial.write(tmp_path / "t")
    found = {
        "plan-1.json": trial.plan,
        "decision-1.json": decide_folder(place),
        "diff-1.json": diff(place, place, old_candidate="a", new_candidate="b"),
    }
    for name, value in found.items():
        jsonschema.validate(json.loads(encode(value)), schema_of(name))
