"""A package index: the files of one project, through the simple repository API.

JSON first (PEP 691, with size and upload time of PEP 700), HTML (PEP 503) where a private index
has only that. A ``file:`` address is a folder laid out the same way. Answers are kept for ten
minutes in the cache, and beyond that with ``offline``: an old answer is better than none, and is
said to be old.
"""

from __future__ import annotations

import html.parser
import re
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import IntegrityError, PrerequisiteError
from seatrial.core.folders import cache_dir
from seatrial.core.ids import sha256_value
from seatrial.facts import version as order
from seatrial.facts.reach.http import Client
from seatrial.facts.reach.settings import Settings, read_settings
from seatrial.store import write_bytes

_JSON = "application/vnd.pypi.simple.v1+json"
_ACCEPT = f"{_JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_FRESH_S = 600.0
_PAGE_MAX = 64 << 20


class ReleaseFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a release. ``uploaded``: day, None where the index does not say."""

    name: str
    url: str
    version: str
    sha256: str
    size: int | None
    uploaded: str | None
    requires_python: str | None
    yanked: bool

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel (else an sdist)."""
        return self.name.endswith(".whl")


class Index:
    """The indexes that this machine is set up to use."""

    def __init__(
        self,
        *,
        client: Client | None = None,
        settings: Settings | None = None,
        cache: Path | None = None,
        offline: bool = False,
    ) -> None:
        self._settings = settings
        self._client = client
        self._cache = (cache or cache_dir()) / "index"
        self._offline = offline
        self._projects: dict[str, list[ReleaseFile]] = {}

    @property
    def settings(self) -> Settings:
        """Addresses in use; asks pip on first use."""
        if self._settings is None:
            self._settings = read_settings()
        return self._settings

    @property
    def client(self) -> Client:
        """The one connection keeper of this index."""
        if self._client is None:
            self._client = Client(cafile=self.settings.cafile)
        return self._client

    def files(self, project: str) -> list[ReleaseFile]:
        """Files of a project that are not yanked, of the first index that has it.

        Raises:
            PrerequisiteError: no index has it, or none can be read.
        """
        if project not in self._projects:
            page = self._page(project)
            found = [f for f in page if not f.yanked]
            self._projects[project] = sorted(found, key=lambda f: order.key(f.version))
        return self._projects[project]

    def versions(self, project: str) -> list[str]:
        """Versions that have a file, oldest first."""
        return list(dict.fromkeys(f.version for f in self.files(project)))

    def _page(self, project: str) -> list[ReleaseFile]:
        place = self._cache / f"{sha256_value([project, self._addresses()])[:16]}.json"
        kept = _kept(place, None if self._offline else _FRESH_S)
        if kept is not None:
            return kept
        if self._offline:
            raise PrerequisiteError(
                f"offline, and the index's answer for {project} was never kept",
                where=project,
                remedy="run facts sync once with a network, or give a local file or folder",
            )
        for index in self.settings.indexes:
            found = self._ask(index, project)
            if found:
                write_bytes(place, msgspec.json.encode(found))
                return found
        raise PrerequisiteError(
            f"no package index here has {project}",
            where=f"{len(self.settings.indexes)} addresses from {self.settings.said_by}",
            remedy="check pip's index settings, or give a local wheel, sdist or folder",
        )

    def _addresses(self) -> list[str]:
        return ["any"] if self._offline and self._settings is None else []

    def _ask(self, index: str, project: str) -> list[ReleaseFile]:
        name = re.sub(r"[-_.]+", "-", project).lower()
        base = f"{index}/{name}/"
        if index.startswith("file:"):
            return _local_page(base)
        answer = self.client.get(base, headers={"Accept": _ACCEPT}, limit=_PAGE_MAX)
        if answer.status == 404:
            return []
        if answer.status != 200:
            raise PrerequisiteError(
                f"the package index answered HTTP {answer.status} for {project}",
                where=self.settings.said_by,
                remedy="check the index's address and credentials in pip's settings",
            )
        if "json" in answer.headers.get("content-type", ""):
            return parse_json(answer.body, answer.url)
        return parse_html(answer.body.decode("utf-8", "replace"), answer.url)


