"""A table of requests as a Mooncake trace: one JSON object a line, times in milliseconds.

Fields: timestamp, input_length, output_length, hash_ids (512-token blocks in Mooncake's own
traces; ours keep the block size they came with, which the caller must state beside the file).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from seatrial.core.errors import UsageError
from seatrial.trace.table import RequestTable


def mooncake_lines(table: RequestTable) -> Iterator[str]:
    """The lines of the trace, each with its line end.

    Raises:
        UsageError: the table has no arrival times or no lengths.
    """
    arrivals, inputs, outputs = table.arrival_ns, table.input_tokens, table.output_tokens
    if arrivals is None or inputs is None or outputs is None:
        raise UsageError(
            "a Mooncake trace needs arrival times and both lengths",
            where=table.format,
            remedy="give a trace that has them",
        )
    for i in range(table.n):
        row: dict[str, object] = {
            "timestamp": round(int(arrivals[i]) / 1e6),
            "input_length": max(0, int(inputs[i])),
            "output_length": max(0, int(outputs[i])),
        }
        if table.blocks is not None:
            start, stop = table.blocks.offsets[i], table.blocks.offsets[i + 1]
            row["hash_ids"] = [int(h) for h in table.blocks.hashes[start:stop]]
        yield json.dumps(row, separators=(",", ":")) + "\n"
