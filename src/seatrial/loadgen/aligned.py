"""Regular events of an answer in one compiled pass (numba, extra ``fast``).

The same rule as ``regular._Walk._aligned`` has in Python, a tenth of its time: a read is one chunk,
its size line in lower-case hex, with one event whose bytes around the text are the template's and
whose text needs no decoding. Loading numba and the function costs 1.5 s, so only long runs ask for
it, or those whose process has loaded numba already.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

Scan = Callable[..., tuple[int, int, int]]

WORTH_IT = 4_000_000
"""Events from which on a run's answers repay the loading of numba."""
_WORTH_THE_FUNCTION = 50_000
"""The same where numba is there and the function alone must be loaded."""

_MOST_DIGITS = 5  # of a chunk's size line


def compiled_for(events: int) -> Scan | None:
    """The compiled pass if so many events repay it in this process."""
    worth_it = _WORTH_THE_FUNCTION if "numba" in sys.modules else WORTH_IT
    return compiled() if events >= worth_it else None


def compiled() -> Scan | None:
    """The compiled pass, None where numba is not installed."""
    if importlib.util.find_spec("numba") is None:
        return None
    import numba

    scan: Scan = numba.njit(cache=True)(_scan)
    return scan


def _scan(  # type: ignore[no-untyped-def]
    data: Any, ends: Any, first: int, start: int, before: Any, after: Any, texts: Any
):
    """Take reads from ``first`` on as long as they fit.

    Args:
        data: uint8[bytes] of the answer. ends: int64[reads], where each read ends.
        start: where read ``first`` begins.
        before, after: uint8, what surrounds the text; ``after`` with the chunk's own line end.
        texts: uint8[at least the bytes of all texts], filled.

    Returns:
        Reads taken, where the next begins, and the bytes filled.
    """
    filled = 0
    taken = 0
    for i in range(first, ends.size):
        length = ends[i] - start
        digits = 1
        while digits <= _MOST_DIGITS and (length - digits - 4) >> (4 * digits) > 0:
            digits += 1
        size = length - digits - 4
        text = length - digits - 2 - before.size - after.size
        if digits > _MOST_DIGITS or text <= 0 or size >> (4 * (digits - 1)) == 0:
            break
        wrong = 0
        for k in range(digits):
            value = (size >> (4 * (digits - 1 - k))) & 15
            wrong |= data[start + k] ^ (value + 48 if value < 10 else value + 87)
        at = start + digits
        wrong |= data[at] ^ 13
        wrong |= data[at + 1] ^ 10
        at += 2
        # slices: an index that cannot be negative is what the compiler makes vectors of
        lead = data[at : at + before.size]
        for k in range(before.size):
            wrong |= lead[k] ^ before[k]
        tail = data[ends[i] - after.size : ends[i]]
        for k in range(after.size):
            wrong |= tail[k] ^ after[k]
        at += before.size
        words = data[at : at + text]
        room = texts[filled : filled + text]
        odd = False
        for k in range(text):
            byte = words[k]
            odd |= byte == 34 or byte == 92 or byte == 13 or byte == 10
            room[k] = byte
        if wrong or odd:
            break
        filled += text
        taken += 1
        start = ends[i]
    return taken, start, filled
