"""Write src/seatrial/facts/history/parsers.json: names that the parser flags of an engine take.

    python tools/facts_parsers.py

``--tool-call-parser`` and ``--reasoning-parser`` take a name from a table that grows with every
release. The members that hold the tables are read by byte range from every release, and the names
(``tool:NAME``, ``reasoning:NAME``) are kept as ranges over the releases read. Needs a network.
"""

from __future__ import annotations

import re
from pathlib import Path

from facts_releases import write

from seatrial.facts.extract.findings import Source

TARGET = Path(__file__).resolve().parents[1] / "src/seatrial/facts/history/parsers.json"
FIRST = {"vllm": "0.6.3", "sglang": "0.4.3"}
MEMBERS = {
    "vllm": (
        "vllm/entrypoints/openai/tool_parsers/*.py",
        "vllm/entrypoints/openai/reasoning_parsers/*.py",
        "vllm/tool_parsers/*.py",
        "vllm/reasoning/*.py",
    ),
    "sglang": (
        "sglang/srt/reasoning_parser.py",
        "sglang/srt/parser/reasoning_parser.py",
        "sglang/srt/function_call_parser.py",
        "sglang/srt/function_call/function_call_parser.py",
    ),
}
_REGISTERED = re.compile(r'register_(?:lazy_)?module\(\s*(?:name=)?\s*(\[[^\]]*\]|"[\w.-]+")')
_TABLE = re.compile(
    r"(?:_PARSERS_TO_REGISTER|DetectorMap|ToolCallParserEnum)[^=\n]*=\s*\{(.*?)\n\s*\}", re.DOTALL
)
_KEY = re.compile(r'^\s*"([\w.-]+)":', re.MULTILINE)
_NAME = re.compile(r'"([\w.-]+)"')


def names_of(source: Source, engine: str) -> set[str]:
    """``tool:NAME`` and ``reasoning:NAME`` of one release; none where no tool's name is found."""
    paths = source.glob(*MEMBERS[engine])
    source.fetch(paths)
    found: set[str] = set()
    for path in paths:
        text = source.text(path)
        names = {n for said in _REGISTERED.findall(text) for n in _NAME.findall(said)}
        names |= {n for table in _TABLE.findall(text) for n in _KEY.findall(table)}
        found |= {f"{'reasoning' if 'reasoning' in path else 'tool'}:{n}" for n in names}
    return found if any(name.startswith("tool:") for name in found) else set()


if __name__ == "__main__":
    write(TARGET, MEMBERS, FIRST, names_of)
