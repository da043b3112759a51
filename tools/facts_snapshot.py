"""Make the shipped snapshot: read the versions named in snapshot.toml, pack, report what it took.

    python tools/facts_snapshot.py            every engine
    python tools/facts_snapshot.py vllm tgi   these alone; the others stay as they are

CUDA targets are read once and kept; --fresh=ENGINE==VERSION reads those of one version again.

Engines released as source alone are read from trees in the folder FACTS_TREES, one folder
ENGINE-VERSION each, checked out at the commit that the plan names.
"""

from __future__ import annotations

import os
import sys
import time
import tomllib
import zipfile
from pathlib import Path

import msgspec

from seatrial.core.errors import SeatrialError
from seatrial.facts.extract.findings import Source
from seatrial.facts.extract.registry import extractor
from seatrial.facts.factfile import FactFile, decode
from seatrial.facts.reach.artefact import remote_sdist
from seatrial.facts.reach.index import Index
from seatrial.facts.store import snapshot_path
from seatrial.facts.sync import pack, read_local, read_release, read_source

PLAN = Path(__file__).parent / "facts_snapshot.toml"


def shipped() -> dict[tuple[str, str], FactFile]:
    """What the snapshot holds now."""
    if not snapshot_path().exists():
        return {}
    with zipfile.ZipFile(snapshot_path()) as archive:
        files = [decode(archive.read(name)) for name in archive.namelist()]
    return {(f.engine, f.version): f for f in files}


def vendored(plan: dict, only: set[str], index: Index) -> dict[tuple[str, str], FactFile]:
    """Trees that another project's sdist carries, under the commit that its changelog names."""
    found = {}
    for entry in plan.get("sdist", []):
        if only and entry["engine"] not in only:
            continue
        [file] = [f for f in index.files(entry["project"]) if f.name == entry["file"]]
        source = Source(remote_sdist(file, index.client), entry["version"])
        reader = extractor(entry["engine"])
        made = read_source(reader, source, entry["version"], file.uploaded)
        found[made.engine, made.version] = made
        print(f"{made.engine}=={made.version}: {sum(len(r) for r in made.rows.values())} facts")
    return found


def planned(plan: dict) -> set[tuple[str, str]]:
    """What the plan names; whatever else the snapshot held goes."""
    on_index = {(engine, v) for engine, versions in plan["index"].items() for v in versions}
    others = {(entry["engine"], entry["version"]) for entry in plan.get("sdist", [])}
    return on_index | others | {(t["engine"], v[0]) for t in plan["tree"] for v in t["versions"]}


def has_targets(file: FactFile | None) -> bool:
    """Whether CUDA targets were read out of its binaries already."""
    return file is not None and any(m.kind == "binary" for m in file.members)


def with_targets(file: FactFile, old: FactFile | None) -> FactFile:
    """The CUDA targets of an earlier reading of the same artefact: a wheel never changes."""
    if old is None or not has_targets(old) or old.artefacts[0].sha256 != file.artefacts[0].sha256:
        return file
    members = list(file.members)
    rows = []
    for cells in old.rows["cuda_targets"]:
        place = old.members[cells[2]]
        if place.kind == "binary":
            members.append(place)
            rows.append([*cells[:2], len(members) - 1, *cells[3:]])
    merged = {**file.rows, "cuda_targets": [*file.rows.get("cuda_targets", []), *rows]}
    return msgspec.structs.replace(file, members=members, rows=merged)


def trees(plan: dict, only: set[str]) -> dict[tuple[str, str], FactFile]:
    """Engines released as source: read from FACTS_TREES/ENGINE-VERSION where that is there."""
    found = {}
    base = Path(os.environ.get("FACTS_TREES", "."))
    for tree in plan.get("tree", []):
        for version, commit, day in tree["versions"]:
            folder = base / f"{tree['engine']}-{version}"
            if (only and tree["engine"] not in only) or not folder.is_dir():
                continue
            name = f"{tree['repository']}@{commit}"
            file = read_local(tree["engine"], folder, version=version, name=name, released=day)
            found[file.engine, file.version] = file
            rows = sum(len(r) for r in file.rows.values())
            stale = "; ".join(f"{s.predicate}: {s.why}" for s in file.stale)
            print(f"{file.engine}=={version}: {rows} facts {stale and '  STALE ' + stale}")
    return found


def main() -> None:
    """Read, pack, write; a version that cannot be read is named and keeps what it had."""
    plan = tomllib.loads(PLAN.read_text())
    only = {a for a in sys.argv[1:] if not a.startswith("--")}
    index = Index()
    files = shipped()
    begin = time.perf_counter()
    for engine, versions in plan["index"].items():
        for version in versions if not only or engine in only else ():
            before = files.get((engine, version))
            fresh = f"--fresh={engine}=={version}" in sys.argv
            wanted = f"{engine}=={version}" in plan["binaries"] and (
                fresh or not has_targets(before)
            )
            try:
                file = read_release(engine, version, index, binaries=wanted)
            except SeatrialError as error:
                print(f"{engine}=={version}: {error.what}")
                continue
            if not wanted:
                file = with_targets(file, files.get((file.engine, file.version)))
            files[file.engine, file.version] = file
            rows = sum(len(r) for r in file.rows.values())
            stale = "; ".join(f"{s.predicate}: {s.why}" for s in file.stale)
            print(f"{engine}=={version}: {rows} facts {stale and '  STALE ' + stale}")
    files |= trees(plan, only) | vendored(plan, only, index)
    files = {key: file for key, file in files.items() if key in planned(plan)}
    data = pack(files.values())
    snapshot_path().write_bytes(data)
    client = index.client
    seconds = time.perf_counter() - begin
    print(
        f"{len(files)} versions, {len(data)} bytes; {client.requests} requests, "
        f"{client.bytes_in} bytes in, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
