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
    return checked(_named(_decorative(text), name))


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


def _named(text: str, name: str) -> str:
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
