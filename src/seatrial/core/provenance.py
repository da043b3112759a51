"""Where an artifact comes from: written into every one of them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from seatrial._version import __version__


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Origin of one artifact.

    Attributes:
        tool_version: version of seatrial that wrote it.
        created_at: UTC, ISO 8601, whole seconds.
        inputs: name of each input -> its SHA-256.
        seeds: name of each random stream used -> its seed.
    """

    tool_version: str
    created_at: str
    inputs: dict[str, str]
    seeds: dict[str, int]


def now_utc() -> str:
    """The present moment in UTC, ISO 8601, whole seconds."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def provenance(
    inputs: dict[str, str] | None = None, seeds: dict[str, int] | None = None
) -> Provenance:
    """The provenance of something made now by this version."""
    return Provenance(
        tool_version=__version__,
        created_at=now_utc(),
        inputs=inputs or {},
        seeds=seeds or {},
    )
