"""The cheapest reading of a release: how many architectures and methods its registry holds.

Three members of the wheel and no RECORD. For questions over many releases, where a full reading
would move a hundred times as much.
"""

from __future__ import annotations

from pathlib import Path

from seatrial.facts.extract import sglang, vllm
from seatrial.facts.extract.findings import Findings, Source
from seatrial.facts.reach.artefact import remote_wheel
from seatrial.facts.reach.index import Index
from seatrial.facts.sync import release_file


def counts(engine: str, version: str, index: Index, *, cache: Path | None = None) -> dict[str, int]:
    """Entries of each small table of one release: predicate in the plural -> how many.

    SGLang keeps its methods and dtypes in its command-line module alone, which the sweep leaves
    unread: its answer holds architectures and nothing else, rather than a zero.

    Raises:
        UsageError: no such version. PrerequisiteError: the index cannot be read.
    """
    file = release_file(engine, version, index)
    wheel = remote_wheel(file, index.client, cache=cache)
    source = Source(wheel, version, check=False)
    findings = Findings(source, engine, version)
    if engine == "sglang":
        paths = source.glob("sglang/srt/models/*.py")
        source.fetch(paths)
        sglang.architectures(findings, paths)
        return {"architectures": _architectures(findings)}
    vllm.small_tables(findings)
    return {
        "architectures": _architectures(findings),
        "quantization": len({r[0] for r in findings.rows.get("quantization", [])}),
        "kv_cache_dtype": len(findings.rows.get("kv_cache_dtype", [])),
    }


def _architectures(findings: Findings) -> int:
    """Architectures served, natively or through transformers; the wildcard is not one."""
    rows = findings.rows.get("architecture", [])
    return sum(r[0] != "*" and r[1] in ("native", "fallback") for r in rows)
