"""Write the schemas anew."""

from __future__ import annotations

from seatrial.store import write
from seatrial.trial.schema import DOCUMENTS, folder, schema_of

for name in DOCUMENTS:
    write(folder() / name, schema_of(name))
