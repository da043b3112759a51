"""What a prefix cache would have found, request by request.

The trace's block hashes are chained: an equal hash means an equal prefix. A cache of ``capacity``
blocks is walked in order of arrival; a request finds its leading blocks until the first miss, then
puts all of its blocks in, the last touched last (leaf first out). vLLM's block-hash cache and
SGLang's radix tree hold the same prefixes at this grain; they differ in the grain itself (one
token against one block), which a trace of blocks cannot tell. The order of arrival stands in for
the order of service: under a long queue the real cache is older.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from seatrial.trace.table import RequestTable


def cached_tokens(table: RequestTable, capacity_blocks: int | None) -> NDArray[np.int64] | None:
    """Prompt tokens of each request found in an LRU cache; None where the trace has no blocks.

    Args:
        capacity_blocks: size in blocks of the trace; None: unbounded.
    """
    if table.blocks is None or table.input_tokens is None:
        return None
    offsets, hashes = table.blocks.offsets, table.blocks.hashes
    block = table.blocks.block_tokens
    held: OrderedDict[int, None] = OrderedDict()
    found = np.zeros(table.n, dtype=np.int64)
    for request in range(table.n):
        chain = [int(h) for h in hashes[offsets[request] : offsets[request + 1]]]
        hits = 0
        while hits < len(chain) and chain[hits] in held:
            hits += 1
        found[request] = hits * block
        for name in reversed(chain):  # the root last: it is thrown out last
            held[name] = None
            held.move_to_end(name)
        while capacity_blocks is not None and len(held) > capacity_blocks:
            held.popitem(last=False)
    return np.clip(found, 0, np.maximum(table.input_tokens, 1) - 1)