def _kept(place: Path, fresh_s: float | None) -> list[ReleaseFile] | None:
    """The kept answer, if there is one and it is young enough (None: any age)."""
    try:
        if fresh_s is not None and time.time() - place.stat().st_mtime > fresh_s:
            return None
        return msgspec.json.decode(place.read_bytes(), type=list[ReleaseFile])
    except (OSError, msgspec.DecodeError):
        return None


class _JsonFile(msgspec.Struct, kw_only=True, rename="kebab"):
    filename: str
    url: str
    hashes: dict[str, str] = {}
    size: int | None = None
    upload_time: str | None = None
    requires_python: str | None = None
    yanked: bool | str = False


class _JsonPage(msgspec.Struct, kw_only=True):
    files: list[_JsonFile]


def parse_json(data: bytes, base: str) -> list[ReleaseFile]:
    """Files of a PEP 691 page. Raises IntegrityError if it is not one."""
    try:
        page = msgspec.json.decode(data, type=_JsonPage)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise IntegrityError(
            f"the index's page is not what PEP 691 says: {error}",
            where="package index",
            remedy="check the index's address in pip's settings",
        ) from error
    return [
        made
        for f in page.files
        if (
            made := _file(
                f.filename,
                urllib.parse.urljoin(base, f.url),
                f.hashes.get("sha256", ""),
                size=f.size,
                uploaded=(f.upload_time or "")[:10] or None,
                requires_python=f.requires_python,
                yanked=bool(f.yanked),
            )
        )
    ]


class _Anchors(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append({k: v or "" for k, v in attrs})


def parse_html(text: str, base: str) -> list[ReleaseFile]:
    """Files of a PEP 503 page: anchors with ``#sha256=`` and data attributes."""
    parser = _Anchors()
    parser.feed(text)
    files = []
    for anchor in parser.found:
        url, _, fragment = urllib.parse.urljoin(base, anchor.get("href", "")).partition("#")
        name = urllib.parse.unquote(url.rpartition("/")[2])
        made = _file(
            name,
            url,
            fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else "",
            requires_python=anchor.get("data-requires-python"),
            yanked="data-yanked" in anchor,
        )
        if made:
            files.append(made)
    return files


def _local_page(base: str) -> list[ReleaseFile]:
    folder = Path(urllib.request.url2pathname(urllib.parse.urlsplit(base).path))
    page = folder / "index.html"
    if page.is_file():
        return parse_html(page.read_text("utf-8", "replace")[:_PAGE_MAX], base)
    if not folder.is_dir():
        return []
    names = (p.name for p in sorted(folder.iterdir()) if p.is_file())
    return [m for n in names if (m := _file(n, urllib.parse.urljoin(base, n), ""))]


def _file(name: str, url: str, sha256: str, **more: Any) -> ReleaseFile | None:
    """A release file, None if its name is no wheel's or sdist's or carries a path."""
    version = version_in(name)
    if version is None or "/" in name or "\\" in name:
        return None
    fields: dict[str, Any] = {
        "size": None,
        "uploaded": None,
        "requires_python": None,
        "yanked": False,
        **more,
    }
    return ReleaseFile(name=name, url=url, version=version, sha256=sha256, **fields)


def version_in(name: str) -> str | None:
    """The version in a wheel's or sdist's file name (PEP 427, PEP 625)."""
    if name.endswith(".whl"):
        parts = name.removesuffix(".whl").split("-")
        return parts[1] if len(parts) in (5, 6) else None
    for suffix in (".tar.gz", ".zip"):
        if name.endswith(suffix):
            return name.removesuffix(suffix).rpartition("-")[2] or None
    return None
