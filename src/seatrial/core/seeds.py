"""Named random streams from one master seed.

Each subsystem draws from a stream of its own ("arrivals", "prompts", "order", "bootstrap"), so
that adding a draw in one leaves the others as they were, and the same seed gives the same bytes.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


def derive_seed(master: int, *names: str | int) -> int:
    """A 64-bit seed for the stream with this name under ``master``."""
    text = "/".join([str(master), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def stream(master: int, *names: str | int) -> Generator:
    """A numpy generator for the stream with this name under ``master``."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(derive_seed(master, *names)))
