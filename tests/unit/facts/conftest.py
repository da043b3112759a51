"""Small trees of the same shapes as the engines', written for these tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.facts.extract.findings import Findings, Source
from seatrial.facts.factfile import facts_of
from seatrial.facts.reach.artefact import Tree
from seatrial.facts.record import Fact

Read = Callable[..., dict[tuple[str, str], list[Fact]]]


@pytest.fixture
def write_tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Write files below a fresh folder."""

    def write(files: dict[str, str], name: str = "tree") -> Path:
        root = tmp_path / name
        for path, text in files.items():
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def findings_of(write_tree: Callable[[dict[str, str]], Path]) -> Callable[..., Findings]:
    """Findings over a tree, nothing read yet."""

    def make(files: dict[str, str], engine: str = "vllm", version: str = "1.0") -> Findings:
        source = Source(Tree(write_tree(files), "here"), version)
        return Findings(source, engine, version)

    return make


@pytest.fixture
def by_subject() -> Callable[[Findings], dict[tuple[str, str], list[Fact]]]:
    """Facts of findings by (predicate, subject)."""

    def table(findings: Findings) -> dict[tuple[str, str], list[Fact]]:
        found: dict[tuple[str, str], list[Fact]] = {}
        file = findings.file(released=None, verified_on="2026-01-01", extractor="test/1")
        for fact in facts_of(file):
            found.setdefault((fact.predicate, fact.subject), []).append(fact)
        return found

    return table
