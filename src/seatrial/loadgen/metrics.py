"""The metrics: one declarative class each, with formula, unit and when it applies.

``values`` gives one number per request, or per event where the class says so, over the completed
requests only; what failed misses every SLO and is counted apart. docs/method/metrics.md is
generated from these classes, so that formula and code cannot part.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from seatrial.core.units import NS_PER_MS
from seatrial.loadgen.records import Records

Floats = NDArray[np.float64]


class Metric:
    """A latency-like quantity. Subclasses say what it is; instances are not needed."""

    name: ClassVar[str]
    title: ClassVar[str]
    unit: ClassVar[str] = "ms"
    formula: ClassVar[str]
    applies: ClassVar[str]
    per: ClassVar[str] = "request"

    @classmethod
    def values(cls, records: Records) -> Floats:
        """The values, in ``unit``; requests to which it does not apply are left out."""
        per_request = cls.of_each(records)
        return per_request[~np.isnan(per_request)]

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        """One value per request in order of the records, NaN where it does not apply."""
        raise NotImplementedError


def _ms(records: Records, later: str, earlier: str) -> Floats:
    """later - earlier in ms; NaN where either is missing or the request did not complete."""
    a, b = records.ints[later], records.ints[earlier]
    known = (a >= 0) & (b >= 0) & records.completed
    return np.where(known, (a - b) / NS_PER_MS, np.nan)


class Ttft(Metric):
    """Time to first token."""

    name, title = "ttft_ms", "TTFT"
    formula = "first_token_ns - scheduled_ns"
    applies = "completed requests with content; first event with text, reasoning or tool-call text"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        return _ms(records, "first_token_ns", "scheduled_ns")


class TtftText(Metric):
    """Time to the first token that is answer text, after any reasoning."""

    name, title = "ttft_text_ms", "TTFT (text)"
    formula = "first_text_ns - scheduled_ns"
    applies = "completed requests with answer text"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        return _ms(records, "first_text_ns", "scheduled_ns")


class TtftReasoning(Metric):
    """Time to the first reasoning token."""

    name, title = "ttft_reasoning_ms", "TTFT (reasoning)"
    formula = "first_reasoning_ns - scheduled_ns"
    applies = "completed requests with reasoning text"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        return _ms(records, "first_reasoning_ns", "scheduled_ns")


class Ttst(Metric):
    """Time to the second event with content."""

    name, title = "ttst_ms", "TTST"
    formula = "event_ns[1] - scheduled_ns"
    applies = "completed requests with at least two events"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        counts = np.diff(records.event_offsets)
        several = (counts > 1) & records.completed
        out = np.full(records.n, np.nan)
        second = records.event_ns[records.event_offsets[:-1][several] + 1]
        out[several] = (second - records.ints["scheduled_ns"][several]) / NS_PER_MS
        return out


class E2e(Metric):
    """End-to-end latency."""

    name, title = "e2e_ms", "E2E"
    formula = "last_token_ns - scheduled_ns"
    applies = "completed requests with content"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        return _ms(records, "last_token_ns", "scheduled_ns")


class Tpot(Metric):
    """Time per output token after the first event."""

    name, title = "tpot_ms", "TPOT"
    formula = "(last_token_ns - first_token_ns) / (output_tokens - 1)"
    applies = "completed, streamed requests with at least two output tokens and two events"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        span = _ms(records, "last_token_ns", "first_token_ns")
        tokens = records.ints["output_tokens"].astype(np.float64)
        tokens[(tokens < 2) | (np.diff(records.event_offsets) < 2)] = np.nan
        return span / (tokens - 1)


class NormalisedLatency(Metric):
    """End-to-end latency per output token, TTFT included."""

    name, title = "normalised_latency_ms", "normalised latency"
    unit = "ms/token"
    formula = "(last_token_ns - scheduled_ns) / output_tokens"
    applies = "completed requests with content"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        tokens = records.ints["output_tokens"].astype(np.float64)
        tokens[tokens < 1] = np.nan
        return E2e.of_each(records) / tokens


class Itl(Metric):
    """Inter-token latency as a client sees it: the gap between two events with content."""

    name, title, per = "itl_ms", "ITL", "event"
    formula = "event_ns[k] - event_ns[k-1], all k >= 1 of all completed requests"
    applies = "streams with about one token an event; unusable where events are far fewer"

    @classmethod
    def values(cls, records: Records) -> Floats:
        """All gaps of all completed requests, in ms."""
        return _gaps(records)[0]

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        """The largest gap of each request: a stall inside an answer stays visible."""
        gaps, owner = _gaps(records)
        out = np.full(records.n, -np.inf)
        np.maximum.at(out, owner, gaps)
        out[np.isinf(out)] = np.nan
        return out


class ItlPerToken(Metric):
    """Gaps spread over the tokens of the event that ends them."""

    name, title, per = "itl_token_ms", "ITL per token", "token"
    formula = "each gap / tokens of its event; an event's tokens are output_tokens / events"
    applies = "completed, streamed requests; equals ITL where an event is one token"

    @classmethod
    def values(cls, records: Records) -> Floats:
        """One value per token that follows the first event."""
        gaps, owner = _gaps(records)
        events = np.diff(records.event_offsets).astype(np.float64)
        tokens = np.maximum(records.ints["output_tokens"], events)
        per_event = np.divide(tokens, events, out=np.ones(records.n), where=events > 0)
        return gaps / per_event[owner]

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        return Tpot.of_each(records)


class Fluidity(Metric):
    """How steadily tokens came, against two targets (Agrawal et al., Etalon, arXiv 2407.07000).

    An early token leaves slack for the next ones; a late one sets the schedule anew.
    """

    name, title, unit = "fluidity", "fluidity", "share"
    formula = (
        "share of tokens that came by their deadline: deadline_0 = scheduled + TTFT target, "
        "deadline_k = max(deadline_k-1, event_k-1 if it was late) + ITL target"
    )
    applies = "completed, streamed requests; needs both targets"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        """Without targets there is no fluidity: all NaN."""
        return np.full(records.n, np.nan)

    @classmethod
    def of_targets(cls, records: Records, ttft_ms: float, itl_ms: float) -> Floats:
        """The share of each request's events that met their deadline."""
        out = np.full(records.n, np.nan)
        step, first = round(itl_ms * NS_PER_MS), round(ttft_ms * NS_PER_MS)
        for i in np.flatnonzero(records.completed & (np.diff(records.event_offsets) > 0)):
            events = records.event_ns[records.event_offsets[i] : records.event_offsets[i + 1]]
            deadline = int(records.ints["scheduled_ns"][i]) + first
            met = 0
            for event in events.tolist():
                met += event <= deadline
                deadline = max(deadline, event) + step
            out[i] = met / len(events)
        return out


