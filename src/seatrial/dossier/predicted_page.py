"""The predicted section alone, as a page of its own: for ``seatrial serve`` and ``whatif --html``.

It fetches nothing and runs no script; its policy says so.
"""

from __future__ import annotations

import msgspec
from markupsafe import Markup

from seatrial.charts import PIP, css, library
from seatrial.core.provenance import provenance
from seatrial.dossier.escape import harmless
from seatrial.dossier.html import SHOWN_ROWS, draw, environment, resource
from seatrial.dossier.predicted import PredictedPart
from seatrial.dossier.words import Words

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def predicted_page(
    part: PredictedPart, name: str, t: Words, *, links: list[tuple[str, str]] | None = None
) -> str:
    """The HTML text; ``links`` are (candidate, address) of a trial's pages; None: no trial."""
    clean = msgspec.convert(harmless(msgspec.to_builtins(part)), PredictedPart)
    made = provenance()
    return (
        environment()
        .get_template("predicted_page.html.j2")
        .render(
            part=clean,
            name=harmless(name),
            t=t,
            css=Markup(css() + resource("dossier.css")),
            policy=POLICY,
            links=links,
            draw=draw,
            pip=None if library() else PIP,
            shown_rows=SHOWN_ROWS,
            version=made.tool_version,
            date=made.created_at[:10],
        )
    )
