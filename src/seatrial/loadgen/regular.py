"""The short way through a regular answer: chunked event stream, whole events, nothing odd.

Nearly every answer is one: each chunk holds whole events, and an event differs from the one before
it in the text alone. From an event that was decoded, ``Template`` remembers the bytes before and
after the text. An event with the same bytes around a text without quote, backslash or line end is
the same JSON with another text: it needs no decoding. Whatever does not fit makes ``read_regular``
give up, and the answer is read the long way (``reading``); the tests hold the two against each
other.
"""

from __future__ import annotations

import re
from array import array
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from seatrial.loadgen.aligned import Scan
from seatrial.loadgen.answer import MALFORMED, Said, read_event
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.outcome import Outcome, mark_first, take

_PLAIN_LOSSES = 64
_odd = re.compile(rb'["\\\r\n]').search  # what a JSON string does not hold as it is


class Template:
    """The bytes around the text of a content event."""

    def __init__(self) -> None:
        self.before = b""
        self.after = b""
        self.kinds = 0
        self._losses = 0

    def learn(self, event: bytes, said: Said) -> None:
        """Remember the surroundings of this event's text, if they are unmistakable."""
        if not said.kinds or said.finish or said.usage or said.error:
            return
        self._losses += 1
        text = said.text.encode()
        if self._losses > _PLAIN_LOSSES or b'"' in text or b"\\" in text or not text:
            return
        for opening in (b'":"', b'": "'):
            if event.count(opening + text + b'"') == 1:
                at = event.index(opening + text + b'"') + len(opening)
                self.before, self.after = event[:at], event[at + len(text) :]
                self.kinds = said.kinds
                return

    @property
    def before_bytes(self) -> NDArray[np.uint8]:
        """What comes before the text, as numbers."""
        return np.frombuffer(self.before, np.uint8)

    @property
    def after_bytes(self) -> NDArray[np.uint8]:
        """What comes after the text, with the chunk's line end, as numbers."""
        return np.frombuffer(self.after + b"\r\n", np.uint8)

    def lead(self, length: int) -> bytes:
        """Chunk size and surroundings at the head of a read of so many bytes, one event in it."""
        for digits in range(1, 6):
            size = b"%x" % max(0, length - digits - 4)
            if len(size) == digits:
                return size + b"\r\n" + self.before
        return b"\x00"


def read_regular(
    outcome: Outcome, raw: RawExchange, start: int, route: str, scan: Scan | None = None
) -> bool:
    """Enter all events of a whole, regular answer; False (and nothing entered) if it is not one.

    Args:
        start: where the body begins in ``raw.data``.
        scan: the compiled pass, if there is one.
    """
    walk = _Walk(raw, start, route) if scan is None else _CompiledWalk(raw, start, route, scan)
    if not walk.run():
        return False
    for stamp, said in walk.others:
        take(outcome, stamp, said)
    outcome.event_ns = walk.events
    if walk.events:
        outcome.last_token_ns = walk.events[-1]
        for stamp, kinds in walk.firsts:
            mark_first(outcome, stamp, kinds)
    outcome.text = b"".join(walk.texts).decode("utf-8", "replace")
    if not walk.done and outcome.finish_reason is not None:
        outcome.findings.append("no_done")
    return True


class _Walk:
    """One pass over the reads of an answer."""

    def __init__(self, raw: RawExchange, start: int, route: str) -> None:
        self.data = raw.data
        self.stamps = array("q", raw.stamps)
        self.lengths = array("I", raw.lengths)
        self.ends = list(accumulate(self.lengths))
        self.start = start
        self.read = 0
        self.route = route
        self.template = Template()
        self.events: list[int] = []
        self.texts: list[bytes] = []
        self.others: list[tuple[int, Said]] = []
        self.firsts: list[tuple[int, int]] = []
        self.done = False

    def run(self) -> bool:
        """Whole answer; False at the first thing that is not regular."""
        while (more := self._chunk()) is not None:
            if not more:
                return False
            self._aligned()
        return True

    def _aligned(self) -> None:
        """Take reads that are one chunk with one event like the last one, as many as there are."""
        template, data, stamps, lengths = self.template, self.data, self.stamps, self.lengths
        after = template.after + b"\r\n"
        n_after = len(after)
        read, start = self.read, self.start
        if not template.before or self.ends[read] != start:
            return
        texts = self.texts
        first = number = read + 1
        leads: dict[int, bytes] = {}
        for length, end in zip(lengths[first:], self.ends[first:], strict=True):
            lead = leads.get(length)
            if lead is None:
                lead = leads[length] = template.lead(length)
            if not (data.startswith(lead, start) and data.endswith(after, start, end)):
                break
            text = data[start + len(lead) : end - n_after]
            if not text or _odd(text):
                break
            texts.append(text)
            number += 1
            start = end
        self.events += stamps[first:number]
        self.read, self.start = number - 1, start

    def _chunk(self) -> bool | None:
        """One chunk of whole events; None at the last chunk, False if it is not regular."""
        data, start = self.data, self.start
        line = data.find(b"\r\n", start, start + 20)
        try:
            size = int(data[start:line], 16) if line > start else -1
        except ValueError:
            return False
        end = line + 2 + size
        if size <= 0:
            return None if size == 0 and data[end:] == b"\r\n" else False
        if data[end : end + 2] != b"\r\n" or data[end - 2 : end] != b"\n\n":
            return False
        while self.ends[self.read] < end:
            self.read += 1
        stamp = self.stamps[self.read]
        # The CRLF of a chunk may come in a read of its own.
        while self.ends[self.read] < end + 2:
            self.read += 1
        self.start = end + 2
        return self._events(data[line + 2 : end - 2].split(b"\n\n"), stamp)

    def _events(self, found: list[bytes], stamp: int) -> bool:
        for event in found:
            if event[:6] != b"data: " or b"\n" in event or b"\r" in event:
                return False
            if event == b"data: [DONE]":
                self.done = True
                continue
            said = read_event(self.route, event[6:])
            if said is MALFORMED:
                return False
            # Content is entered once, here; the rest (finish, usage, error) by ``take``.
            self.others.append((stamp, Said(0, "", said.finish, said.usage, said.error)))
            if said.kinds:
                self.events.append(stamp)
                self.texts.append(said.text.encode())
                self.firsts.append((stamp, said.kinds))
                if len(found) == 1:
                    self.template.learn(event + b"\n\n", said)
        return True


class _CompiledWalk(_Walk):
    """The same with the aligned reads taken in one compiled pass."""

    def __init__(self, raw: RawExchange, start: int, route: str, scan: Scan) -> None:
        super().__init__(raw, start, route)
        self._scan = scan
        self._bytes = np.frombuffer(raw.data, np.uint8)
        self._ends = np.array(self.ends, np.int64)
        self._texts = np.empty(len(raw.data), np.uint8)

    def _aligned(self) -> None:
        template = self.template
        first = self.read + 1
        if not template.before or self.ends[self.read] != self.start or first == len(self.ends):
            return
        taken, self.start, filled = self._scan(
            self._bytes, self._ends, first, self.start, template.before_bytes,
            template.after_bytes, self._texts,
        )  # fmt: skip
        if taken:
            self.texts.append(self._texts[:filled].tobytes())
            self.events += self.stamps[first : first + taken]
            self.read += taken