class ReceiveLateness(Metric):
    """How late the client sent."""

    name, title = "lateness_ms", "lateness"
    formula = "sent_ns - scheduled_ns"
    applies = "every request that was sent"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        sent = records.ints["sent_ns"]
        late = (sent - records.ints["scheduled_ns"]) / NS_PER_MS
        return np.where(sent >= 0, late, np.nan)


class Connect(Metric):
    """Time to open the connection, where one had to be opened; it is inside TTFT too."""

    name, title = "connect_ms", "connect"
    formula = "connect_ns"
    applies = "requests that opened a connection"

    @classmethod
    def of_each(cls, records: Records) -> Floats:
        took = records.ints["connect_ns"]
        return np.where(took >= 0, took / NS_PER_MS, np.nan)


METRICS: tuple[type[Metric], ...] = (
    Ttft,
    TtftText,
    TtftReasoning,
    Ttst,
    Itl,
    ItlPerToken,
    Tpot,
    E2e,
    NormalisedLatency,
    Fluidity,
    ReceiveLateness,
    Connect,
)


def _gaps(records: Records) -> tuple[Floats, NDArray[np.int64]]:
    """Gaps between neighbouring events of one request, in ms, and whose they are."""
    if len(records.event_ns) < 2:
        return np.empty(0), np.empty(0, np.int64)
    owner = np.repeat(np.arange(records.n), np.diff(records.event_offsets))
    inside = (owner[1:] == owner[:-1]) & records.completed[owner[1:]]
    gaps = np.diff(records.event_ns)[inside] / NS_PER_MS
    return gaps, owner[1:][inside]


def window_s(records: Records) -> float:
    """From the first scheduled time to the last end of an answer, in seconds."""
    if not records.n:
        return 0.0
    begin = int(records.ints["scheduled_ns"].min())
    end = int(records.ints["done_ns"].max())
    return max(0.0, (end - begin) / 1e9)


def output_tokens(records: Records) -> int:
    """Output tokens of the completed requests."""
    return int(records.ints["output_tokens"][records.completed].clip(min=0).sum())
