"""A model on the hub: its configuration and the headers of its weights, never the weights.

``fetch`` copies config.json and its like, and of each safetensors file only the header (a byte
range), into the cache; ``read`` then sees a model whose weights are elsewhere. The address comes
from ``HF_ENDPOINT``; a token is sent only if ``HF_TOKEN`` is set, and public models need none.
Everything is bounded: sizes, number of files, time.
"""

from __future__ import annotations

import json
import os
import re
import struct
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.core.folders import cache_dir
from seatrial.core.progress import Progress, Silent
from seatrial.model.place import HUB_ID, is_hub_id
from seatrial.model.safetensors_file import MAX_HEADER_BYTES
from seatrial.store import whole_folder, write_bytes

__all__ = ["HUB_ID", "fetch", "is_hub_id"]

DEFAULT_ENDPOINT = "https://huggingface.co"
SMALL = (
    "config.json",
    "generation_config.json",
    "hf_quant_config.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "model.safetensors.index.json",
    "adapter_config.json",
    "README.md",
)
MAX_SMALL, MAX_FILES, TIMEOUT_S = 64 << 20, 400, 20.0


def fetch(name: str, revision: str | None = None, *, progress: Progress | None = None) -> Path:
    """The folder in the cache that describes this model; made at the first call.

    Raises:
        UsageError: no such model or revision, or one that is not public.
        PrerequisiteError: the hub cannot be reached.
    """
    progress = progress or Silent()
    listing = _json(f"/api/models/{name}/revision/{_quoted(revision or 'main')}", name)
    commit = str(listing.get("sha") or revision or "main")[:64]
    target = cache_dir() / "hub" / name.replace("/", "--") / re.sub(r"[^\w.-]", "-", commit)
    if target.is_dir():
        return target
    files = [
        str(s.get("rfilename", "")) for s in listing.get("siblings", []) if isinstance(s, dict)
    ]
    weights = [f for f in files if f.endswith(".safetensors") and "/" not in f][:MAX_FILES]
    if "config.json" not in files:
        raise UsageError(
            f"{name} has no config.json at its top",
            where=f"hub {name}",
            remedy="download the GGUF or the folder that is meant and give its path",
        )
    with whole_folder(target) as folder:
        for small in (s for s in SMALL if s in files):
            write_bytes(folder / small, _get(_file(name, commit, small), name, limit=MAX_SMALL))
        for number, file in enumerate(weights):
            progress.amount("hub", number, len(weights), "headers")
            write_bytes(folder / file, _header(_file(name, commit, file), name))
    return target


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _file(name: str, commit: str, file: str) -> str:
    return f"/{name}/resolve/{_quoted(commit)}/{urllib.parse.quote(file)}"


def _header(path: str, name: str) -> bytes:
    """The length and the JSON of a safetensors header, by range."""
    head = _get(path, name, limit=8, span=(0, 7))
    length = struct.unpack("<Q", head)[0] if len(head) == 8 else 1 << 62
    if length > MAX_HEADER_BYTES:
        raise UsageError(
            f"{name}: a header of {length} bytes",
            where=path,
            remedy="this is no safetensors file: look at the repository by hand",
        )
    return head + _get(path, name, limit=int(length), span=(8, 7 + int(length)))


def _json(path: str, name: str) -> dict[str, Any]:
    try:
        value = json.loads(_get(path, name, limit=MAX_SMALL))
    except (ValueError, RecursionError) as error:
        raise PrerequisiteError(
            "the hub's answer is no JSON", where=path, remedy="check HF_ENDPOINT and proxies"
        ) from error
    return value if isinstance(value, dict) else {}


def _get(path: str, name: str, *, limit: int, span: tuple[int, int] | None = None) -> bytes:
    """At most ``limit`` bytes of a resource; a server that ignores the range is cut short."""
    endpoint = os.environ.get("HF_ENDPOINT", DEFAULT_ENDPOINT).rstrip("/")
    if not endpoint.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise UsageError(
            "HF_ENDPOINT is no https address", where=endpoint, remedy="set it to https://HOST"
        )
    headers = {"User-Agent": "seatrial"}
    if token := os.environ.get("HF_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    if span is not None:
        headers["Range"] = f"bytes={span[0]}-{span[1]}"
    request = urllib.request.Request(endpoint + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            if span is not None and answer.status == 200:
                answer.read(span[0])
            data: bytes = answer.read(limit)
            return data
    except urllib.error.HTTPError as error:
        raise UsageError(
            f"the hub answers {error.code} for {name}",
            where=path,
            remedy="check the id and the revision; for a private model set HF_TOKEN, or give a "
            "local folder",
        ) from error
    except OSError as error:
        raise PrerequisiteError(
            f"the hub cannot be reached: {str(error)[:120]}",
            where=endpoint,
            remedy="give a local folder with config.json, or set HF_ENDPOINT to a mirror",
        ) from error
