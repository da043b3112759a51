"""Any OpenAI-compatible server."""

from __future__ import annotations

from seatrial.mock.dialect import Dialect

DIALECT = Dialect()
