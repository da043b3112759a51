"""Prometheus text: parsed with bounds, because an engine wrote it.

Names are kept as exposed. To compare with names taken from an engine's source, strip what the
client library adds: ``base_name("vllm:num_preemptions_total")`` is ``vllm:num_preemptions``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

MAX_TEXT_BYTES = 8 << 20
MAX_SERIES = 20_000

_LINE = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>[^\n]*)\})?\s+(?P<value>\S+)(?:\s+\S+)?\s*$"
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ADDED = ("_total", "_created", "_bucket", "_sum", "_count")


class Series(msgspec.Struct, frozen=True):
    """One value of one series."""

    name: str
    labels: dict[str, str]
    value: float


def parse(text: str, *, buckets: bool = True) -> Iterator[Series]:
    """Every series of an exposition; lines that are not one are skipped.

    ``buckets=False`` leaves out histogram buckets, which are most of the lines.
    """
    count = 0
    for line in text[:MAX_TEXT_BYTES].splitlines():
        if not line or line[0] == "#" or (not buckets and "_bucket{" in line):
            continue
        hit = _LINE.match(line)
        if hit is None:
            continue
        try:
            value = float(hit["value"])
        except ValueError:
            continue
        yield Series(hit["name"], dict(_LABEL.findall(hit["labels"] or "")), value)
        count += 1
        if count >= MAX_SERIES:
            return


def base_name(name: str) -> str:
    """The name as an engine's source has it: without what Prometheus clients append."""
    for ending in _ADDED:
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name


def total(text: str, name: str) -> float | None:
    """Sum over all label sets of the metric with this source name; None if it is not there.

    Matches the name as it is and with ``_total``; of a histogram nothing is summed.
    """
    wanted = {name, f"{name}_total"}
    values = [s.value for s in parse(text, buckets=False) if s.name in wanted]
    return sum(values) if values else None


def names(text: str) -> set[str]:
    """Source names (see ``base_name``) of everything exposed."""
    return {base_name(s.name) for s in parse(text, buckets=False)}
