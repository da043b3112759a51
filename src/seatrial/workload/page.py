"""A fingerprint as one HTML file: self-contained, no script, nothing fetched.

Each figure stands with its table, folded away; without the extra ``charts`` the tables are all
there is. Everything that comes from the trace is escaped.
"""

from __future__ import annotations

from html import escape

from seatrial.charts import Figure, css, svg
from seatrial.workload.profile import Distribution, Fingerprint
from seatrial.workload.views import figures

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;padding:0 1rem;"
    "color:var(--chart-ink)}@media screen and (prefers-color-scheme:dark){body{background:#171b21}}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}"
    "td,th{padding:.15rem .7rem .15rem 0;text-align:right;font-weight:normal}"
    "th:first-child,td:first-child{text-align:left}th{color:var(--chart-soft)}svg{max-width:100%;"
    "height:auto}details{color:var(--chart-soft);overflow-x:auto}"
)


def page(found: Fingerprint) -> str:
    """The whole document."""
    body = [
        f"<h1>{found.requests:,} requests ({escape(found.format)})</h1>",
        _lengths(found),
        f"<p><strong>Pressure: {escape(found.pressure.label)}</strong> on "
        f"{escape(found.pressure.reference)}.<br>Because {escape(found.pressure.because)}.<br>"
        f"{escape(found.pressure.consequence)}</p>",
        *(_figure(figure) for figure in figures(found)),
        _listed("Not in this trace", found.missing),
        _listed("Notes", found.notes),
        _listed("Files", [f"{f.name} (SHA-256 {f.sha256[:16]}...)" for f in found.files[:50]]),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width"><meta http-equiv="Content-Security-Policy" content="default-'
        "src 'none'; style-src 'unsafe-inline'\"><title>Fingerprint</title>"
        f"<style>{css()}{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _lengths(found: Fingerprint) -> str:
    named = (
        ("input tokens", found.input_tokens),
        ("output tokens", found.output_tokens),
        ("TTFT, ms", found.ttft_ms),
        ("E2E, ms", found.e2e_ms),
    )
    rows = [(name, *_numbers(d)) for name, d in named if d is not None]
    return _table(("", "mean", "p50", "p90", "p99", "max"), rows) if rows else ""


def _numbers(d: Distribution) -> tuple[str, ...]:
    return tuple(f"{value:,.0f}" for value in (d.mean, d.p50, d.p90, d.p99, d.max))


def _figure(figure: Figure) -> str:
    drawing = svg(figure.spec, name=figure.id) or ""
    heads = [f"{c.title}{f', {c.unit}' if c.unit else ''}" for c in figure.columns]
    rows = [tuple(_cell(row.get(c.key)) for c in figure.columns) for row in figure.rows]
    label = escape(figure.says, quote=True)
    return (
        f'<h2>{escape(figure.title)}</h2><figure role="img" aria-label="{label}" '
        f'style="margin:0">{drawing}</figure><p>{escape(figure.says)}</p>'
        f"<details{'' if drawing else ' open'}><summary>Table</summary>"
        f"{_table(tuple(heads), rows)}</details>"
    )


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _listed(title: str, items: list[str]) -> str:
    if not items:
        return ""
    return (
        f"<h2>{escape(title)}</h2><ul>" + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>"
    )
