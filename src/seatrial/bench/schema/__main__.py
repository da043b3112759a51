"""Write the schemas anew."""

from __future__ import annotations

from seatrial.bench.schema import DOCUMENTS, folder, schema_of
from seatrial.store import write

for name in DOCUMENTS:
    write(folder() / name, schema_of(name))
