"""One person, one machine: load, unload, switch; memory; the context's price; after idle."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

from seatrial.probe.family.bench import Stand, forced, made_per_s, resident, rounded, words_for
from seatrial.probe.family.record import FamilyTrial, Value
from seatrial.probe.subject import Subject
from seatrial.telemetry import Sampler

DEPTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
ANSWER = 24
IDLE_S = 8.0
_MIB = 1 << 20


def load_unload_switch(stand: Stand, other: Path | None) -> FamilyTrial:
    """Start it, stop it, and change to another model (the same one again if there is no other)."""
    first = stand.start("load")
    loaded, held = first.cold_start_s.get("total"), resident(first.pid)
    began = time.monotonic()
    first.stop()
    unloaded_s = time.monotonic() - began
    second = stand.start("switch", artefact=other)
    switched_s = time.monotonic() - began
    after = resident(second.pid)
    second.stop()
    to = other.name if other is not None else "the same model again (no other is at hand)"
    rows: list[list[Value]] = [
        ["load, to the first token", rounded(loaded, 2), _mib(held)],
        ["unload, to the end of the process", round(unloaded_s, 2), 0],
        [f"switch to {to}, to its first token", round(switched_s, 2), _mib(after)],
    ]
    says = f"loaded in {_s(loaded)}, switched in {switched_s:.1f} s, {_mib(held)} MiB resident"
    return FamilyTrial(
        id="load_unload_switch", says=says, columns=["what", "s", "resident, MiB"], rows=rows
    )


def context_sweep(stand: Stand, subject: Subject) -> FamilyTrial:
    """Memory and speed at growing lengths of the prompt, each prompt new to the cache."""
    limit = subject.context_tokens or DEPTHS[3]
    depths = [d for d in DEPTHS if d + ANSWER + 48 <= limit]
    rows: list[list[Value]] = []
    peak: int | None = None
    for depth in depths:
        with Sampler(subject.engine.pid, interval_s=0.05) as sampler:
            spoken = subject.speak(words_for(subject, depth), ANSWER, **forced(subject))
        seen = sampler.result().resources()["rss_peak_bytes"]
        peak = max(filter(None, (peak, int(seen) if seen else None)), default=None)
        sent = (spoken.usage or {}).get("prompt_tokens")
        ttft = spoken.ttft_ms
        prefill = sent / ttft * 1e3 if isinstance(sent, int) and ttft else None
        rows.append(
            [
                sent if isinstance(sent, int) else depth,
                rounded(ttft),
                rounded(prefill),
                rounded(made_per_s(spoken)),
                _mib(int(seen) if seen else None),
            ]
        )
    columns = ["prompt, tokens", "TTFT, ms", "prefill, tokens/s", "decode, tokens/s", "RSS, MiB"]
    return FamilyTrial(
        id="context_sweep",
        says=f"peak {_mib(peak)} MiB over prompts of {depths[0]} to {depths[-1]} tokens"
        if depths
        else "its context is too short for a sweep",
        columns=columns,
        rows=rows,
    )


def after_idle(stand: Stand, subject: Subject) -> FamilyTrial:
    """The first answer after a pause against answers without one."""
    warm = [subject.speak(words_for(subject, 48), 8).ttft_ms for _ in range(4)][1:]
    stand.progress.step("family", f"idle for {IDLE_S:g} s")
    time.sleep(IDLE_S)
    first = subject.speak(words_for(subject, 48), 8).ttft_ms
    second = subject.speak(words_for(subject, 48), 8).ttft_ms
    usual = median([w for w in warm if w is not None] or [0.0]) or None
    ratio = first / usual if first and usual else None
    rows: list[list[Value]] = [
        ["warm, median of 3", rounded(usual)],
        [f"first after {IDLE_S:g} s idle", rounded(first)],
        ["second after it", rounded(second)],
    ]
    times = f"{ratio:.2f} times the warm one" if ratio else "not comparable"
    return FamilyTrial(
        id="after_idle",
        says=f"the first answer after {IDLE_S:g} s idle takes {times}",
        columns=["answer", "TTFT, ms"],
        rows=rows,
    )


def _mib(count: int | None) -> int | None:
    return None if count is None else round(count / _MIB)


def _s(value: float | None) -> str:
    return "an unknown time" if value is None else f"{value:.1f} s"
