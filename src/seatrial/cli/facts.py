"""``seatrial facts``: what is known of engines, where it stands, and what an upgrade changes.

seatrial facts show vllm==0.33.0 --subject awq
seatrial facts diff vllm==0.23.0 vllm==0.24.0
seatrial facts when vllm gguf
seatrial facts sync vllm==0.33.0           members by byte range from the package index
seatrial facts sync llama.cpp==b11549 --from ./llama.cpp
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from seatrial.cli.console import Console
from seatrial.core.errors import PrerequisiteError, UsageError

if TYPE_CHECKING:
    from seatrial.facts import Fact, FactSet, FactStore
    from seatrial.facts.document import Synced
    from seatrial.facts.factfile import FactFile

app = App(name="facts", help="Facts about engines, read out of what their authors released.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]
Offline = Annotated[bool, Parameter(negative=(), help="Do not read the package index.")]


def _split(text: str) -> tuple[str, str | None]:
    """``ENGINE`` or ``ENGINE==VERSION``."""
    engine, sign, version = text.partition("==")
    if not engine or (sign and not version):
        raise UsageError(
            f"{text!r} is not ENGINE or ENGINE==VERSION",
            where="seatrial facts",
            remedy="write it like vllm==0.33.0",
        )
    return engine.lower(), version or None


@app.command
def show(
    engine: str,
    /,
    *,
    subject: Annotated[list[str] | None, Parameter(negative=())] = None,
    predicate: Annotated[list[str] | None, Parameter(negative=())] = None,
    standing: Annotated[list[str] | None, Parameter(name="--state", negative=())] = None,
    conflicts: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
) -> int:
    """Print the facts of one engine at one version, each with its source.

    Parameters
    ----------
    engine
        ENGINE==VERSION, or ENGINE for its newest version known.
    subject
        Only facts on this subject, as the engine spells it; repeatable.
    predicate
        Only facts with this predicate; repeatable.
    standing
        Only facts that stand so now: extracted, documented, conditional, unresolved, probed,
        contradicted, expired; repeatable.
    conflicts
        Only subjects on which sources disagree.
    """
    from seatrial.facts import load
    from seatrial.facts.document import shown

    console = Console(as_json=json)
    store = load()
    name, version = _split(engine)
    facts = store.engine(name, version)
    chosen = [f for group in facts.conflicts() for f in group] if conflicts else facts.facts
    chosen = [
        f
        for f in chosen
        if (not subject or f.subject in subject) and (not predicate or f.predicate in predicate)
    ]
    chosen += _absent(facts, subject or [], predicate)
    if standing:
        chosen = [f for f in chosen if facts.standing(f) in standing]
    console.document(shown(facts, chosen))
    _say_resolution(console, facts, store)
    columns = ("predicate", "subject", "value", "condition", "state", "source")
    console.table(columns, [_row(facts, f) for f in chosen])
    _say_disagreements(console, facts, chosen)
    for stale in facts.stale:
        console.note(f"extractor-stale: {stale.predicate}: {stale.why}")
    return 0 if chosen else 1


def _absent(facts: FactSet, subjects: list[str], predicates: list[str] | None) -> list[Fact]:
    """For a subject that nobody knows: that it is in none of the tables that were read.

    Which tables are meant is said by ``--predicate``; without it a model class is recognised by
    its name.
    """
    found = []
    known = {f.subject for f in facts.facts}
    for subject in subjects:
        if subject not in known:
            looks_like_a_class = subject[:1].isupper() and ("For" in subject or "Model" in subject)
            wanted = predicates or (["architecture"] if looks_like_a_class else [])
            absent = [facts.absent(predicate, subject) for predicate in wanted]
            found += [fact for fact in absent if fact.state == "extracted"]
    return found


def _say_resolution(console: Console, facts: FactSet, store: FactStore) -> None:
    if facts.exact:
        console.title(f"{facts.engine} {facts.version}, released {facts.released or '?'}")
    elif facts.resolved:
        console.title(f"{facts.engine} {facts.version}: not read; facts of {facts.resolved}")
        console.note(f"next: seatrial facts sync {facts.engine}=={facts.version}")
    else:
        known_from = facts.past.read_from if facts.past else "documented facts alone"
        console.title(f"{facts.engine} {facts.version}: {known_from}")
        known = ", ".join(store.versions(facts.engine)) or "none"
        console.note(f"versions read in full: {known}")
    if why := facts.outdated():
        console.note(f"read these again: {why}")


def _say_disagreements(console: Console, facts: FactSet, chosen: list[Fact]) -> None:
    """Name the subjects on which sources disagree, and what weighs more."""
    ids = {f.id for f in chosen}
    for group in facts.conflicts():
        if not ids.isdisjoint(f.id for f in group):
            said = "; ".join(f"{f.source.kind} says {_value(f)}" for f in group)
            console.note(f"sources disagree on {group[0].predicate} {group[0].subject}: {said}")


def _value(fact: Fact) -> str:
    return ", ".join(map(str, fact.value)) if isinstance(fact.value, list) else str(fact.value)


def _row(facts: FactSet, fact: Fact) -> tuple[Any, ...]:
    value = None if fact.value is None else _value(fact)
    subject = f"{fact.subject} [{fact.layer}]" if fact.layer else fact.subject
    place = fact.source.member or fact.source.artefact
    if fact.source.line:
        place += f":{fact.source.line}"
    return fact.predicate, subject, value, fact.condition, facts.standing(fact), place


@app.command
def diff(old: str, new: str, /, *, every: bool = False, json: Json = False) -> int:
    """Print what changes from one version to another: losses first.

    Exit code 1 if something is lost.

    Parameters
    ----------
    old
        ENGINE==VERSION in use.
    new
        ENGINE==VERSION to go to.
    every
        Requirements and additions too, not only losses.
    """
    from seatrial.facts import load
    from seatrial.facts.diff import diff as compare

    console = Console(as_json=json)
    (left, left_version), (right, right_version) = _split(old), _split(new)
    if left != right or left_version is None:
        raise UsageError(
            "two versions of one engine are compared",
            where=f"{old} {new}",
            remedy="write it like: seatrial facts diff vllm==0.23.0 vllm==0.24.0",
        )
    store = load()
    sets = [store.engine(left, left_version), store.engine(right, right_version)]
    for facts in sets:
        if facts.resolved is None:
            raise UsageError(
                f"nothing was read of {facts.engine} {facts.version}, nor of an older version",
                where=f"{old} {new}",
                remedy=f"seatrial facts sync {facts.engine}=={facts.version}, or another version",
            )
        if not facts.exact:
            console.warn(f"{facts.engine} {facts.version} was not read: {facts.resolved} stands in")
    found = compare(*sets)
    console.document(found)
    console.title(f"{found.engine} {found.old} -> {found.new}")
    shown = [c for c in found.changes if every or c.loss]
    columns = ("", "predicate", "subject", "what")
    console.table(columns, [(c.kind, c.predicate, c.subject, c.says) for c in shown])
    rest = len(found.changes) - len(shown)
    if rest:
        console.note(f"{rest} additions and changed requirements more: --every")
    for predicate in found.not_read:
        console.note(f"not compared, an extractor failed: {predicate}")
    return 1 if any(c.loss for c in found.changes) else 0


@app.command
def when(
    engine: str,
    subject: str,
    /,
    *,
    offline: Offline = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Print in which version a subject appeared, changed or went.

    Exit code 1 if no version at hand knows the subject.

    Parameters
    ----------
    engine
        vllm, sglang, ...
    subject
        As the engine spells it: gguf, MiniMaxText01ForCausalLM, vllm:num_preemptions.
    """
    from seatrial.facts import load
    from seatrial.facts.reach.index import Index
    from seatrial.facts.sync import keep, read_release
    from seatrial.facts.when import search

    console = Console(as_json=json, quiet=quiet)
    store = load()
    name, _ = _split(engine)
    known = store.versions(name)
    index = Index(offline=offline)

    def look(version: str) -> FactSet:
        facts = store.engine(name, version)
        if facts.exact:
            return facts
        keep(read_release(name, version, index, progress=console.progress))
        return load().engine(name, version)

    found = search(name, subject, known, look, _released(name, index, offline, console))
    console.document(found)
    for turn in found.turns:
        console.line(turn.says)
    if not found.turns and found.now:
        console.line(f"{subject}: unchanged from {found.oldest} to {found.newest}")
    for predicate, value in found.now.items():
        console.line(f"now ({found.newest}): {predicate} {value}")
    if not found.turns and not found.now:
        console.line(f"{subject}: in no version of {name} from {found.oldest} to {found.newest}")
        return 1
    return 0


