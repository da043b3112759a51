"""A model's class in an engine's registry, under whichever of its names."""

from __future__ import annotations

import msgspec

from seatrial.facts import Fact
from seatrial.gate.case import Case
from seatrial.model.names import gguf_name, hf_name


def class_names(case: Case, name: str) -> list[str]:
    """A class under all of its names; MLC-LLM and TGI list model types."""
    family = case.model.model_type if case.model else None
    return [n for n in dict.fromkeys([name, hf_name(name), gguf_name(name), family]) if n]


_OWN_ENGINE = "model/models/"


def registered(case: Case, name: str) -> Fact | None:
    """What the engine's registry says of a class, under whichever of its names. A class that only
    Ollama's own engine has, while llama.cpp took it up later: the library's files load, one from
    elsewhere may go to the llama.cpp that it carries, which lacks it (ollama/ollama#15303)."""
    names = class_names(case, name)
    facts = [f for n in names if (f := case.known.get("architecture", n))]
    if case.engine != "ollama":
        return facts[0] if facts else None
    core = case.known.core()  # its GGUF support is that of its llama.cpp
    carried = [f for n in names if core and (f := core.get("architecture", n))]
    if facts and (facts[0].source.member or "").startswith(_OWN_ENGINE):
        return _of_own_engine(case, names, facts[0], carried if core is not None else None)
    facts = facts or carried
    return facts[0] if facts else None


def _of_own_engine(case: Case, names: list[str], fact: Fact, carried: list[Fact] | None) -> Fact:
    """Ollama's own engine has the class. What llama.cpp never had comes from the library alone;
    what its llama.cpp of that day has loads from anywhere; ``carried`` is null if not known."""
    later = case.known.newest_of("llama.cpp")
    if all(later.get("architecture", n) is None for n in names):
        return msgspec.structs.replace(fact, value="native")
    if carried is None or any(f.value == "native" for f in carried):
        return fact
    return msgspec.structs.replace(fact, value="own-engine")
