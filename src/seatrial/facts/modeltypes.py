"""Which model types and classes each release of Transformers knows.

An engine's generic model class runs what the Transformers library beside it can build: the model
type of config.json and the class of that name must be in that release's tables. Which release
stands beside an engine follows from the engine's own requirement and, where that has only a
floor, from the day the engine was released. ``history/model_types.json`` holds the tables as ranges
over the releases read (``tools/facts_transformers.py``).
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import msgspec

from seatrial.facts import version as order

_CLAUSE = re.compile(r"(===|==|!=|~=|>=|<=|>|<)\s*([^,;\s)]+)")


class ModelTypes(msgspec.Struct, frozen=True, kw_only=True):
    """The file.

    Attributes:
        versions: ``[version, day, wheel, sha256]`` of each release read, oldest first.
        types, classes: name -> ``[first, end, ...]``: known from ``versions[first]`` up to, not
            including, ``versions[end]``.
    """

    schema: str
    verified_on: str
    members: list[str]
    versions: list[list[str]]
    types: dict[str, list[int]]
    classes: dict[str, list[int]]

    def newest(self, requirement: str | None, day: str | None) -> str | None:
        """The newest release that a requirement admits and that was out by a day; null if none
        that was read does, or if neither is given. For a pin to a release that was not read (a
        withdrawn one) it is the next one read: it knows no less."""
        if requirement is None and day is None:
            return None
        pinned = requirement is not None and re.fullmatch(r"==[\w.]+", requirement) is not None
        if pinned and requirement is not None:
            return self.around(requirement.removeprefix("=="))[1]
        for version, uploaded, *_ in reversed(self.versions):
            if day is not None and uploaded > day:
                continue
            if requirement is None or admits(requirement, version):
                return version
        return None

    def has(self, version: str, *, name: str | None = None, family: str | None = None) -> bool:
        """Whether a release that was read knows this class and this model type (what is null
        is not asked)."""
        place = next(n for n, v in enumerate(self.versions) if v[0] == version)
        asked = [self.classes.get(name, [])] if name is not None else []
        asked += [self.types.get(family, [])] if family is not None else []
        return all(any(a <= place < b for a, b in _pairs(edges)) for edges in asked)

    def first(self, *, name: str | None = None, family: str | None = None) -> str | None:
        """The first release read that knows them; null if none does."""
        known = (v[0] for v in self.versions if self.has(v[0], name=name, family=family))
        return next(known, None)

    def place(self, version: str) -> str:
        """Wheel and tables of one release, in words."""
        wheel = next(v[2] for v in self.versions if v[0] == version)
        return f"{wheel}, {self.members[0].rpartition('/')[0]}"

    def around(self, version: str) -> tuple[str | None, str | None]:
        """The releases read at or below a version, and at or above it."""
        mine = order.key(version)
        below = [v[0] for v in self.versions if order.key(v[0]) <= mine]
        above = [v[0] for v in self.versions if order.key(v[0]) >= mine]
        return (below[-1] if below else None), (above[0] if above else None)


def _pairs(edges: list[int]) -> list[tuple[int, int]]:
    return list(zip(edges[::2], edges[1::2], strict=True))


def admits(requirement: str, version: str) -> bool:
    """Whether a requirement (PEP 440 specifiers, joined by commas) admits a final release."""
    mine = order.key(version)
    for sign, text in _CLAUSE.findall(requirement):
        bare = text.removesuffix(".*")
        parts = bare.split(".")
        other, prefix = order.key(bare), text.endswith(".*")
        same = _starts(version, parts) if prefix else mine == other
        holds = {
            "==": same,
            "===": same,
            "!=": not same,
            ">=": mine >= other,
            "<=": mine <= other,
            ">": mine > other,
            "<": mine < other,
            "~=": mine >= other and _starts(version, parts[:-1]),
        }[sign]
        if not holds:
            return False
    return True


def _starts(version: str, parts: list[str]) -> bool:
    """Whether a version begins with these parts."""
    return version.split(".")[: len(parts)] == parts


@cache
def model_types() -> ModelTypes:
    """The shipped file."""
    file = resources.files("seatrial.facts").joinpath("history/model_types.json")
    return msgspec.json.decode(file.read_bytes(), type=ModelTypes)


class ConfigTypes(msgspec.Struct, frozen=True, kw_only=True):
    """Model types that one engine has configurations of its own for, release by release."""

    members: list[str]
    versions: list[str]
    types: dict[str, list[int]]

    def has(self, version: str, family: str) -> bool | None:
        """Whether this release, or one of the two read around it, has the type; null where no
        later one was read."""
        mine = order.key(version)
        below = [n for n, v in enumerate(self.versions) if order.key(v) <= mine]
        above = [n for n, v in enumerate(self.versions) if order.key(v) >= mine]
        if not above:
            return None
        places = {above[0], *(below[-1:])}
        edges = _pairs(self.types.get(family, []))
        return any(a <= n < b for n in places for a, b in edges)


class _ConfigFile(msgspec.Struct, frozen=True, kw_only=True):
    schema: str
    verified_on: str
    engines: dict[str, ConfigTypes]


def _ranges(file: str, part: str) -> ConfigTypes | None:
    raw = resources.files("seatrial.facts").joinpath(f"history/{file}.json").read_bytes()
    return msgspec.json.decode(raw, type=_ConfigFile).engines.get(part)


@cache
def config_types(engine: str) -> ConfigTypes | None:
    """An engine's part of ``history/config_types.json``; null if it has none."""
    return _ranges("config_types", engine)


@cache
def stages(engine: str) -> tuple[ConfigTypes, ConfigTypes] | None:
    """(classes that the engine can cut into pipeline stages, classes that it serves whole only),
    from ``history/stages.json``; null where no signatures were read."""
    can, whole = _ranges("stages", engine), _ranges("stages", f"{engine}:whole")
    return (can, whole) if can is not None and whole is not None else None


@cache
def parsers(engine: str) -> ConfigTypes | None:
    """Names that an engine's parser flags take (``tool:NAME``, ``reasoning:NAME``), from
    ``history/parsers.json``; null where no table was read."""
    return _ranges("parsers", engine)
