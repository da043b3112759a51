"""Write src/seatrial/facts/history/stages.json: which classes of SGLang can be cut into stages.

    python tools/facts_stages.py

SGLang refuses pipeline parallelism where ``forward`` of the model's class does not take
``pp_proxy_tensors`` (model_runner.py: "Pipeline Parallel is not compatible with this model"). The
signatures are read from the model files of releases, own or inherited. Needs a network.
"""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import msgspec
from facts_transformers import ranges

from seatrial.facts.extract.findings import Source
from seatrial.facts.reach.index import Index
from seatrial.facts.sync import open_release, release_file

TARGET = Path(__file__).resolve().parents[1] / "src/seatrial/facts/history/stages.json"
MEMBER = "sglang/srt/models/*.py"
# fmt: off
VERSIONS = [
    "0.4.6.post2", "0.4.6.post5", "0.4.8", "0.4.9", "0.4.10", "0.5.1", "0.5.3", "0.5.4",
    "0.5.5", "0.5.6", "0.5.7", "0.5.8", "0.5.9", "0.5.10", "0.5.12", "0.5.15", "0.5.17",
    "0.5.20", "0.5.23",
]
# fmt: on
_CLASS = re.compile(r"^class (\w+)(?:\(([^)]*)\))?:", re.MULTILINE)
_FORWARD = re.compile(r"^    def forward\((.*?)\)\s*(?:->[^:]*)?:", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^EntryClass\s*=\s*(\[[^\]]*\]|\w+)", re.MULTILINE)


def staged(source: Source) -> tuple[set[str], set[str]]:
    """(served classes that can be cut, served classes that cannot) of one release."""
    paths = source.glob(MEMBER)
    source.fetch(paths)
    own: dict[str, bool | None] = {}
    bases: dict[str, list[str]] = {}
    served: set[str] = set()
    for path in paths:
        text = source.text(path)
        if (entry := _ENTRY.search(text)) is not None:
            served |= set(re.findall(r"\w+", entry[1]))
        found = list(_CLASS.finditer(text))
        for one, after in zip(found, [*found, None][1:], strict=True):
            body = text[one.end() : after.start() if after else len(text)]
            forward = _FORWARD.search(body)
            own[one[1]] = "pp_proxy_tensors" in forward[1] if forward else None
            bases[one[1]] = re.findall(r"\w+", one[2] or "")

    def cut(name: str, deep: int = 0) -> bool:
        told = own.get(name)
        if told is not None or deep > 8:
            return bool(told)
        return any(cut(base, deep + 1) for base in bases.get(name, []))

    can = {name for name in served if name in own and cut(name)}
    return can, {name for name in served if name in own} - can


def main() -> None:
    """Read the releases."""
    index, readings = Index(), []
    for version in VERSIONS:
        artefact = open_release(release_file("sglang", version, index), index)
        readings.append(staged(Source(artefact, version, check=False)))
    common = {"members": [MEMBER], "versions": VERSIONS}
    body = {
        "schema": "seatrial/stages/1",
        "verified_on": datetime.date.today().isoformat(),
        "engines": {
            "sglang": {**common, "types": ranges([can for can, _ in readings])},
            "sglang:whole": {**common, "types": ranges([whole for _, whole in readings])},
        },
    }
    TARGET.write_bytes(msgspec.json.encode(body) + b"\n")


if __name__ == "__main__":
    main()
