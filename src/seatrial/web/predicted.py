"""The predictions of a trial as a page, and the same as JSON.

``/trials/NAME/predicted?candidate=C`` simulates C instead of the first measured candidate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from seatrial.core.errors import UsageError
from seatrial.dossier.escape import harmless
from seatrial.dossier.predicted import PredictedPart, predicted
from seatrial.dossier.predicted_page import predicted_page
from seatrial.dossier.words import words


def measured(folder: Path) -> list[str]:
    """Candidates with cells, by name."""
    return sorted({path.parent.parent.name for path in folder.glob("cells/*/*/cell.json")})


def part(folder: Path, lang: str, candidate: str | None) -> PredictedPart:
    """The section for one candidate.

    Raises:
        UsageError: it has no cells here.
    """
    names = measured(folder)
    if candidate is not None and candidate not in names:
        raise UsageError(
            "that candidate was not measured in this trial",
            where=candidate[:200],
            remedy=f"take one of {', '.join(names) or 'none: nothing was measured'}",
        )
    return predicted(folder, [candidate] if candidate else names, words(lang))


def document(folder: Path, lang: str, candidate: str | None) -> dict[str, Any]:
    """The JSON twin."""
    shown: dict[str, Any] = harmless(msgspec.to_builtins(part(folder, lang, candidate)))
    return {"schema": "seatrial/web-predicted/1", "candidates": measured(folder), **shown}


def page(folder: Path, lang: str, candidate: str | None) -> str:
    """The page, with a link for every measured candidate."""
    links = [(name, f"?candidate={quote(name)}&lang={quote(lang)}") for name in measured(folder)]
    return predicted_page(part(folder, lang, candidate), folder.name, words(lang), links=links)
