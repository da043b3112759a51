"""Prefix-cache hits that the trace does not have: a warm cache by accident voids a cell.

Where a trace has neither prefix blocks nor sessions, no two prompts share anything but the chat
template, so at most template and one block may come from the cache. Hits beyond that mean that
somebody sent these prompts before.
"""

from __future__ import annotations

import numpy as np

from seatrial.loadgen.lexicon import Lexicon
from seatrial.loadgen.records import Records
from seatrial.trace.table import RequestTable

BLOCK_TOKENS = 64
ALLOWED_SHARE = 0.02


def accidental_share(records: Records, lexicon: Lexicon) -> float | None:
    """Share of the input tokens that were cached beyond template and one block; None: not told."""
    cached, inputs = records.ints["cached_tokens"], records.ints["input_tokens"]
    told = (cached >= 0) & (inputs > 0)
    if not told.any():
        return None
    beyond = np.maximum(0, cached[told] - lexicon.overhead - BLOCK_TOKENS)
    return float(beyond.sum() / inputs[told].sum())


def reasons(records: Records, lexicon: Lexicon, table: RequestTable) -> list[str]:
    """Why the cell is void; empty where sharing is the trace's own or nothing was shared."""
    own = not lexicon.words  # a file's own bodies may share what they like
    if own or table.blocks is not None or table.session is not None:
        return []
    share = accidental_share(records, lexicon)
    if share is None or share <= ALLOWED_SHARE:
        return []
    return [
        f"{share:.0%} of the input tokens came from the prefix cache although the trace shares"
        " none: these prompts had been sent to this server before"
    ]
