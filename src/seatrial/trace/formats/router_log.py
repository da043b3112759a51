"""Sample logs of vLLM semantic-router's fleet simulator: seconds, two counts, the model chosen."""

from __future__ import annotations

from seatrial.trace.flat import Flat
from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member

WANTED = {"timestamp", "prompt_tokens", "generated_tokens"}


def _sniff(head: Head) -> int:
    return 80 if head.columns >= WANTED and {"model", "selected_model"} & head.columns else 0


def _read(member: Member, rows: Rows, options: Options) -> None:
    chosen = "selected_model" if b"selected_model" in member.head()[:4096] else "model"
    Flat(
        time="timestamp",
        unit="s",
        input="prompt_tokens",
        output="generated_tokens",
        labels={"model": chosen},
    ).read(member, rows, options)


READER = Reader(
    id="semantic-router",
    title="vLLM semantic-router request log (CSV or JSON lines, s)",
    tested=True,
    sniff=_sniff,
    read=_read,
)
