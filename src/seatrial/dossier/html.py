"""The dossier as one HTML file: no network, readable without JavaScript, light, dark, printed.

The page carries its own Content-Security-Policy: nothing may be fetched, and the only script that
may run is the one whose hash stands in the policy, so that not even a hole in the escaping could
run another. The whole of dossier.json is embedded as data.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from seatrial.charts import PIP, Figure, css, library, narrowed, svg, with_rows
from seatrial.dossier.flat import number, text_of
from seatrial.dossier.record import Dossier, Measured
from seatrial.dossier.words import Words, words
from seatrial.stats.interval import Interval

SHOWN_ROWS = 80
PLAIN_ISLAND_BYTES = 60_000


def page(dossier: Dossier) -> str:
    """The HTML text of ``dossier``."""
    catalogue = words(dossier.lang)
    script = resource("dossier.js")
    template = environment().get_template("dossier.html.j2")
    return template.render(
        d=dossier,
        t=catalogue,
        css=Markup(css() + resource("dossier.css")),
        script=Markup(script),
        policy=policy(script),
        data=data_island(dossier),
        figures={f.id: f for f in dossier.figures},
        draw=draw,
        pip=None if library() else PIP,
        shown_rows=SHOWN_ROWS,
        metric_rows=metric_rows(dossier),
        bound=bound(dossier),
    )


def policy(script: str) -> str:
    """The Content-Security-Policy of a page whose only script is ``script``."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


class Island(NamedTuple):
    """dossier.json inside the page: its media type and its text."""

    type: str
    text: Markup


def data_island(dossier: Dossier) -> Island:
    """dossier.json without ``<``, ``>``, ``&``; a large one as base64 of gzip (RFC 1952)."""
    data = msgspec.json.encode(dossier)
    if len(data) > PLAIN_ISLAND_BYTES:
        packed = gzip.compress(data, compresslevel=9, mtime=0)
        return Island("application/gzip", Markup(base64.b64encode(packed).decode()))
    text = data.decode()
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Island("application/json", Markup(text))


def draw(figure: Figure, *, narrow: bool = False) -> Markup | None:
    """The figure's SVG, None without the extra ``charts``."""
    spec = with_rows(figure.spec, figure.rows)
    if narrow:
        spec = narrowed(spec)
    text = svg(spec, name=f"{figure.id}-{'n' if narrow else 'w'}")
    return Markup(text) if text else None


def metric_rows(dossier: Dossier) -> list[tuple[str, list[Measured | None]]]:
    """(metric, one value per candidate) for the table of candidates."""
    names = dict.fromkeys(m.metric for c in dossier.candidates for m in c.metrics)
    by = [{m.metric: m for m in c.metrics} for c in dossier.candidates]
    return [(name, [column.get(name) for column in by]) for name in names]


def bound(dossier: Dossier) -> int:
    """How many candidates are out or not settled."""
    return sum(row.verdict in ("infeasible", "unknown") for row in dossier.elimination)


@cache
def environment() -> Environment:
    env = Environment(
        loader=PackageLoader("seatrial.dossier", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(text=text_of, number=number, quantity=quantity, metric=metric_name)
    env.filters.update(bare=bare, span=span)
    return env


def quantity(value: float | None, unit: str) -> str:
    """A number in the unit a reader expects: bytes as MiB and GiB, shares in per cent."""
    if value is None:
        return "–"
    scaled, name = _scaled(value, unit)
    return f"{number(scaled)} {name}".rstrip()


def bare(value: float | None, unit: str) -> str:
    """The same number without its unit."""
    return "–" if value is None else number(_scaled(value, unit)[0])


def span(interval: Interval, unit: str) -> str:
    """``[low, high]`` in the scale of ``quantity``."""
    size = _scaled(interval.best, unit)[0] / interval.best if interval.best else 1.0
    return f"[{number(interval.low * size)}, {number(interval.high * size)}]"


def _scaled(value: float, unit: str) -> tuple[float, str]:
    if unit == "bytes":
        size, name = (1 << 30, "GiB") if abs(value) >= 1 << 30 else (1 << 20, "MiB")
        return value / size, name
    if unit == "share":
        return value * 100, "%"
    return float(value), unit


def metric_name(metric: str, catalogue: Words) -> str:
    """``ttft_ms.p95`` as ``TTFT P95``; a metric without a percentile from the catalogue."""
    name, _, percentile = metric.partition(".")
    label = catalogue.maybe(f"metric.{name}", name).removesuffix(", ms")
    return f"{label} {percentile.upper()}" if percentile else label


def resource(name: str) -> str:
    return files("seatrial.dossier").joinpath("templates", name).read_text("utf-8")
