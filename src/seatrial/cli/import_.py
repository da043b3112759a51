"""``seatrial import``: results of other load generators as evidence of a lower grade."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(name="import", help="Read results of AIPerf, GuideLLM, vllm bench, SGLang's bench, BLIS.")


@app.default
def import_(
    *files: Path,
    out: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> int:
    """Read other tools' results and say what they are worth.

    Args:
        files: result files
        out: file for the evidence as JSON
        json: print one JSON document
    """
    from seatrial.bench.foreign import read
    from seatrial.core.errors import UsageError
    from seatrial.store import write

    if not files:
        raise UsageError("no file was given", where="seatrial import", remedy="name result files")
    console = Console(as_json=json)
    found = [evidence for path in files for evidence in read(path)]
    document = {"schema": "seatrial/import/1", "evidence": found}
    if out is not None:
        write(out, document)
    console.document(document)
    for evidence in found:
        console.title(f"{evidence.source}: {evidence.tool}, grade {evidence.grade}")
        rows = [
            [name, *_shown(list(m.statistics.values())), m.definition]
            for name, m in evidence.metrics.items()
        ]
        console.table(
            ["", "mean", "p50", "p90", "p95", "p99", "definition"], rows, right=range(1, 6)
        )
        console.line("not recorded: " + "; ".join(evidence.missing))
    if out is not None:
        console.done([out])
    return 0


def _shown(values: list[float | None]) -> list[str]:
    return ["-" if value is None else f"{value:.2f}" for value in values]
