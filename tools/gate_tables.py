"""Write the tables of docs/method/gate.md from the declarations, so that the page never lags.

    python tools/gate_tables.py

The text above ``## Constraints`` is written by hand and stays.
"""

from __future__ import annotations

from pathlib import Path

from seatrial import gate
from seatrial.gate.probes import commands, minutes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "method" / "gate.md"


def tables() -> str:
    """Both tables, constraints in binding order."""
    lines = [
        "## Constraints",
        "",
        "| constraint | question | looks at | may say | freed by |",
        "|---|---|---|---|---|",
    ]
    for entry in gate.constraints():
        says = ", ".join(entry.verdicts) or "a remark only"
        lines.append(f"| `{entry.id}` | {entry.asks} | {entry.needs} | {says} | {entry.remedy} |")
    lines += [
        "",
        "## Probes",
        "",
        "They settle an `unknown`; WORKLOAD is the file that was judged. The probe's report "
        "keeps three findings apart:",
        "it loads, it runs on an optimised path, it does the task.",
        "",
        "| probe | command | about |",
        "|---|---|---|",
    ]
    took = minutes()
    lines += [f"| `{name}` | `{text}` | {took[name]:g} min |" for name, text in commands().items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.partition("## Constraints\n")[0] + tables(), encoding="utf-8")
    print(f"written: {PAGE}")
