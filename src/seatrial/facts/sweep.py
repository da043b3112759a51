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
    """Entries of the registry, quantisation methods, KV dtypes of one release.

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
    else:
        vllm.small_tables(findings)
    rows = findings.rows
    names = [r for r in rows.get("architecture", []) if r[1] in ("native", "fallback")]
    return {
        "architectures": sum(r[0] != "*" for r in names),
        "quantization": len({r[0] for r in rows.get("quantization", [])}),
        "kv_cache_dtype": len(rows.get("kv_cache_dtype", [])),
    }
