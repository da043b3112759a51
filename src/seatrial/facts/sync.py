"""Reading an engine's facts out of its artefact: from the index, or from a file or folder.

    read_release("vllm", "0.33.0", index)        members by range out of the released wheel
    read_local("llama.cpp", Path("./llama.cpp"))  a tree, wheel or sdist that is here already

Both give a ``FactFile``; ``keep`` puts it into the user's store, ``pack`` into a snapshot.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.core.progress import Progress, Silent
from seatrial.facts import version as order
from seatrial.facts.extract.binaries import add_targets, objects
from seatrial.facts.extract.findings import Findings, Source
from seatrial.facts.extract.registry import EXTRACTORS, Extractor, extractor
from seatrial.facts.factfile import FactFile
from seatrial.facts.reach.artefact import (
    Artefact,
    Sdist,
    Tree,
    Wheel,
    local_wheel,
    remote_sdist,
    remote_wheel,
)
from seatrial.facts.reach.index import Index, ReleaseFile, version_in
from seatrial.facts.store import user_folder
from seatrial.store import write_bytes

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Every member of a snapshot carries the same time, so that equal facts give equal bytes."""


def choose(files: list[ReleaseFile], prefer: str) -> ReleaseFile:
    """The file to read: a wheel for x86_64 Linux or for any platform, else any wheel, else sdist.

    Several CPython versions of one wheel hold the same Python source: the newest is taken.
    """
    wheels = [f for f in files if f.is_wheel]
    sdists = [f for f in files if not f.is_wheel]
    fitting = [w for w in wheels if "x86_64" in w.name or w.name.endswith("-any.whl")]
    ranked = {
        "wheel": [*fitting[::-1], *wheels, *sdists],
        "sdist": [*sdists, *fitting[::-1], *wheels],
    }[prefer]
    return ranked[0]


def on_index(reader: Extractor) -> str:
    """The engine's project on the index. Raises PrerequisiteError if it has none."""
    if reader.project is None:
        raise PrerequisiteError(
            f"{reader.engine} is not released on a package index",
            where=reader.engine,
            unchanged="the facts at hand are as they were",
            remedy="check out its source, then: seatrial facts sync "
            f"{reader.engine}==VERSION --from FOLDER",
        )
    return reader.project


def release_file(engine: str, version: str, index: Index) -> ReleaseFile:
    """The file on the index that an engine's facts are read from.

    Raises:
        UsageError: there is no such version. PrerequisiteError: the engine is not on an index.
    """
    reader = extractor(engine)
    project = on_index(reader)
    files = [f for f in index.files(project) if order.same(f.version, version)]
    if not files:
        near = index.versions(project)[-5:]
        raise UsageError(
            f"{engine} has no version {version} on the index",
            where=project,
            remedy=f"the newest are {', '.join(near)}",
        )
    return choose(files, reader.prefer)


def open_release(file: ReleaseFile, index: Index) -> Artefact:
    """The artefact behind a release file."""
    if file.is_wheel:
        return remote_wheel(file, index.client)
    return remote_sdist(file, index.client)


def read_release(
    engine: str,
    version: str,
    index: Index,
    *,
    deep: bool = True,
    binaries: bool = False,
    progress: Progress | None = None,
) -> FactFile:
    """The facts of a released version; ``binaries``: CUDA targets too (tens of megabytes).

    Raises:
        UsageError: no such engine or version.
        PrerequisiteError: the index cannot be read.
        IntegrityError: the artefact is damaged or not what it claims to be.
    """
    sink = progress or Silent()
    file = release_file(engine, version, index)
    sink.step("facts", f"reading {file.name}")
    reader = extractor(engine)
    version = reader.spelled(file.version)
    source = Source(open_release(file, index), version)
    return read_source(reader, source, version, file.uploaded, deep=deep, binaries=binaries)


def read_source(
    reader: Extractor,
    source: Source,
    version: str,
    released: str | None,
    *,
    deep: bool = True,
    binaries: bool = False,
) -> FactFile:
    """Run one extractor over one artefact.

    Raises:
        UsageError: the artefact is not this engine's.
    """
    if not any(source.glob(sign) for sign in reader.signs):
        raise UsageError(
            f"{source.artefact.ref.name} is not {reader.engine}: none of its files is there",
            where=", ".join(reader.signs),
            remedy="give the folder that holds the engine's own source tree or package",
        )
    findings = Findings(source, reader.engine, version)
    reader.load()(findings, deep=deep)
    if binaries and isinstance(source.artefact, Wheel):
        add_targets(findings, source.artefact, objects(source.artefact))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return findings.file(released=released, verified_on=today, extractor=reader.label)


def open_local(path: Path, name: str | None = None) -> Artefact:
    """A wheel, an sdist or a folder on this machine.

    Raises:
        UsageError: it is none of these. IntegrityError: the archive is damaged.
    """
    if path.is_dir():
        return Tree(path, name or path.name)
    if path.is_file() and path.suffix == ".whl":
        return local_wheel(path)
    if path.is_file() and path.name.endswith(".tar.gz"):
        return Sdist(path)
    raise UsageError(
        "not a wheel, a .tar.gz or a folder",
        where=str(path),
        remedy="give a .whl, a .tar.gz, a source tree, or a site-packages folder",
    )


def read_local(
    engine: str | None,
    path: Path,
    *,
    version: str | None = None,
    name: str | None = None,
    released: str | None = None,
    deep: bool = True,
    binaries: bool = False,
) -> FactFile:
    """The facts of an artefact that is on this machine.

    ``name`` is what provenance calls it (``owner/repository@commit`` for a tree).
    """
    artefact = open_local(path, name)
    known = version or version_in(path.name)
    if known is None:
        raise UsageError(
            "which version is this?",
            where=str(path),
            remedy="write it: seatrial facts sync ENGINE==VERSION --from PATH",
        )
    source = Source(artefact, known)
    reader = extractor(engine) if engine else _recognise(source)
    return read_source(reader, source, known, released, deep=deep, binaries=binaries)


def _recognise(source: Source) -> Extractor:
    for reader in EXTRACTORS.values():
        if any(source.glob(sign) for sign in reader.signs):
            return reader
    raise UsageError(
        "no engine is recognised in it",
        where=source.artefact.ref.name,
        remedy=f"name the engine: one of {', '.join(EXTRACTORS)}",
    )


def keep(file: FactFile, folder: Path | None = None) -> Path:
    """Write a document into the user's store; returns its place."""
    place = (folder or user_folder()) / file.engine / f"{file.version}.json"
    write_bytes(place, msgspec.json.encode(file))
    return place


def pack(files: Iterable[FactFile]) -> bytes:
    """A snapshot: one zip archive, members in order, same bytes for the same facts."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in sorted(files, key=lambda f: (f.engine, order.key(f.version))):
            info = zipfile.ZipInfo(f"{file.engine}/{file.version}.json", _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, msgspec.json.encode(file), compresslevel=9)
    return out.getvalue()
