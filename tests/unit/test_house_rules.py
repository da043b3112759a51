"""The rules of CONTRIBUTING that a machine can check."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "seatrial").rglob("*.py"))
MAX_LINES = 600
NO_HOME = {"utils.py", "util.py", "helpers.py", "common.py", "misc.py", "manager.py"}


def test_no_source_file_is_longer_than_the_limit() -> None:
    long = {
        str(p.relative_to(ROOT)): n
        for p in SOURCES
        if (n := len(p.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


def test_every_file_is_named_after_a_noun() -> None:
    assert [str(p.relative_to(ROOT)) for p in SOURCES if p.name in NO_HOME] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(p.relative_to(ROOT))
        for p in SOURCES
        if p.stat().st_size
        and not p.read_text(encoding="utf-8").lstrip().startswith(('"""', 'r"""'))
    ]
    assert silent == []


def test_only_the_command_line_prints_or_exits() -> None:
    loud = re.compile(r"^\s*(print\(|sys\.exit\()", re.MULTILINE)
    # The others are programs of their own that talk over their standard output.
    allowed = (
        "cli/",
        "mock/__main__.py",
        "loadgen/worker.py",
        "engines/launchers/",
        "quality/jail.py",
    )
    found = [
        str(p.relative_to(ROOT))
        for p in SOURCES
        if not any(a in p.as_posix() for a in allowed) and loud.search(p.read_text("utf-8"))
    ]
    assert found == []


def test_each_direct_dependency_has_its_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    names = tomllib.loads(text)["project"]["dependencies"]
    for name in names:
        line = next(row for row in text.splitlines() if f'"{name}"' in row)
        assert re.search(r"#\s*\S{3,}", line), line


@pytest.mark.parametrize("place", ["src", "docs", "examples", "README.md", "ARCHITECTURE.md"])
def test_the_project_speaks_of_itself_alone(place: str) -> None:
    foreign = re.compile(r"(^|[^A-Za-z0-9_.])/(work|root)/|\.\./shared")
    base = ROOT / place
    files = [base] if base.is_file() else [p for p in base.rglob("*") if p.is_file()]
    bad = []
    for path in files:
        if path.suffix in (".py", ".md", ".yaml", ".yml", ".toml", ".json", ".html", ".txt", ""):
            text = path.read_text("utf-8", errors="replace")
            bad += [f"{path.relative_to(ROOT)}: {m.group(0)}" for m in foreign.finditer(text)]
    assert bad == []
