"""The published schemas of predictions are those of the records."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import numpy as np
import pytest

from seatrial.fit.cost import StepCost
from seatrial.sim import POLICIES, Limits, poisson
from seatrial.sim.schema import DOCUMENTS, folder, schema_of
from seatrial.sim.whatif import whatif
from seatrial.trace.table import RequestTable


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_no_schema_has_drifted(name: str):
    published = json.loads((folder() / name).read_text())
    assert published == schema_of(name), "python -m seatrial.sim.schema writes them anew"
    assert published["$id"].startswith("seatrial/")


def test_a_document_fits_its_schema():
    load = poisson(40, 4.0, 60, 30, seed=1)
    table = RequestTable(
        format="t",
        n=load.n,
        arrival_ns=(load.arrival * 1e9).astype(np.int64),
        grain_ns=1,
        input_tokens=load.input,
        output_tokens=load.output,
    )
    made = whatif(
        table,
        cost=StepCost(step=0.01, prefill=1e-4, decode=1e-3),
        limits=Limits(max_seqs=8, token_budget=512, blocks=2000),
        policy=POLICIES["chunked-prefill"],
        basis="test",
    )
    document = json.loads(msgspec.json.encode(made))
    jsonschema.validate(document, schema_of("whatif-1.json"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "baseline": None}, schema_of("whatif-1.json"))
