"""Files as byte streams: globs, folders, gzip, bzip2, xz, zstd and tar are read through.

Nothing is unpacked to disk and nothing is held whole: a stream is read once, in order, with a
bound on the size of a line and on what a compressed file may grow to (a bomb is an error, not a
full memory). Members of an archive keep their base name only.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from seatrial.core.errors import UsageError

if TYPE_CHECKING:
    Stream = io.BufferedReader[io.RawIOBase]

MAX_LINE = 64 << 20
MAX_DOCUMENT = 1 << 30
MAX_MEMBERS = 200_000
HEAD = 256 << 10
_GROWTH = 1000
_GROWTH_FREE = 1 << 30
_PROSE = {".md", ".rst", ".html", ".pdf", ".png", ".svg"}
_ABOUT = {"README", "LICENSE", "LICENCE", "NOTICE", "SOURCES", "CITATION", "SHA256SUMS"}
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
STREAM_ERRORS = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a trace, or one member of an archive: a base name and a stream, read once."""

    name: str
    folder: str
    stream: Stream
    path: Path | None = None

    def head(self) -> bytes:
        """The first bytes, without moving on."""
        return self.stream.peek(HEAD)[:HEAD]

    def lines(self) -> Iterator[tuple[int, bytes | None]]:
        """(1-based number, line without its end); None for a line over ``MAX_LINE``."""
        number = 0
        while line := self.stream.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE and not line.endswith(b"\n"):
                while rest := self.stream.readline(MAX_LINE):
                    if rest.endswith(b"\n"):
                        break
                yield number, None
            else:
                yield number, line.rstrip(b"\r\n")

    def document(self) -> bytes:
        """All of it, bounded.

        Raises:
            UsageError: larger than ``MAX_DOCUMENT``.
        """
        data = self.stream.read(MAX_DOCUMENT + 1)
        if len(data) > MAX_DOCUMENT:
            raise UsageError(
                "one JSON document of more than 1 GiB",
                where=self.name,
                remedy="write it as JSON lines (one object per line), or split it",
            )
        return data


class _Guard(io.RawIOBase):
    """Counts what comes out of a decompressor (or an archive) against what went in."""

    def __init__(self, inner: BinaryIO, compressed: int, name: str) -> None:
        self._inner, self._compressed, self._name, self._out = inner, compressed, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._inner.read(len(buffer))
        self._out += len(data)
        if self._out > _GROWTH_FREE and self._out > _GROWTH * self._compressed:
            raise UsageError(
                f"unpacks to more than {_GROWTH} times its size: taken for a bomb",
                where=self._name,
                remedy="unpack it yourself if you trust it, and give the unpacked file",
            )
        buffer[: len(data)] = data
        return len(data)


def expand(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """The files that paths, globs and folders name, in sorted order within each.

    Of a folder, hidden files are left out, and those that explain the others (README, LICENSE,
    *.md and the like).

    Raises:
        UsageError: one of them names nothing.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    found: list[Path] = []
    for item in given:
        path = Path(item).expanduser()
        if path.is_dir():
            hits = sorted(p for p in path.rglob("*") if p.is_file() and not _aside(p, path))
        elif path.exists():
            hits = [_regular(path)]
        else:
            hits = matches(path)
        if not hits and path.is_dir():
            raise UsageError(
                "no file in this folder", where=str(item), remedy="give the folder that holds them"
            )
        if not hits:
            raise UsageError(
                "no such trace file",
                where=str(item),
                remedy="check the path; globs and folders are allowed",
            )
        found.extend(hits)
    return found


def _regular(path: Path) -> Path:
    """A pipe or a device can be read once, or has no end; a trace is read more than once."""
    if not path.is_file():
        raise UsageError(
            "not a regular file: a trace is read more than once, which a pipe or a device is not",
            where=str(path),
            remedy="write it to a file first, and give that file",
        )
    return path


def matches(pattern: Path) -> list[Path]:
    """The files that a glob names, sorted; ``**`` goes through folders."""
    found = glob.iglob(str(pattern), recursive=True)  # noqa: PTH207 (absolute and relative alike)
    return sorted(path for path in map(Path, found) if path.is_file())


def _aside(path: Path, root: Path) -> bool:
    """Hidden, or what lies beside data to explain it; given by its own name it is read."""
    hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
    return hidden or path.suffix.lower() in _PROSE or path.stem.upper() in _ABOUT


def file_sha256(path: Path) -> str:
    """SHA-256 of the bytes on disk."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def members(path: Path) -> Iterator[Member]:
    """The streams in a file: itself, or the regular files of the archive that it is."""
    try:
        raw = path.open("rb")
    except OSError as error:
        raise UsageError(
            f"the trace cannot be opened: {error.strerror}",
            where=path.name,
            remedy="check the path and its permissions",
        ) from error
    with raw:
        magic = raw.read(8)
        raw.seek(0)
        kind = next((k for m, k in _MAGIC.items() if magic.startswith(m)), None)
        size = path.stat().st_size
        stream = io.BufferedReader(_open(raw, kind, size, path), HEAD)
        if stream.peek(512)[257:262] == b"ustar":
            yield from _tar(stream)
        else:
            yield Member(_stem(path.name, kind), path.parent.name, stream, path)


def _open(raw: BinaryIO, kind: str | None, size: int, path: Path) -> io.RawIOBase:
    if kind is None:
        return cast(io.RawIOBase, raw)
    if kind == "zstd":
        from seatrial.trace.zstd import open_zstd

        return _Guard(open_zstd(raw, path), size, path.name)
    if kind == "gzip":
        return _Guard(cast(BinaryIO, gzip.GzipFile(fileobj=raw)), size, path.name)
    if kind == "bzip2":
        return _Guard(cast(BinaryIO, bz2.BZ2File(raw)), size, path.name)
    return _Guard(cast(BinaryIO, lzma.LZMAFile(raw)), size, path.name)


def _tar(stream: Stream) -> Iterator[Member]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for count, info in enumerate(archive):
            if count >= MAX_MEMBERS:
                raise UsageError(
                    f"an archive of more than {MAX_MEMBERS} members",
                    remedy="split it, or unpack it and give the folder",
                )
            if not info.isreg() or info.size == 0:
                continue
            inner = archive.extractfile(info)
            if inner is not None:
                name = Path(info.name)
                raw = _Guard(cast(BinaryIO, inner), info.size, name.name)
                yield Member(name.name, name.parent.name, io.BufferedReader(raw, HEAD))


def _stem(name: str, kind: str | None) -> str:
    suffix = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}.get(kind or "", "")
    return name.removesuffix(suffix) if suffix else name
