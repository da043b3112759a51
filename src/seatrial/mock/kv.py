"""A paged KV cache with a prefix cache: blocks are shared by hash and evicted least recently used.

A block holds ``block_tokens`` tokens. A full block has a chained hash of everything up to its
end; a request whose prompt begins with cached blocks takes them over. Blocks nobody uses stay
until somebody needs the room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


def block_hashes(tokens: Sequence[int], block_tokens: int) -> list[int]:
    """Chained hashes of the full blocks of a prompt."""
    hashes = []
    parent = 0
    for end in range(block_tokens, len(tokens) + 1, block_tokens):
        parent = hash((parent, *tokens[end - block_tokens : end]))
        hashes.append(parent)
    return hashes


class KvCache:
    """Counts blocks; holds no tensors.

    ``free`` blocks hold nothing of use, ``idle`` ones hold a cached prefix, the rest are in use.
    """

    def __init__(self, blocks: int, *, prefix_cache: bool) -> None:
        self.blocks = blocks
        self.free = blocks
        self.prefix_cache = prefix_cache
        self._users: dict[int, int] = {}  # hash -> sequences that use it
        self._idle: OrderedDict[int, None] = OrderedDict()

    @property
    def used(self) -> int:
        """Blocks that a running sequence holds."""
        return self.blocks - self.free - len(self._idle)

    def match(self, hashes: Sequence[int]) -> int:
        """How many leading blocks are there already."""
        if not self.prefix_cache:
            return 0
        count = 0
        for value in hashes:
            if value not in self._users and value not in self._idle:
                break
            count += 1
        return count

    def acquire(self, hashes: Sequence[int]) -> None:
        """Use cached blocks (all of ``hashes`` must be there)."""
        for value in hashes:
            self._idle.pop(value, None)
            self._users[value] = self._users.get(value, 0) + 1

    def allocate(self, count: int) -> bool:
        """Take ``count`` anonymous blocks; evicts idle ones. False: there is no room."""
        if self.free + len(self._idle) < count:
            return False
        while self.free < count:
            self._idle.popitem(last=False)
            self.free += 1
        self.free -= count
        return True

    def publish(self, value: int) -> bool:
        """Give an anonymous block its hash; False if another holds that content already."""
        if not self.prefix_cache or value in self._users or value in self._idle:
            return False
        self._users[value] = 1
        return True

    def release(self, shared: Sequence[int], anonymous: int) -> None:
        """Give back a sequence's blocks: shared ones by hash (leaf first), others by number."""
        self.free += anonymous
        for value in reversed(shared):
            left = self._users[value] - 1
            if left:
                self._users[value] = left
            else:
                del self._users[value]
                self._idle[value] = None
