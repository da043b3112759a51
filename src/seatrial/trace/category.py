"""Categories: names become codes, and only harmless names remain names.

Clients and sessions never do. A model, adapter or outcome does if it looks like one: short,
printable, without the shape of a key, an address or an e-mail.
"""

from __future__ import annotations

import hashlib
import re

HIDDEN = frozenset(("client", "session"))
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+ -]{0,99}\Z", re.ASCII)
_SECRET = re.compile(
    r"(?i)(^|[^a-z])((sk|pk|rk|ghp|gho|hf|xox[abp])[-_][a-z0-9_-]{8,}|akia[a-z0-9]{12,}"
    r"|bearer |api.?key|password|secret|eyj[a-z0-9_-]{16,}"
    r"|\d{1,3}(\.\d{1,3}){3}\b|([0-9a-f]{1,4}:){4,})"
)


class Categories:
    """Codes 0, 1, ... in order of first appearance.

    Args:
        name: of the label. key: random bytes of this load; what is hidden is hashed with it.
    """

    def __init__(self, name: str, key: bytes) -> None:
        self._name = name
        self._key = key
        self._codes: dict[str | bytes, int] = {}

    def code(self, value: object) -> int:
        """The code of a value."""
        text = value if isinstance(value, str) else repr(value)
        if self._name in HIDDEN or not is_plain(text):
            data = text.encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(data, digest_size=16, key=self._key).digest()
            return self._codes.setdefault(digest, len(self._codes))
        return self._codes.setdefault(text, len(self._codes))

    def names(self) -> tuple[str, ...]:
        """One name per code: as written where harmless, else ``label-number``."""
        return tuple(
            key if isinstance(key, str) else f"{self._name}-{number}"
            for key, number in self._codes.items()
        )


def is_plain(text: str) -> bool:
    """Whether a name may be shown."""
    return bool(_PLAIN.match(text)) and not _SECRET.search(text)
