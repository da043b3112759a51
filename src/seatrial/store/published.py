"""The JSON schema of a published document, generated from its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def published(
    documents: Mapping[str, type[msgspec.Struct]], name: str, *, named: str = "title"
) -> dict[str, Any]:
    """The JSON schema of one document.

    Args:
        documents: file name of each schema (``plan-1.json``) -> its record.
        named: the key that carries the document's own name (``seatrial/plan/1``).
    """
    schema = msgspec.json.schema(documents[name])
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema[named] = f"seatrial/{name.removesuffix('.json').rpartition('-')[0]}/1"
    return schema
