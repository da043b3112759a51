"""Facts about engines, read statically out of what their authors released.

``load()`` gives the store; ``store.engine("vllm", "0.33.0").get("min_capability", "awq")`` gives
the binding fact with its artefact, member, line and expiry. ``docs/method/facts.md`` defines
every predicate.
"""

from seatrial.facts.factset import FactSet
from seatrial.facts.record import Fact, Source
from seatrial.facts.store import ENGINES, FactStore, load

__all__ = ["ENGINES", "Fact", "FactSet", "FactStore", "Source", "load"]
