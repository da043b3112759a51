"""Where to look first when a metric got worse: what changed, in the order of what it acts on.

A table of words, not a proof. A change that acts on the metric's own mechanism (attention and
prefix cache on TTFT, kernels and batch limits on TPOT) comes before a version number, and a log
line that speaks of a fallback before everything else.
"""

from __future__ import annotations

import re

from seatrial.decide.changed import Changed, Difference

MOST = 8
_FALLBACK = re.compile(r"fallback|falling back|not support|unsupported|disabl|slow", re.IGNORECASE)
_ACTS_ON: dict[str, re.Pattern[str]] = {
    "ttft_ms": re.compile(r"prefill|chunk|prefix|cache|batch|attention|queue|seqs|slot|context"),
    "tpot_ms": re.compile(r"kernel|quant|dtype|graph|specul|batch|thread|attention|kv|precision"),
    "itl_ms": re.compile(r"kernel|quant|dtype|graph|specul|batch|thread|chunk|stream|preempt"),
    "e2e_ms": re.compile(r"kernel|quant|dtype|graph|batch|seqs|slot|thread|cache|attention"),
    "output_tokens_per_s": re.compile(r"kernel|quant|dtype|graph|batch|seqs|slot|thread|memory"),
    "goodput": re.compile(r"batch|seqs|slot|cache|timeout|queue|context|memory"),
    "rss_peak_bytes": re.compile(r"cache|mmap|memory|context|quant|dtype|slot"),
    "gpu_mem_peak_bytes": re.compile(r"cache|memory|graph|context|quant|dtype|seqs"),
    "cold_start_s": re.compile(r"graph|compil|load|mmap|cache|warm"),
}


def causes_of(metric: str, changed: Changed) -> list[str]:
    """Likely causes in words, most likely first; empty when nothing is known to have changed."""
    pattern = _ACTS_ON.get(metric.split(".")[0])
    ranked: list[tuple[int, str]] = []
    for kind in ("logs", "settings", "flags", "facts", "versions"):
        for difference in getattr(changed, kind):
            ranked.append((_weight(kind, difference, pattern), _says(kind, difference)))
    ranked.sort(key=lambda r: r[0])
    return [text for weight, text in ranked if weight < 9][:MOST]


def _weight(kind: str, d: Difference, pattern: re.Pattern[str] | None) -> int:
    text = f"{d.name} {d.old} {d.new}"
    fits = bool(pattern and pattern.search(text.lower()))
    if kind == "logs":
        return 0 if d.new and _FALLBACK.search(text) else 6 if fits else 9
    if kind == "versions":
        return 4 if d.name == "engine_version" else 5 if d.name != "seatrial" else 8
    if kind == "facts":
        return 3 if fits else 7
    return 1 if fits else 5


def _says(kind: str, d: Difference) -> str:
    what = {"logs": "log", "settings": "setting", "flags": "flag", "facts": "fact"}
    name = what.get(kind, "version")
    if kind == "logs":
        return f"log line {'new' if d.new else 'gone'}: {str(d.new or d.old)[:160]}"
    return f"{name} {d.name}: {str(d.old)[:80]} then, {str(d.new)[:80]} now"
