"""Vega-Lite to SVG through vl-convert, the extra ``charts``; None without it.

The same specification gives the same bytes in every process, so that golden tests work. The
result is checked to be a drawing and nothing else: no script, no link, no foreign content, no
address that would be fetched.
"""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Any

from seatrial.core.errors import IntegrityError

PIP = "python -m pip install 'seatrial[charts]'"
VEGA_LITE = "6.4"
MEASURE = 1.2
"""Texts are laid out this much larger than they are shown: the reader's font may be wider."""
_FONT_SIZE = re.compile(r'font-size="([\d.]+)px"')
_FORBIDDEN = re.compile(
    r"<\s*(script|foreignObject|iframe|image|a|use|animate|set|style)\b"
    r"|\son[a-z]+\s*=|(?<!xmlns:)(?<!xmlns)\b(xlink:)?href\s*=|url\((?!#)|javascript:",
    re.IGNORECASE,
)


@cache
def library() -> ModuleType | None:
    """The vl_convert module, or None where the extra is not installed."""
    try:
        import vl_convert
    except ImportError:
        return None
    module: ModuleType = vl_convert
    return module


def svg(spec: dict[str, Any], *, name: str = "chart") -> str | None:
    """The drawing of ``spec``, for embedding in HTML; None without the extra.

    ``name`` keeps the ids inside apart from those of other drawings on the page.

    Raises:
        IntegrityError: the drawing holds something that is no drawing.
    """
    vl = library()
    if vl is None or not spec:
        return None
    text = str(vl.vegalite_to_svg(vl_spec=spec, vl_version=VEGA_LITE))
    return checked(_named(slim(_decorative(text)), name))


def checked(text: str) -> str:
    """``text`` if it is a drawing only.

    Raises:
        IntegrityError: it is not.
    """
    found = _FORBIDDEN.search(_markup(text))
    if found or not text.startswith("<svg"):
        raise IntegrityError(
            f"a chart came out with {found.group(0).strip() if found else 'no SVG'!r} in it",
            remedy="report this with the trial's folder; the tables hold the same numbers",
        )
    return text


def _markup(text: str) -> str:
    """The tags alone, text between them left out: a name may say ``javascript:`` in peace."""
    tags = "".join(re.findall(r"<[^>]*>", text))
    return re.sub(r'aria-label="[^"]*"', "", tags)


def _decorative(text: str) -> str:
    """Hidden from screen readers: the figure around it carries the label and the table."""
    text = re.sub(r' (role|aria-roledescription|aria-label|aria-hidden)="[^"]*"', "", text)
    text = _FONT_SIZE.sub(lambda m: f'font-size="{float(m[1]) / MEASURE:g}px"', text)
    text = re.sub(r' pointer-events="none"| opacity="1"', "", text)
    text = re.sub(r"<g>(<path[^>]*display=\"none\"[^>]*/>)</g>", "", text)
    return text.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


_LEAVES = re.compile(
    r'<g class="mark-[^"]*"([^>]*)>'
    r"((?:<(?:line|path|rect)\b[^<>]*/>|<text\b[^<>]*>[^<]*</text>)+)</g>"
)
_LEAF = re.compile(r"<(\w+)((?: [\w-]+=\"[^\"]*\")*)")
_ATTRIBUTE = re.compile(r' ([\w-]+)="([^"]*)"')
_INHERITED = re.compile(r"(fill|stroke|font-|text-anchor)")  # SVG 2, inherited presentation only
_EMPTY = re.compile(
    r'<path class="(?:foreground" d="" display="none"|background" d="M0,0h0v0h0Z")/>'
)
_FINE = re.compile(r"(\.\d)\d+")


def slim(text: str) -> str:
    """The same drawing in fewer bytes: what all leaves of a group share stands on the group.

    Empty paths are left out, coordinates are rounded to a tenth of a pixel.
    """
    text = _EMPTY.sub("", text)
    text = re.sub(r' (?:d|transform|x2|y2)="[^"]*"', lambda m: _FINE.sub(r"\1", m[0]), text)
    return _LEAVES.sub(_hoisted, text)


def _hoisted(match: re.Match[str]) -> str:
    own, leaves = match[1], match[2]
    sets = [set(_ATTRIBUTE.findall(found[2])) for found in _LEAF.finditer(leaves)]
    taken = {name for name, _ in _ATTRIBUTE.findall(own)}
    shared = sorted(
        (name, value)
        for name, value in set.intersection(*sets)
        if _INHERITED.match(name) and name not in taken
    )
    for name, value in shared:
        leaves = leaves.replace(f' {name}="{value}"', "")
    kept = "".join(f' {name}="{value}"' for name, value in shared)
    return f"<g{own}{kept}>{leaves}</g>"


def _named(text: str, name: str) -> str:
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
