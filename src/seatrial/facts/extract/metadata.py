"""What a wheel's METADATA or an sdist's PKG-INFO says: requirements, Python, licence, plugins.

The format is that of e-mail headers (Core metadata specifications, 2.x). Requirements that
belong to an extra are kept with their marker as condition.
"""

from __future__ import annotations

import re

from seatrial.facts.extract.findings import Findings, Missing

_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*(.*)$")


def add_metadata(findings: Findings) -> None:
    """Facts ``requires`` (package or ``python`` -> specifier) and ``license``."""
    source = findings.source
    found = source.glob("*.dist-info/METADATA", "PKG-INFO")
    found = [f for f in found if f.count("/") <= 1]
    if not found:
        raise Missing("no METADATA or PKG-INFO")
    path = found[0]
    for number, line in enumerate(source.text(path).splitlines(), start=1):
        if not line:
            break  # the body (the README) begins; a blank line of a long field holds spaces
        key, _, value = line.partition(":")
        value = value.strip()
        if key == "Requires-Python":
            findings.add("requires", "python", value, path, number)
        elif key == "Requires-Dist":
            _requirement(findings, value, path, number)
        elif key == "License-Expression" or (key == "License" and len(value) < 60 and value):
            findings.add("license", findings.engine, value, path, number)


def _requirement(findings: Findings, text: str, path: str, line: int) -> None:
    wanted, _, marker = text.partition(";")
    found = _REQUIREMENT.match(wanted)
    if found is None:
        return
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    specifier = found[3].strip().strip("()").replace(" ", "")
    marker = marker.strip()
    findings.add(
        "requires",
        name,
        specifier or "any",
        path,
        line,
        state="conditional" if marker else "extracted",
        condition=marker or None,
        detail={"extras": found[2].strip("[]").split(",") if found[2] else None},
    )