def _released(engine: str, index: Any, offline: bool, console: Console) -> list[str]:
    """Versions on the index; [] when it cannot be read, which is said."""
    from seatrial.facts.extract.registry import EXTRACTORS

    reader = EXTRACTORS.get(engine)
    if offline or reader is None or reader.project is None:
        return []
    try:
        versions = [reader.spelled(v) for v in index.versions(reader.project)]
    except PrerequisiteError as error:
        console.warn(f"{error.what}; answering from the versions at hand")
        return []
    return versions


@app.command
def sync(
    engines: list[str] | None = None,
    /,
    *,
    source: Annotated[Path | None, Parameter(name="--from", negative=())] = None,
    name: str | None = None,
    binaries: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Read facts out of released artefacts into this user's store.

    Parameters
    ----------
    engines
        ENGINE or ENGINE==VERSION; without any: the newest of all on the index.
    source
        A wheel, sdist, source tree or site-packages folder to read instead of the index.
    name
        What provenance calls that source, e.g. owner/repository@commit.
    binaries
        Compiled CUDA targets too; moves 60 to 330 MB a release.
    """
    from seatrial.facts.document import SYNC, SyncDocument
    from seatrial.facts.sync import keep, read_local

    console = Console(as_json=json, quiet=quiet)
    cost = (0, 0)
    if source is not None:
        if engines is None or len(engines) != 1:
            raise UsageError(
                "--from reads one engine",
                where=str(source),
                remedy="seatrial facts sync ENGINE==VERSION --from PATH",
            )
        engine, version = _split(engines[0])
        file = read_local(engine, source, version=version, name=name, binaries=binaries)
        done = [_synced(file, keep(file))]
    else:
        done, cost = _sync_index(engines, console, binaries)
    console.document(SyncDocument(schema=SYNC, read=done, requests=cost[0], bytes_in=cost[1]))
    columns = ("engine", "version", "facts", "stale", "artefact")
    console.table(
        columns,
        [(d.engine, d.version, d.facts, len(d.stale), d.artefact) for d in done],
        right={2, 3},
    )
    return 0


def _sync_index(
    engines: list[str] | None, console: Console, binaries: bool
) -> tuple[list[Synced], tuple[int, int]]:
    """What was read, and (requests, bytes in)."""
    from seatrial.facts import version as order
    from seatrial.facts.extract.registry import EXTRACTORS, extractor
    from seatrial.facts.reach.index import Index
    from seatrial.facts.sync import keep, on_index, read_release

    index = Index()
    wanted = engines or [e.engine for e in EXTRACTORS.values() if e.project]
    done = []
    for text in wanted:
        engine, version = _split(text)
        if version is None:
            known = index.versions(on_index(extractor(engine)))
            version = [v for v in known if not order.is_prerelease(v)][-1]
        file = read_release(engine, version, index, binaries=binaries, progress=console.progress)
        done.append(_synced(file, keep(file)))
    cost = (index.client.requests, index.client.bytes_in)
    console.note(f"{cost[0]} requests, {cost[1]} bytes in")
    return done, cost


def _synced(file: FactFile, place: Path) -> Synced:
    from seatrial.facts.document import Synced

    return Synced(
        engine=file.engine,
        version=file.version,
        released=file.released,
        facts=sum(len(rows) for rows in file.rows.values()),
        stale=file.stale,
        artefact=file.artefacts[0].name,
        sha256=file.artefacts[0].sha256,
        integrity=file.artefacts[0].integrity,
        kept=str(place),
    )


@app.command
def verify(engines: list[str] | None = None, /, *, json: Json = False, quiet: Quiet = False) -> int:
    """Read the sources of the shipped facts again and report drift.

    Exit code 1 if a fact no longer follows from its artefact, 6 if a hash differs.

    Parameters
    ----------
    engines
        ENGINE or ENGINE==VERSION; without any: the newest of all on the index.
    """
    from seatrial.facts import load
    from seatrial.facts.document import VERIFY, VerifyDocument
    from seatrial.facts.reach.index import Index
    from seatrial.facts.verify import verify_version

    console = Console(as_json=json, quiet=quiet)
    store, index = load(), Index()
    reports = [
        verify_version(store, engine, version, index, progress=console.progress)
        for engine, version in _verifiable(store, engines)
    ]
    console.document(VerifyDocument(schema=VERIFY, checked=reports))
    columns = ("engine", "version", "same", "drifted", "hashes")
    rows = [
        (r.engine, r.version, r.same, len(r.drifted), "differ" if r.hash_changed else "agree")
        for r in reports
    ]
    console.table(columns, rows, right={2, 3})
    for report in reports:
        for line in report.drifted[:20]:
            console.line(f"{report.engine}=={report.version}: {line}")
    if any(r.hash_changed for r in reports):
        return 6
    return 1 if any(r.drifted for r in reports) else 0


def _verifiable(store: FactStore, engines: list[str] | None) -> list[tuple[str, str]]:
    from seatrial.facts.extract.registry import EXTRACTORS

    wanted = []
    for text in engines or [e.engine for e in EXTRACTORS.values() if e.project]:
        engine, version = _split(text)
        version = version or store.newest(engine)
        if version is not None:
            wanted.append((engine, version))
    return wanted


@app.command
def export(
    engines: list[str] | None = None,
    /,
    *,
    markdown: Annotated[bool, Parameter(negative=())] = False,
    out: Path | None = None,
    json: Json = False,
) -> int:
    """Write facts as one JSON document, or as a Markdown matrix with sources.

    Parameters
    ----------
    engines
        ENGINE or ENGINE==VERSION; without any: every engine at its newest version known.
    markdown
        A matrix of architectures, methods and hardware instead of JSON.
    out
        File to write; without it stdout.
    """
    from seatrial.facts import ENGINES, load
    from seatrial.facts.document import EXPORT, ExportDocument, exported
    from seatrial.facts.export import as_markdown
    from seatrial.store import encode, write_bytes

    console = Console(as_json=json)
    store = load()
    sets = [store.engine(*_split(text)) for text in engines or ENGINES]
    data = as_markdown(sets).encode() if markdown else encode(exported(sets))
    if out is not None:
        write_bytes(out, data)
        console.document(ExportDocument(schema=EXPORT, written=str(out)))
        console.done([out])
        return 0
    if markdown and not json:
        console.line(data.decode().rstrip())
    else:
        Console(as_json=True).document(exported(sets))
    return 0
