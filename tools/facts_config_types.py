"""Write src/seatrial/facts/history/config_types.json: model types that an engine brings itself.

    python tools/facts_config_types.py

vLLM and SGLang look a model type up among configurations of their own before they ask the
Transformers library beside them. The members that hold those are read by byte range from every
release, and the types are kept as ranges over the releases read. Needs a network.
"""

from __future__ import annotations

import re
from pathlib import Path

from facts_releases import write

from seatrial.facts.extract.findings import Source

TARGET = Path(__file__).resolve().parents[1] / "src/seatrial/facts/history/config_types.json"
FIRST = {"vllm": "0.4.0", "sglang": "0.4.0"}
MEMBERS = {
    "vllm": ("vllm/transformers_utils/config.py", "vllm/transformers_utils/configs/*.py"),
    "sglang": (
        "sglang/srt/configs/*.py",
        "sglang/srt/hf_transformers_utils.py",
        "sglang/srt/utils/hf_transformers_utils.py",
        "sglang/srt/utils/hf_transformers/*.py",
    ),
}
_TYPE = re.compile(r'^\s+model_type(?::\s*\w+)?\s*=\s*"([\w.-]+)"', re.MULTILINE)
_TABLE = re.compile(r"_CONFIG_REGISTRY[^=]*=\s*(?:LazyConfigDict\(|\{)(.*?)\n[)}]", re.DOTALL)
_KEY = re.compile(r'^\s+"?([\w.-]+)"?\s*[=:]\s*"?\w+', re.MULTILINE)


def types_of(source: Source, engine: str) -> set[str]:
    """Model types of the engine's own configuration classes and of its table of them."""
    paths = source.glob(*MEMBERS[engine])
    source.fetch(paths)
    found: set[str] = set()
    for path in paths:
        text = source.text(path)
        found |= set(_TYPE.findall(text))
        for table in _TABLE.findall(text):
            found |= set(_KEY.findall(table))
    return found


if __name__ == "__main__":
    write(TARGET, MEMBERS, FIRST, types_of)
