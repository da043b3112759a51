"""The fixed prompt set: 64 short prompts of ten kinds, in our own words, shipped with the package.

``route`` says how a prompt is put: ``chat`` through the engine's chat route and its template, as
users do; ``text`` as a beginning to be continued, without a template. The set never changes
within a major version: its hash is in every collection, and answers to different sets are not
compared.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_value

_MOST_BYTES = 64 << 20


class Prompt(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One prompt: a unique id, its kind, the route it takes, its text."""

    id: str
    kind: str = "own"
    route: Literal["chat", "text"] = "chat"
    text: str


def fixed() -> list[Prompt]:
    """The shipped set."""
    data = resources.files("seatrial.quality").joinpath("prompts.jsonl").read_bytes()
    return msgspec.json.Decoder(Prompt).decode_lines(data)


def load(path: Path) -> list[Prompt]:
    """A user's own set: JSON lines of {"id", "text"[, "kind", "route"]}.

    Raises:
        UsageError: not there, too large, a line that is not a prompt, an id that stands twice.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(
                f"{path.name} is larger than {_MOST_BYTES >> 20} MiB",
                where=str(path),
                remedy="take a smaller sample of prompts",
            )
        prompts = msgspec.json.Decoder(Prompt).decode_lines(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"there is no prompt file {path.name}",
            where=str(path),
            remedy="name an existing JSON-lines file",
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path.name} is not a file of prompts: {error}",
            where=str(path),
            remedy='write one JSON object a line: {"id": "a1", "text": "..."}',
        ) from error
    ids = [prompt.id for prompt in prompts]
    if len(set(ids)) != len(ids) or not ids:
        raise UsageError(
            f"{path.name} holds {len(ids)} prompts and {len(set(ids))} different ids",
            where=str(path),
            remedy="give every prompt an id of its own",
        )
    return prompts


def fingerprint(prompts: list[Prompt]) -> str:
    """SHA-256 of the set, in its order."""
    return sha256_value(prompts)
