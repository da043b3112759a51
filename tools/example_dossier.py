"""Puts a finished trial into examples/dossiers/NAME: its dossier and all that its numbers rest on.

python tools/example_dossier.py TRIAL NAME

Engines' logs and raw answers stay behind (size; they name places of the machine). A file that
names a place of this machine is refused: what is published must not.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from seatrial.dossier import build
from seatrial.trial.manifest import enter_files

ROOT = Path(__file__).resolve().parents[1]
LEFT = ("*.log", "*.answers.json", "dossier*", ".*", "events.jsonl")
PLACE = re.compile(rb"(?<![\w.])/(home|root|work|tmp|Users|mnt|var)/[\w.-]+")


def main(trial: Path, name: str) -> int:
    """Copy, build, look for places of this machine; 1 if there is one."""
    target = ROOT / "examples" / "dossiers" / name
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(trial, target, ignore=shutil.ignore_patterns(*LEFT))
    paths = build(target)
    paths.json.unlink()  # the page holds the same, compressed
    enter_files(target, (paths.html, paths.markdown, paths.json))
    found = [
        f"{path.relative_to(target)}: {match.group().decode()}"
        for path in sorted(target.rglob("*"))
        if path.is_file() and (match := PLACE.search(path.read_bytes()))
    ]
    for line in found:
        print(line, file=sys.stderr)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"{target.relative_to(ROOT)}: {size:,} bytes")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
