"""A figure: a Vega-Lite specification as a plain dict, the rows in it, and how they were got.

The table is the figure; the drawing is a view of it. Whoever shows a figure shows the rows and
the SQL as well, and where the drawing library is missing the rows are what is shown. ``basis``
says what kind of number it is: measured, interpolated and predicted look different everywhere.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Basis = Literal["measured", "interpolated", "predicted"]
Value = int | float | str | bool | None
Row = dict[str, Value]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of a figure's table: key in the rows, heading, unit (empty for none)."""

    key: str
    title: str
    unit: str = ""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    Attributes:
        id: file-name safe and unique within a dossier.
        title: what it shows, a few words.
        says: what a reader should take from it, one or two sentences.
        basis: what kind of number it is.
        columns, rows: the data, one dict a row.
        spec: Vega-Lite 6; its data is named ``rows`` and is the rows above. Empty where a figure
            is a table only.
        sql: what recomputes ``rows`` in the trial's folder, after the prelude.
    """

    id: str
    title: str
    says: str
    basis: Basis
    columns: list[Column]
    rows: list[Row]
    spec: dict[str, Any]
    sql: str
