"""Does the code that the model wrote pass the task's own tests? Run in the sandbox only.

The answer is the first fenced block, else the whole text. Where it defines the function it stands
alone, behind the task's imports; else it is taken for the function's body and follows its header.
"""

from __future__ import annotations

import re
from typing import Any

from seatrial.quality.sandbox import run_code

_BLOCK = re.compile(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_IMPORT = re.compile(r"^(?:import|from)\s.+$", re.MULTILINE)


def program_of(text: str, expected: dict[str, Any]) -> str:
    """The answer with the task's tests behind it, as one program."""
    header, name = str(expected.get("header", "")), str(expected.get("entry_point", ""))
    block = _BLOCK.search(text)
    answer = block[1] if block else text
    if re.search(rf"^def\s+{re.escape(name)}\s*\(", answer, re.MULTILINE):
        start = "\n".join(_IMPORT.findall(header))
        answer = f"{start}\n{answer}"
    else:
        answer = header + answer
    return f"{answer}\n\n{expected.get('test', '')}\ncheck({name})\n"


def code_passes(text: str, expected: Any) -> bool:
    """Whether the answer passes.

    Args:
        expected: {header: the function's head, entry_point: its name, test: defines check(f)}.

    Raises:
        PrerequisiteError: no sandbox can be put up here; nothing was run.
    """
    if not isinstance(expected, dict) or not str(expected.get("entry_point", "")).isidentifier():
        return False
    return run_code(program_of(text, expected)).passed
