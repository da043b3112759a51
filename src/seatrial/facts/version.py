"""Order among an engine's versions.

Three spellings occur: Python's (``0.33.0``, ``1.3.0rc29``, ``0.9.0.post1``, ``0.26.1rc1.dev608``;
PEP 440), tags with a leading v (``v3.3.7``), and llama.cpp's build numbers (``b11549``, ``11549``,
or the last part of the wheel xllamacpp's ``2026.10.11549``). A commit has no order: it sorts
before all.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PEP440 = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_n>\d*))?"
    r"(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?"
    r"(?:\+(?P<local>[a-z0-9._-]+))?",
    re.IGNORECASE,
)
_PHASE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = 3

Key = tuple[tuple[int, ...], int, int, int, int]
"""(release, phase, number in the phase, post, dev); compares as PEP 440 orders."""


@lru_cache(4096)
def key(version: str) -> Key:
    """A sort key; versions that are not understood sort before all others."""
    text = version.strip()
    build = re.fullmatch(r"(?:b|20\d\d\.\d+\.)?(\d{3,6})(?:\.\d)?", text)
    if build:
        return ((int(build[1]),), _FINAL, 0, 0, 1 << 30)
    found = _PEP440.fullmatch(text)
    if not found:
        return ((), 0, 0, 0, 0)
    release = tuple(int(part) for part in found["release"].split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    dev = int(found["dev_n"] or 0) if found["dev"] else 1 << 30
    post = int(found["post_n"] or 0) + 1 if found["post"] else 0
    if found["pre"]:
        return (release, _PHASE[found["pre"].lower()], int(found["pre_n"] or 0), post, dev)
    phase = -1 if found["dev"] and not found["post"] else _FINAL
    return (release, phase, 0, post, dev)


def ordered(version: str) -> bool:
    """Whether it has a place among versions: a commit or a word has none."""
    return bool(key(version)[0])


def build_name(version: str) -> str:
    """llama.cpp's own spelling of a build number; other text is given back as it is."""
    found = re.fullmatch(r"(?:b|20\d\d\.\d+\.)?(\d{3,6})(?:\.\d)?", version.strip())
    return f"b{found[1]}" if found else version


def is_prerelease(version: str) -> bool:
    """Whether it is a release candidate, beta, alpha or development version."""
    _, phase, _, _, dev = key(version)
    return phase != _FINAL or dev != 1 << 30


def same(left: str, right: str) -> bool:
    """Whether two spellings name one version (``0.33`` and ``v0.33.0``, ``b11549``, ``11549``)."""
    return left.strip() == right.strip() or (key(left) == key(right) != key(""))


def within(version: str, since: str | None, until: str | None) -> bool:
    """Whether ``since <= version < until``; an open end is None."""
    mine = key(version)
    if since is not None and mine < key(since):
        return False
    return until is None or mine < key(until)
