"""Artefacts, whatever they are: a list of members and their bytes.

    RemoteWheel   a wheel on an index, members by byte range; its hash is the index's word
    LocalWheel    a wheel file; hashed, so verified
    Sdist         a .tar.gz file; hashed, so verified
    Tree          a folder: a source tree at a named commit, or an installed environment

``read`` raises KeyError for a member that is not there. A wheel's RECORD holds a hash for every
member (PEP 427); ``checked`` says whether the bytes read agree with it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Protocol

from seatrial.core.errors import IntegrityError, UsageError
from seatrial.core.folders import cache_dir
from seatrial.core.ids import sha256_bytes, sha256_file
from seatrial.facts.factfile import ArtefactRef
from seatrial.facts.reach.http import Client
from seatrial.facts.reach.index import ReleaseFile
from seatrial.facts.reach.zipfile_range import RangeZip
from seatrial.store import write_bytes

MEMBER_MAX = 32 << 20
_TREE_FILES_MAX = 200_000
_SMALL = 1 << 20
_SMALL_TOTAL = 256 << 20
_SOURCE = (".py", ".cpp", ".h", ".hpp", ".cu", ".cuh", ".txt", ".go", ".rs", ".json", "PKG-INFO")


class Artefact(Protocol):
    """What extractors read from."""

    @property
    def ref(self) -> ArtefactRef:
        """Name, hash, integrity."""

    @property
    def names(self) -> list[str]:
        """Paths of all members, forward slashes, no leading folder of an sdist."""

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Bytes of these members; those that are not there are left out."""

    def checked(self, path: str, data: bytes) -> bool:
        """Whether these bytes agree with a hash inside the artefact."""


