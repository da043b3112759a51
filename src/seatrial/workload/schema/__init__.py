"""The published JSON schemas, generated from the records.

``python -m seatrial.workload.schema`` writes them anew; a test fails when a file has drifted.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from seatrial.workload.spec import Workload

FOLDER = Path(__file__).parent


def _schema(kind: type[msgspec.Struct], title: str) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **schema,
    }


def generate() -> dict[str, str]:
    """File name -> text, for every schema of this package."""
    from seatrial.workload.fingerprint import Fingerprint
    from seatrial.workload.partfile import PartFile

    made = {
        "workload-1.json": _schema(Workload, "seatrial/workload/1"),
        "profile-1.json": _schema(Fingerprint, "seatrial/profile/1"),
        "profile-partial-1.json": _schema(PartFile, "seatrial/profile-partial/1"),
    }
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in made.items()}


def write() -> None:
    """Write every schema into this folder."""
    for name, text in generate().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
