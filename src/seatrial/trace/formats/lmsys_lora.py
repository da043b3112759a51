"""The multi-adapter trace of S-LoRA and VTC (chat.lmsys.org), as JSON lines.

``req_time`` in seconds, ``adapter`` the LoRA id, ``prompt_len`` and ``output_len`` in tokens. The
authors had rescaled the real arrivals to ten minutes.
"""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Reader

FLAT = Flat(
    time="req_time",
    unit="s",
    input="prompt_len",
    output="output_len",
    labels={"model": "model", "adapter": "adapter"},
)


def _sniff(head: Head) -> int:
    return 95 if {"req_time", "adapter", "prompt_len", "output_len"} <= head.columns else 0


READER = Reader(
    id="lmsys-lora",
    title="S-LoRA / VTC multi-adapter trace (JSON lines)",
    tested=True,
    sniff=_sniff,
    read=FLAT.read,
)
