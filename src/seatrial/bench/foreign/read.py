"""Find out which tool wrote a file, and read it. A stranger's file: bounded, never trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from seatrial.bench.foreign import aiperf, blis, flat, guidellm
from seatrial.bench.foreign.evidence import Evidence
from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_bytes

MAX_BYTES = 512 << 20


def read(path: Path) -> list[Evidence]:
    """Evidence in a result file of AIPerf, GuideLLM, vLLM's or SGLang's bench, or BLIS.

    Raises:
        UsageError: it cannot be read, or is none of these.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise UsageError(
            f"the file cannot be read: {error.strerror}",
            where=str(path),
            remedy="check the name and the permissions",
        ) from None
    if size > MAX_BYTES:
        raise UsageError(
            f"the file has {size} bytes; at most {MAX_BYTES} are read",
            where=path.name,
            remedy="give the aggregate export instead",
        )
    rows = _rows(data, path.name)
    found = _evidence(rows, path.name, sha256_bytes(data))
    if not found:
        raise UsageError(
            "this is no result of AIPerf, GuideLLM, vllm bench, SGLang's bench or BLIS",
            where=path.name,
            remedy="give profile_export.jsonl, profile_export_aiperf.json, benchmarks.json, "
            "or the JSON that vllm bench serve or sglang bench_serving saved",
        )
    return found


def _rows(data: bytes, name: str) -> list[dict[str, Any]]:
    """One object, or one a line."""
    try:
        whole = msgspec.json.decode(data)
        return [whole] if isinstance(whole, dict) else []
    except (msgspec.DecodeError, RecursionError):
        pass
    rows = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            raise UsageError(
                "neither JSON nor JSON lines", where=f"{name}, line {number}", remedy="see --help"
            ) from None
        if isinstance(row, dict):
            rows.append(row)
    return rows


def _evidence(rows: list[dict[str, Any]], name: str, sha256: str) -> list[Evidence]:
    if not rows:
        return []
    first = rows[0]
    if isinstance(first.get("metadata"), dict) and "metrics" in first and len(first) <= 8:
        return [aiperf.read_records(rows, name, sha256)]
    if isinstance(first.get("benchmarks"), list):
        return guidellm.read(first, name, sha256)
    if isinstance(first.get("time_to_first_token"), dict) or "input_config" in first:
        return [aiperf.read_aggregate(first, name, sha256)]
    if blis.is_blis(first):
        return [blis.read(row, name, sha256) for row in rows if blis.is_blis(row)]
    if "mean_ttft_ms" in first:
        tool = "sglang bench" if "mean_e2e_latency_ms" in first else "vllm bench"
        return [flat.read(row, tool, name, sha256) for row in rows if "mean_ttft_ms" in row]
    return []
