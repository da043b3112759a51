"""The published schemas of engines, probe and lifecycle are those of their records."""

from __future__ import annotations

import json
from types import ModuleType

import jsonschema
import pytest

from seatrial.cli.main import run
from seatrial.engines import schema as of_engines
from seatrial.lifecycle import schema as of_lifecycle
from seatrial.probe import schema as of_probe
from seatrial.trial import schema as of_trial

ALL = [(m, n) for m in (of_engines, of_lifecycle, of_probe, of_trial) for n in m.DOCUMENTS]


@pytest.mark.parametrize(("module", "name"), ALL, ids=[name for _, name in ALL])
def test_published_schemas_have_not_drifted(module: ModuleType, name: str) -> None:
    assert json.loads((module.folder() / name).read_bytes()) == module.schema_of(name)


def test_a_document_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["engines", "list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, of_engines.schema_of("engines-list-1.json"))