class Wheel:
    """A wheel behind byte ranges, local or remote."""

    def __init__(self, ref: ArtefactRef, archive: RangeZip, cache: Path | None = None) -> None:
        self.ref = ref
        self._zip = archive
        self._cache = cache

    @property
    def names(self) -> list[str]:
        """All members."""
        return list(self._zip.entries)

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Members from the cache where they are there whole, else by range, checked."""
        found: dict[str, bytes] = {}
        missing = []
        for path in paths:
            entry = self._zip.entries.get(path)
            if entry is None:
                continue
            kept = self._kept(path)
            if kept is not None and len(kept) == entry.size and zlib.crc32(kept) == entry.crc:
                found[path] = kept
            else:
                missing.append(path)
        for path, data in self._zip.read_many(missing, limit=MEMBER_MAX).items():
            found[path] = data
            if self._cache is not None:
                write_bytes(self._place(self._cache, path), data)
        return found

    def size(self, path: str) -> int:
        """Unpacked size of a member in bytes. KeyError if it is not there."""
        return self._zip.entries[path].size

    def stream(self, path: str) -> Iterator[bytes]:
        """A member of any size in pieces; not kept in the cache."""
        return self._zip.stream(path)

    def _place(self, cache: Path, path: str) -> Path:
        return cache / (hashlib.blake2b(path.encode(), digest_size=16).hexdigest() + ".member")

    def _kept(self, path: str) -> bytes | None:
        if self._cache is None:
            return None
        try:
            return self._place(self._cache, path).read_bytes()
        except OSError:
            return None

    @cached_property
    def _record(self) -> dict[str, str]:
        """Member -> urlsafe base64 of its SHA-256, from RECORD; {} if the wheel has none."""
        names = [n for n in self.names if n.endswith(".dist-info/RECORD") and n.count("/") == 1]
        if not names:
            return {}
        raw = self.read_many(names[:1])[names[0]]
        table = {}
        for line in csv.reader(io.StringIO(raw.decode("utf-8", "replace"))):
            if len(line) >= 2 and line[1].startswith("sha256="):
                table[line[0]] = line[1].removeprefix("sha256=")
        return table

    def checked(self, path: str, data: bytes) -> bool:
        """Whether RECORD agrees. Raises IntegrityError if it disagrees."""
        claimed = self._record.get(path)
        if claimed is None:
            return False
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if digest != claimed.rstrip("="):
            raise IntegrityError(
                f"{path} does not match the wheel's own RECORD",
                where=self.ref.name,
                unchanged="no fact was taken from it",
                remedy="download the wheel again and compare its hash with the publisher's",
            )
        return True


def remote_wheel(file: ReleaseFile, client: Client, *, cache: Path | None = None) -> Wheel:
    """A wheel on an index, read by ranges; directory and members are kept in the cache."""
    folder = (cache or cache_dir()) / "artefacts" / (file.sha256 or sha256_bytes(file.url.encode()))
    size = file.size if file.size is not None else _remote_size(file, client)
    reader = _CachedTail(file.url, client, folder, size)
    archive = RangeZip(reader.read, size, file.name)
    reader.done()
    ref = ArtefactRef(name=file.name, sha256=file.sha256, integrity="claimed", size=size)
    return Wheel(ref, archive, folder)


class _CachedTail:
    """Byte ranges of a remote file; those read for the directory are kept as one file."""

    def __init__(self, url: str, client: Client, folder: Path, size: int) -> None:
        self._url, self._client, self._folder, self._size = url, client, folder, size
        self._parts: dict[tuple[int, int], bytes] = {}
        self._keeping = True
        self._tail = b""
        try:
            self._tail = (folder / "directory").read_bytes()
        except OSError:
            self._tail = b""

    def read(self, start: int, stop: int) -> bytes:
        begin = self._size - len(self._tail)
        if self._tail and start >= begin:
            return self._tail[start - begin : stop - begin]
        data = self._client.get_range(self._url, start, stop)
        if self._keeping:
            self._parts[start, stop] = data
        return data

    def done(self) -> None:
        """The directory is read: keep its bytes, so that the next time needs no request."""
        self._keeping = False
        parts = sorted(self._parts.items())
        self._parts = {}
        joined = b"".join(data for _, data in parts)
        if joined and len(joined) == self._size - parts[0][0][0]:
            write_bytes(self._folder / "directory", joined)


def _remote_size(file: ReleaseFile, client: Client) -> int:
    answer = client.get(file.url, headers={"Range": "bytes=0-0"}, limit=1 << 16)
    total = answer.headers.get("content-range", "").rpartition("/")[2]
    if answer.status != 206 or not total.isdigit():
        raise UsageError(
            "the server of this wheel does not serve byte ranges",
            where=file.name,
            remedy="download it with pip download --no-deps and give the file's path",
        )
    return int(total)


def local_wheel(path: Path) -> Wheel:
    """A wheel file, hashed as a whole."""
    size = path.stat().st_size

    def read(start: int, stop: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(stop - start)

    ref = ArtefactRef(name=path.name, sha256=sha256_file(path), integrity="verified", size=size)
    return Wheel(ref, RangeZip(read, size, str(path)))


class Sdist:
    """A .tar.gz file, hashed as a whole.

    A tar has no directory, so every look goes through all of it: source files of up to 1 MiB are
    kept in memory at the first one (256 MiB at most in total), larger members are read again.
    """

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._path = path
        self.ref = ArtefactRef(
            name=name or path.name,
            sha256=sha256_file(path),
            integrity="verified",
            size=path.stat().st_size,
        )

    @cached_property
    def _sizes(self) -> dict[str, int]:
        sizes: dict[str, int] = {}
        for member, _ in self._walk(()):
            sizes[_inside(member.name)] = member.size
        return sizes

    @property
    def names(self) -> list[str]:
        """All regular members, without the sdist's own top folder."""
        return list(self._sizes)

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Small members from memory, the others in one pass over the archive."""
        wanted = {p for p in paths if p in self._sizes}
        found = {p: self._small[p] for p in wanted if p in self._small}
        if rest := wanted - found.keys():
            found |= {_inside(m.name): d for m, d in self._walk(rest) if d is not None}
        return found

    @cached_property
    def _small(self) -> dict[str, bytes]:
        kept, total = set(), 0
        for path, size in self._sizes.items():
            if size <= _SMALL and path.endswith(_SOURCE) and total + size <= _SMALL_TOTAL:
                kept.add(path)
                total += size
        return {_inside(m.name): d for m, d in self._walk(kept) if d is not None}

    def checked(self, path: str, data: bytes) -> bool:
        """The whole file was hashed: every member is covered by that."""
        return True

    def _walk(self, wanted: Iterable[str]) -> Iterable[tuple[tarfile.TarInfo, bytes | None]]:
        names = set(wanted)
        try:
            with tarfile.open(self._path, "r|gz") as archive:
                for count, member in enumerate(archive):
                    self._check(member, count)
                    if not member.isreg():
                        continue
                    data = None
                    if _inside(member.name) in names:
                        if member.size > MEMBER_MAX:
                            raise self._bad(f"{member.name!r} holds {member.size} bytes")
                        stream = archive.extractfile(member)
                        data = stream.read(MEMBER_MAX) if stream else b""
                    if data is not None or not names:
                        yield member, data
        except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise self._bad(str(error)) from error

    def _check(self, member: tarfile.TarInfo, count: int) -> None:
        parts = member.name.split("/")
        if member.name.startswith("/") or ".." in parts:
            raise self._bad(f"a member's name leaves the archive: {member.name!r}")
        if count > _TREE_FILES_MAX:
            raise self._bad("it holds too many members")

    def _bad(self, why: str) -> IntegrityError:
        return IntegrityError(
            f"not a sound sdist: {why}",
            where=str(self._path),
            unchanged="no fact was taken from it",
            remedy="download it again, or compare its hash with the publisher's",
        )


def _inside(name: str) -> str:
    """A member's path without the sdist's top folder."""
    return name.partition("/")[2] or name


def remote_sdist(file: ReleaseFile, client: Client, *, cache: Path | None = None) -> Sdist:
    """An sdist on an index: downloaded whole (resumed where it stopped), hash compared."""
    folder = (cache or cache_dir()) / "artefacts" / (file.sha256 or sha256_bytes(file.url.encode()))
    target = folder / "artefact.tar.gz"
    if not target.exists():
        download(file, client, target)
    return Sdist(target, name=file.name)


def download(file: ReleaseFile, client: Client, target: Path, *, block: int = 8 << 20) -> None:
    """Fetch a whole file in blocks of 8 MiB; a block that is there already is not asked again.

    Raises:
        IntegrityError: the whole does not match the hash that the index claims.
    """
    size = file.size if file.size is not None else _remote_size(file, client)
    part = target.with_suffix(".part")
    target.parent.mkdir(parents=True, exist_ok=True)
    have = part.stat().st_size if part.exists() else 0
    with part.open("ab") as out:
        for start in range(have, size, block):
            out.write(client.get_range(file.url, start, min(size, start + block)))
    found = sha256_file(part)
    if file.sha256 and found != file.sha256:
        part.unlink()
        raise IntegrityError(
            f"{file.name} has another hash than the index claims",
            where=f"claimed {file.sha256}, found {found}",
            unchanged="the file was thrown away",
            remedy="try again; if it repeats, do not trust this mirror",
        )
    part.replace(target)


class Tree:
    """A folder: a source tree, or an installed environment's site-packages."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.ref = ArtefactRef(name=name, integrity="tree")

    @cached_property
    def names(self) -> list[str]:
        """All files below, version-control folders left out, links not followed."""
        found: list[str] = []
        for base, folders, files in os.walk(self._folder):
            folders[:] = sorted(f for f in folders if f not in (".git", ".hg", "__pycache__"))
            inside = Path(base).relative_to(self._folder).as_posix()
            prefix = "" if inside == "." else f"{inside}/"
            found.extend(prefix + file for file in sorted(files))
            if len(found) > _TREE_FILES_MAX:
                raise UsageError(
                    f"more than {_TREE_FILES_MAX} files",
                    where=str(self._folder),
                    remedy="give the engine's own folder, not one above it",
                )
        return found

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Files inside the folder; links that lead out of it are left out."""
        root = self._folder.resolve()
        found = {}
        for path in paths:
            place = (self._folder / path).resolve()
            if root not in place.parents or not place.is_file():
                continue
            with place.open("rb") as file:
                found[path] = file.read(MEMBER_MAX)
        return found

    def checked(self, path: str, data: bytes) -> bool:
        """A folder carries no hash of its own."""
        return False
