"""How much of the memory bandwidth single-stream decoding reaches.

Decoding one token at batch 1 reads every weight once, so bytes/s reached = weight bytes x
tokens/s (the KV cache, small here, is left out: a lower bound). Attainable is measured on CPUs
by a copy of a large array on as many threads as the engine has, here and now; for a GPU it is
the caller's figure from the data sheet. After the roofline model, Williams et al., CACM 52 (2009).
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from seatrial.probe.subject import Subject

_BYTES = 64 << 20
_SECONDS = 0.3
TOKENS = 32


def cpu_bandwidth(threads: int) -> float:
    """Bytes read per second by ``threads`` threads that each sum an array out of cache."""
    import numpy as np

    counts = [0] * threads
    arrays = [np.ones(_BYTES // 8) for _ in range(threads)]
    end = time.monotonic() + _SECONDS

    def work(index: int) -> None:
        while time.monotonic() < end:
            arrays[index].sum()
            counts[index] += 1

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(counts) * _BYTES / (time.monotonic() - began)


def roofline(
    subject: Subject, attainable_bytes_per_s: float | None = None
) -> dict[str, Any] | None:
    """Reached and attainable bytes/s of decoding one stream; None where it cannot be told."""
    engine = subject.engine
    if engine.artefact is None or engine.pid is None:
        return None
    extra = {"ignore_eos": True} if engine.adapter.ignore_eos else {}
    spoken = subject.speak("Tell a long story.", TOKENS, **extra)
    made = (spoken.usage or {}).get("completion_tokens")
    if not made or made < 8 or len(spoken.content_ms) < 2:
        return None
    seconds = (spoken.content_ms[-1] - spoken.content_ms[0]) / 1e3
    rate = (made - 1) / seconds if seconds > 0 else 0.0
    size = _weight_bytes(engine.artefact)
    threads = subject.effective.get("threads")
    how = "given"
    if attainable_bytes_per_s is None:
        how = "measured: summing arrays out of cache on the engine's number of threads"
        attainable_bytes_per_s = cpu_bandwidth(threads if isinstance(threads, int) else 1)
    return {
        "decode_tokens_per_s": round(rate, 2),
        "weight_bytes": size,
        "reached_bytes_per_s": round(size * rate),
        "attainable_bytes_per_s": round(attainable_bytes_per_s),
        "attainable": how,
        "share": round(size * rate / attainable_bytes_per_s, 3),
    }


def _weight_bytes(artefact: Path) -> int:
    if artefact.is_file():
        return artefact.stat().st_size
    endings = (".safetensors", ".gguf", ".bin")
    return sum(f.stat().st_size for f in artefact.iterdir() if f.name.endswith(endings))
