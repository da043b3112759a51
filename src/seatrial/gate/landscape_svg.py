"""The landscape as one SVG: four quarters, one card per engine. Plain text, no dependency.

Colours follow the reader's scheme through ``prefers-color-scheme``; the maintenance status is
written, never only coloured.
"""

from __future__ import annotations

from html import escape

from seatrial.gate.landscape import Landscape, MapRow

WIDTH, CARD_W, CARD_H, GAP, HEAD = 1180, 270, 132, 14, 74
_QUARTERS = (("server", "easy"), ("server", "extreme"), ("edge", "easy"), ("edge", "extreme"))
_STYLE = """
text{font:13px system-ui,sans-serif;fill:#1c2430}
.h{font-size:19px;font-weight:600}.q{font-size:14px;font-weight:600;fill:#4a5a70}
.n{font-size:15px;font-weight:600}.s{fill:#4a5a70;font-size:12px}
.b{fill:#fff}.c{fill:#f4f6fa;stroke:#c5cfdd}.w{fill:#fff4e5;stroke:#d9a441}
@media (prefers-color-scheme: dark){text{fill:#e6ebf2}.q,.s{fill:#a9b7c9}.b{fill:#141a22}
.c{fill:#1d2530;stroke:#3b4a5e}.w{fill:#3a2d14;stroke:#d9a441}}
"""


def draw(found: Landscape) -> str:
    """The map as an SVG document."""
    body, y = [], HEAD
    for place, effort in _QUARTERS:
        rows = [r for r in found.engines if (r.place, r.effort) == (place, effort)]
        if rows:
            body.append(f'<text class="q" x="20" y="{y + 14}">{place}, {effort}</text>')
            part, y = _cards(rows, y + 26)
            body += part
    height = y + 34
    note = "Every cell is a fact with its source; no place on this map is a statement about speed."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Map of LLM inference engines"><style>{_STYLE}</style>'
        f'<rect class="b" width="{WIDTH}" height="{height}"/>'
        f'<text class="h" x="20" y="36">LLM inference engines, {found.provenance.created_at[:10]}'
        f"</text>{''.join(body)}"
        f'<text class="s" x="20" y="{height - 14}">{note}</text></svg>\n'
    )


def _cards(rows: list[MapRow], top: int) -> tuple[list[str], int]:
    """Cards in lines of four; returns them and where the next quarter begins."""
    out = []
    for number, row in enumerate(rows):
        x = 20 + number % 4 * (CARD_W + GAP)
        y = top + number // 4 * (CARD_H + GAP)
        out.append(_card(row, x, y))
    lines = -(-len(rows) // 4)
    return out, top + lines * (CARD_H + GAP) + 16


def _card(row: MapRow, x: int, y: int) -> str:
    state = row.maintenance or "not known"
    lines = [
        f"{row.layer}; {state}" + (f"; {row.released}" if row.released else ""),
        f"memory: {row.memory or '-'}; prefix: {row.prefix_cache or '-'}",
        f"scheduling: {row.scheduling or '-'}",
        f"kernels: {row.kernels or '-'}",
        f"formats: {', '.join(row.formats) or '-'}",
        f"runs on: {', '.join(row.platforms) or '-'}",
    ]
    kind = "c" if state == "active" else "w"
    text = "".join(
        f'<text class="s" x="{x + 12}" y="{y + 44 + 16 * n}">{escape(_cut(line))}</text>'
        for n, line in enumerate(lines)
    )
    title = escape(f"{row.engine} {row.version or ''}".strip())
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{CARD_W}" height="{CARD_H}" rx="6"/>'
        f'<text class="n" x="{x + 12}" y="{y + 24}">{title}</text>{text}'
    )


def _cut(text: str, most: int = 41) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
