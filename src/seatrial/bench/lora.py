"""Which adapter a traced request asks for, in the words of the engine that is measured.

A trace names adapters; a server serves some. A traced name that is served is asked for as it is.
Others stand for served ones in turn, the most frequent first, so that the mix keeps its shape.
Served are the adapters that the engine was started with, or, at an endpoint, the models that name
another as their parent (vLLM's way) and every model whose name the trace uses. Where none is
served the base model answers, and that is an assumption of the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seatrial.engines import RunningEngine, http
from seatrial.trace.table import RequestTable

_BASE = {"", "none", "null", "base", "-"}


@dataclass(frozen=True, slots=True)
class Adapters:
    """``fields[code]`` go into the body of a request with that code; ``codes`` is per request."""

    codes: np.ndarray | None
    fields: list[dict[str, Any]]
    assumptions: list[str]

    def of(self, index: int) -> dict[str, Any]:
        """The fields of one request; empty for the base model."""
        code = -1 if self.codes is None else int(self.codes[index])
        return self.fields[code] if 0 <= code < len(self.fields) else {}


def adapters_for(table: RequestTable, engine: RunningEngine) -> Adapters:
    """The adapters of a table on this engine."""
    codes, names = table.label.get("adapter"), table.labels.get("adapter", ())
    wanted = [code for code, name in enumerate(names) if name.lower() not in _BASE]
    if codes is None or not wanted:
        return Adapters(None, [], [])
    served = [adapter.name for adapter in engine.settings.lora]
    others: list[str] = []
    if not served:
        served, others = _served(engine)
    fields: list[dict[str, Any]] = [{} for _ in names]
    if not served and not any(names[code] in others for code in wanted):
        says = f"none of the trace's {len(wanted)} adapters is served: the base model answers"
        return Adapters(codes, fields, [says])
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    turn = 0
    replaced = 0
    for code in sorted(wanted, key=lambda c: (-int(counts[c]), c)):
        name = names[code]
        if name in served or name in others:
            place = served.index(name) if name in served else 0
        elif served:
            place, turn = turn % len(served), turn + 1
            name = served[place]
            replaced += 1
        else:
            replaced += 1
            continue
        fields[code] = engine.adapter.lora_request(name, place)
    said = []
    if replaced and served:
        said = [f"{replaced} adapters of the trace are stood for by {len(served)} that are served"]
    elif replaced:
        said = [f"{replaced} adapters of the trace are not served: the base model answers"]
    return Adapters(codes, fields, said)


def _served(engine: RunningEngine) -> tuple[list[str], list[str]]:
    """(adapters, all models) that an endpoint lists."""
    answer = http.get(engine.base_url, engine.adapter.routes.models).json()
    data = answer.get("data") if isinstance(answer, dict) else None
    cards = [m for m in data if isinstance(m, dict)] if isinstance(data, list) else []
    named = [m for m in cards if isinstance(m.get("id"), str)]
    adapters = [m["id"] for m in named if isinstance(m.get("parent"), str) and m["parent"]]
    return adapters, [m["id"] for m in named if m["id"] != engine.model]
