"""One fact: one claim about one engine at one version, with where it stands and until when.

A fact is what can be checked by opening one file at one line. ``extracted`` facts come from a
released artefact by a static reader; ``documented`` ones are entered by hand with their source
where no artefact holds them. Several facts may speak of the same subject (a registry, a command
line, a document): they are all kept, ``rank`` says which one weighs more, and none is dropped.

The id is made of the claim itself, so it stays the same when the same claim is read again and
changes when the claim changes.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import Any, Literal

import msgspec

PREDICATES: tuple[str, ...] = (
    "architecture",
    "quantization",
    "weight_format",
    "min_capability",
    "act_dtypes",
    "kv_cache_dtype",
    "flag",
    "route",
    "metric",
    "structured_output_backend",
    "speculative_method",
    "kv_connector",
    "attention_backend",
    "cuda_targets",
    "requires",
    "log_signature",
    "excludes",
    "lora_limit",
    "supports",
    "maintenance",
    "memory_management",
    "scheduling",
    "kernel_source",
    "school",
    "platform",
    "default",
    "license",
    "reasoning_parser",
    "tool_call_parser",
    "school",
)
"""Every predicate there is; ``docs/method/facts.md`` says what subject and value mean in each."""

State = Literal[
    "extracted",
    "documented",
    "conditional",
    "unresolved",
    "extractor-stale",
    "contradicted",
    "probed",
    "expired",
]

RANK: dict[str, int] = {
    "probe": 6,
    "binary": 5,
    "code": 4,
    "cli": 3,
    "documentation": 2,
    "discussion": 1,
}
"""Live probe > binary > code gate > CLI choice > documentation > discussion."""

EXPIRY_DAYS = 14


def current_day() -> datetime.date:
    """The day against which facts are aged where the caller names none."""
    return datetime.date.today()


class Source(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where a claim stands.

    Attributes:
        artefact: file name of the wheel or sdist, or ``repository@commit``, or a document's name.
        member: path inside it, "" for the artefact as a whole.
        line: 1-based line of the member, None where there are none (metadata, binaries).
        sha256: of the artefact, as the index claims it or as checked ("" for a source tree).
        integrity: ``claimed`` (the index's word, range read), ``verified`` (whole file hashed),
            ``tree`` (a commit), ``document`` (entered by hand).
        member_sha256: of the member's bytes as read, "" for documents.
        member_checked: the member's hash agreed with the wheel's own RECORD.
        kind: what sort of evidence, a key of ``RANK``.
    """

    artefact: str
    member: str
    line: int | None
    sha256: str
    integrity: Literal["claimed", "verified", "tree", "document"]
    kind: str
    member_sha256: str = ""
    member_checked: bool = False


class Fact(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One claim.

    Attributes:
        id: ``ENGINE==VERSION/PREDICATE/SUBJECT~HASH``; resolves in the store and in facts.json.
        subject: as the engine spells it.
        value: as the predicate defines it (``docs/method/facts.md``).
        condition: what must hold for it, as text; None for unconditional.
        layer: a part of the engine that it is about (``turbomind``, ``pytorch``), or None.
        detail: more from the same place: module, class, last good version, default, choices.
        verified_on: day it was read, ISO date. expires: day after which it must be read again.
        extractor: name and version of the reader, "hand" for documented ones.
        since, until: documented facts: first version in which it holds, first in which no more.
    """

    id: str
    engine: str
    version: str
    subject: str
    predicate: str
    value: Any
    condition: str | None
    layer: str | None
    state: State
    source: Source
    extractor: str
    verified_on: str
    expires: str
    detail: dict[str, Any] = {}
    since: str | None = None
    until: str | None = None

    @property
    def rank(self) -> int:
        """Weight of its kind of evidence; higher wins where facts disagree."""
        return RANK.get(self.source.kind, 0)

    def expired(self, today: datetime.date | None = None) -> bool:
        """Whether its day has passed (a newer release expires it as well: ``FactSet.stale``)."""
        return (today or current_day()).isoformat() > self.expires


def fact_id(
    engine: str,
    version: str,
    predicate: str,
    subject: str,
    value: Any,
    condition: str | None,
    layer: str | None,
) -> str:
    """The id of a claim: readable, and eight hex digits of its value, condition and layer."""
    rest = msgspec.json.encode([value, condition, layer])
    digest = hashlib.blake2b(rest, digest_size=4).hexdigest()
    return f"{engine}=={version}/{predicate}/{subject}~{digest}"


def expiry(verified_on: str) -> str:
    """The day a claim read on ``verified_on`` has to be read again."""
    day = datetime.date.fromisoformat(verified_on) + datetime.timedelta(days=EXPIRY_DAYS)
    return day.isoformat()
