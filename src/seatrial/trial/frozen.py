"""facts.json: copies of the facts that the gate used, as they were on that day."""

from __future__ import annotations

import msgspec

from seatrial.core.ids import sha256_value
from seatrial.core.provenance import Provenance, provenance
from seatrial.facts import Fact, FactStore
from seatrial.gate import GateTable

SCHEMA = "seatrial/facts/1"


class FrozenFacts(msgspec.Struct, frozen=True, kw_only=True):
    """facts.json; ``missing`` are ids that the store could not resolve (none, if all is well)."""

    schema: str
    facts: list[Fact]
    missing: list[str]
    provenance: Provenance


def freeze(table: GateTable, store: FactStore) -> FrozenFacts:
    """The facts behind every reason of the table."""
    used = sorted({fact for row in table.candidates for r in row.reasons for fact in r.facts})
    found = {fact_id: store.resolve(fact_id) for fact_id in used}
    return FrozenFacts(
        schema=SCHEMA,
        facts=[fact for fact in found.values() if fact is not None],
        missing=[fact_id for fact_id, fact in found.items() if fact is None],
        provenance=provenance({"gate.json": sha256_value(table)}),
    )
