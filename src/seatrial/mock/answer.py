"""One answer under way: tokens come from the engine, events go out, faults happen.

The truth is stamped just before the write that carries a token.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from seatrial.mock.engine import Job
from seatrial.mock.http import Channel
from seatrial.mock.scheduler import Sequence
from seatrial.mock.shapes import ChatShape, Usage, without_usage
from seatrial.mock.tokens import word
from seatrial.mock.truth import Truth

_HALF = frozenset({"reset_mid", "eof_mid", "cut", "stall", "malformed_mid", "cut_json",
                   "error_mid", "early_stop"})  # fmt: skip


class Answer:
    """The life of one generation request on one connection.

    Args:
        burst: tokens per event (a parser, speculative decoding or async output makes it > 1).
        reasoning_tokens: how many of the first tokens are reasoning.
        finished: called once with the truth when it ends, however it ends.
    """

    def __init__(
        self,
        channel: Channel,
        shape: ChatShape,
        sequence: Sequence,
        truth: Truth,
        *,
        stream: bool,
        send_usage: bool,
        natural_stop: bool,
        burst: int,
        reasoning_tokens: int,
        per_token: bool,
        single_use: bool = False,
        usage: str = "true",
        finished: Callable[[Answer], None],
    ) -> None:
        self.channel = channel
        self.shape = shape
        self.sequence = sequence
        self.truth = truth
        self.job = Job(sequence, self._emit)
        self._stream = stream
        self._send_usage = send_usage
        self._finish = "stop" if natural_stop else "length"
        self._burst = burst
        self._reasoning_tokens = reasoning_tokens
        self._per_token = per_token
        self._single_use = single_use
        self._usage_kind = usage
        self._finished = finished
        self._held = 0
        self._count = 0
        self._parts: list[str] = []
        self._half = max(1, sequence.output_tokens // 2)
        self.over = False
        self.silent = False

    def begin(self) -> None:
        """Headers and whatever precedes the first token."""
        fault = self.truth.fault
        if not self._stream or fault == "hang":
            return
        kind = {"Content-Type": self.shape.content_type, "Cache-Control": "no-cache"}
        self.channel.head(200, {**kind, "Transfer-Encoding": "chunked"})
        if fault == "error_in_200":
            self.channel.chunk(self.shape.error("CUDA error: an illegal memory access"))
            self._end_stream()
        elif fault == "malformed_json":
            self.channel.chunk(b"data: {not json\n\n")
            self._end_stream()
        elif fault == "reset_headers":
            self.channel.reset()
        else:
            self.channel.chunk(self.shape.opening())

    def gone(self) -> None:
        """The client closed before the end."""
        self._over(aborted=True)

    def _emit(self, count: int) -> None:
        if self.over:
            return
        self._count += count
        self._held += count
        last = self._count >= self.sequence.output_tokens
        if self.truth.fault in _HALF and self._count >= self._half:
            self._break()
            if self.truth.fault != "malformed_mid:sent":
                return
        if self._held >= self._burst or last:
            self._release()
        if last:
            self._complete()

    def _release(self) -> None:
        start, self._held = self._count - self._held, 0
        text = "".join(word(i) for i in range(start, self._count))
        now = time.perf_counter_ns()
        if self.truth.first_token_ns < 0:
            self.truth.first_token_ns = now
        self.truth.last_token_ns = now
        if self._per_token:
            self.truth.token_ns.append(now)
        self.truth.output_tokens = self._count
        if self.silent or self.truth.fault == "hang":
            return
        if self._stream and self.truth.fault == "endless_line":
            self.channel.chunk(b"data: " + text.encode() if start == 0 else text.encode())
        elif self._stream:
            event = self.shape.token(text, reasoning=start < self._reasoning_tokens)
            self.channel.chunk(event)
        else:
            self._parts.append(text)

    def _usage(self) -> Usage:
        factor = 2 if self.truth.fault == "wrong_usage" else 1
        cached = self.sequence.cached if self.shape.dialect.reports_cached else None
        told = 1 if self._usage_kind == "constant" else self.truth.input_tokens
        return Usage(told, self._count * factor, cached)

    def _complete(self) -> None:
        fault = self.truth.fault
        if fault == "hang":
            return
        if not self._stream:
            body = self.shape.whole("".join(self._parts), self._finish, self._usage())
            if self._usage_kind == "none":
                body = without_usage(body)
            self.channel.answer(200, body)
            self._over(aborted=False)
            return
        end = self.shape.final(self._finish)
        if self._send_usage and fault != "no_usage":
            end += self.shape.usage(self._usage())
        if fault != "no_done":
            end += self.shape.done()
        self.channel.chunk(end)
        self._end_stream()
        if fault == "trailing_garbage":
            self.channel.write(b"\x00garbage after the end")

    def _break(self) -> None:
        """Half-way faults."""
        fault = self.truth.fault
        if fault == "stall":
            self.silent = True
            return
        self._release()
        if fault == "reset_mid":
            self.channel.reset()
        elif fault == "eof_mid":
            self.channel.close()
        elif fault == "cut_json":
            event = self.shape.token("cut", reasoning=False)
            self.channel.write(b"%x\r\n%b" % (len(event), event[: len(event) // 2]))
            self.channel.close()
        elif fault == "malformed_mid":
            self.channel.chunk(b"data: {not json\n\n")
            self.truth.fault = "malformed_mid:sent"
        elif fault == "error_mid":
            self.channel.chunk(self.shape.error("the engine core died"))
            self._end_stream()
        elif fault == "early_stop":
            end = self.shape.final("stop")
            self.channel.chunk(end + self.shape.usage(self._usage()) + self.shape.done())
            self._end_stream()
        else:
            self._end_stream()

    def _end_stream(self) -> None:
        self.channel.end_chunks()
        self._over(aborted=False)
        if self._single_use:
            self.channel.close()

    def _over(self, *, aborted: bool) -> None:
        if self.over:
            return
        self.over = True
        self.channel.on_gone = None
        self.truth.aborted = aborted
        self.truth.cached_tokens = self.sequence.cached
        self.truth.preemptions = self.sequence.preemptions
        self._finished(self)
