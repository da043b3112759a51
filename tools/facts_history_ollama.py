"""Write src/seatrial/facts/history/ollama.json from a clone of ollama/ollama with its tags.

    python tools/facts_history_ollama.py PATH/TO/ollama/.git

Two lists of each tag make up what it loads: the architectures of the llama.cpp it carries as
source (from 0.4 on; before, only a commit's hash is named) and those its own engine registers.
"""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from pathlib import Path

import msgspec
from facts_history import FOLDER, Cell, Key, ranges

from seatrial.facts import load
from seatrial.facts import version as order

_NAME = re.compile(r'\{\s*LLM_ARCH_\w+\s*,\s*"([^"]+)"\s*\}')
_OWN = re.compile(r'\bmodel\.Register\(\s*"([^"]+)"')
OWN = "own-engine"
"""Value of a class that only Ollama's own engine has: it loads the library's models, while a
GGUF from elsewhere may go to llama.cpp and fail."""
_LISTS = ("llama/llama.cpp/src/llama-arch.cpp", "llama/llama-arch.cpp", "llama/llama.cpp")


def git(folder: Path, *words: str) -> str:
    """Output of one git command, "" if it fails."""
    done = subprocess.run(
        ["git", "--git-dir", str(folder), *words], capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else ""


def table(folder: Path, tag: str) -> dict[Key, Cell]:
    """Architectures that this tag loads."""
    files = set(git(folder, "ls-tree", "-r", "--name-only", tag).splitlines())
    rows: dict[Key, Cell] = {}
    place = next((p for p in _LISTS if p in files), None)
    names = _NAME.findall(git(folder, "show", f"{tag}:{place}")) if place else []
    for name in names:
        if name != "(unknown)":
            rows["architecture", name, None] = ("native", place, None, None)
    own = [f for f in files if re.fullmatch(r"model/models/\w+/model\w*\.go", f)]
    for path in own if names else []:
        for name in _OWN.findall(git(folder, "show", f"{tag}:{path}")):
            rows.setdefault(("architecture", name, None), (OWN, path, None, None))
    return rows


def main(folder: Path) -> None:
    """Read every final tag that has a list."""
    known = load(user=Path("/nonexistent")).versions("ollama")
    tags = [t for t in git(folder, "tag").split() if re.fullmatch(r"v\d+\.\d+\.\d+", t)]
    tags = [t for t in tags if not any(order.same(t, k) for k in known)]
    versions, tables = [], []
    for tag in sorted(tags, key=order.key):
        rows = table(folder, tag)
        if len(rows) < 20:
            continue
        day = git(folder, "log", "-1", "--format=%as", tag).strip()
        commit = git(folder, "rev-parse", f"{tag}^{{commit}}").strip()
        versions.append([tag[1:], day, f"ollama/ollama@{commit[:9]}", ""])
        tables.append(rows)
    body = {
        "schema": "seatrial/facts-history/1",
        "engine": "ollama",
        "verified_on": datetime.date.today().isoformat(),
        "versions": versions,
        "rows": ranges(tables),
    }
    raw = msgspec.json.format(msgspec.json.encode(body), indent=0)
    (FOLDER / "ollama.json").write_bytes(raw + b"\n")
    print(versions[0][0], versions[-1][0], len(versions), len(body["rows"]), len(raw))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
