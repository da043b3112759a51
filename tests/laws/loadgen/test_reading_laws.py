"""However an answer is cut into reads, it says the same; and nothing a server sends raises."""

from __future__ import annotations

import itertools
import json
import random
import time
from array import array

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.loadgen import reading
from seatrial.loadgen.aligned import compiled
from seatrial.loadgen.events import MAX_PENDING, ndjson_events, sse_events
from seatrial.loadgen.exchange import RawExchange
from seatrial.loadgen.watch import TokenWatch
from seatrial.mock.dialect import Dialect
from seatrial.mock.shapes import SHAPES, Usage

ROUTES = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
    "ollama": "/api/chat",
}


SCAN = compiled()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def answer(route: str, words: list[str], *, line_end: str = "\n", comment: bytes = b"") -> bytes:
    shape = SHAPES[ROUTES[route]]("r-1", "mock", Dialect(line_end=line_end))
    parts = [shape.opening(), *[shape.token(w, reasoning=False) for w in words], comment]
    parts += [shape.final("length"), shape.usage(Usage(9, len(words), 3)), shape.done()]
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {shape.content_type}\r\n"
    return (
        head.encode()
        + b"Transfer-Encoding: chunked\r\n\r\n"
        + b"".join(chunk(p) for p in parts)
        + b"0\r\n\r\n"
    )


def raw_of(reads: list[bytes], how: str = "whole") -> RawExchange:
    return RawExchange(
        0,
        0,
        1,
        -1,
        10_000,
        how,
        "",
        False,
        array("q", range(1, len(reads) + 1)).tobytes(),
        array("I", map(len, reads)).tobytes(),
        b"".join(reads),
    )


def essence(outcome: reading.Outcome) -> tuple[object, ...]:
    o = outcome
    usage = (o.input_tokens, o.output_tokens, o.cached_tokens)
    return (o.status, o.text, len(o.event_ns), o.finish_reason, usage, o.findings, o.error)


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_two_reads_cut_at_every_boundary(route):
    data = answer(route, [" one", " two", " thr\\u00e9e"])
    whole = essence(reading.judge(raw_of([data]), route, keep_text=True))
    assert whole[:4] == ("completed", " one two thrée", 3, "length")
    assert whole[4] == (9, 3, None if route == "ollama" else 3)
    for cut in range(1, len(data)):
        parts = raw_of([data[:cut], data[cut:]])
        assert essence(reading.judge(parts, route, keep_text=True)) == whole, cut


@settings(max_examples=150, deadline=None)
@given(
    words=st.lists(
        st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=6), min_size=1
    ),
    line_end=st.sampled_from(["\n", "\r\n"]),
    route=st.sampled_from(sorted(ROUTES)),
    seed=st.integers(0, 2**32),
    comment=st.sampled_from([b"", b": keep-alive\n\n"]),
)
def test_any_cut_of_any_text_is_the_same_answer(words, line_end, route, seed, comment):
    escaped = [json.dumps(w)[1:-1] for w in words]
    comment = b"" if route == "ollama" else comment
    data = answer(route, escaped, line_end=line_end, comment=comment)
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, len(data)), min(len(data) - 1, draw.randint(0, 30))))
    reads = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    outcome = reading.judge(raw_of(reads), route, keep_text=True)
    assert outcome.status == "completed"
    assert outcome.text == "".join(words)
    assert len(outcome.event_ns) == len(words)
    assert outcome.event_ns == sorted(outcome.event_ns)


@settings(max_examples=150, deadline=None)
@given(
    words=st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
)
def test_the_short_way_and_the_long_way_agree(words, seed):
    """Same answer, same stamps, whether events are decoded or matched."""
    safe = [w.encode("utf-8", "replace").decode() for w in words]
    data = answer("chat", [json.dumps(w)[1:-1] for w in safe])
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(1, len(data)), min(len(data) - 1, draw.randint(0, 9))))
    raw = raw_of([data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)])
    short = reading.judge(raw, "chat", keep_text=True)
    assert reading.judge(raw, "chat", keep_text=True, scan=SCAN) == short
    unset = reading._read_short
    try:
        reading._read_short = lambda *_: None
        long = reading.judge(raw, "chat", keep_text=True)
    finally:
        reading._read_short = unset
    assert essence(short) == essence(long)
    assert short.event_ns == long.event_ns


def by_chunks(data: bytes) -> list[bytes]:
    """A read for the head, and one for each chunk."""
    head, _, rest = data.partition(b"\r\n\r\n")
    reads = [head + b"\r\n\r\n"]
    while rest:
        size = int(rest[: rest.index(b"\r\n")], 16)
        length = rest.index(b"\r\n") + 4 + size
        reads.append(rest[:length])
        rest = rest[length:]
    return reads


@pytest.mark.parametrize("scan", [None, SCAN], ids=["python", "compiled"])
def test_a_read_for_each_chunk_takes_the_short_way(scan):
    raw = raw_of(by_chunks(answer("chat", [" one", " two", " three", " four"])))
    outcome = reading.judge(raw, "chat", keep_text=True, scan=scan)
    assert reading._read_short(outcome, raw, "chat", scan) is not None
    assert outcome.text == " one two three four"
    assert outcome.first_token_ns == 3  # head, role-only delta, first token


def test_the_compiled_pass_takes_all_but_the_first_event():
    taken = []

    def scan(*args):
        found = SCAN(*args)
        taken.append(found[0])
        return found

    raw = raw_of(by_chunks(answer("chat", [" one", " two", " three", " four" * 40])))
    assert len(reading.judge(raw, "chat", scan=scan).event_ns) == 4
    assert sum(taken) == 3


@settings(max_examples=200, deadline=None)
@given(
    words=st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=12),
    merged=st.sets(st.integers(1, 14), max_size=4),
    damage=st.none() | st.tuples(st.integers(0, 10**6), st.integers(0, 255)),
)
def test_the_compiled_pass_reads_what_the_plain_one_reads(words, merged, damage):
    """Also where chunks share a read, and where a byte was changed on the way."""
    safe = [json.dumps(w.encode("utf-8", "replace").decode())[1:-1] for w in words]
    reads = by_chunks(answer("chat", safe))
    for at in sorted(merged, reverse=True):
        if at + 1 < len(reads):
            reads[at : at + 2] = [reads[at] + reads[at + 1]]
    if damage is not None:
        at, value = damage
        last = bytearray(reads[at % len(reads)])
        last[at % len(last)] = value
        reads[at % len(reads)] = bytes(last)
    raw = raw_of(reads)
    plain = reading.judge(raw, "chat", keep_text=True)
    assert reading.judge(raw, "chat", keep_text=True, scan=SCAN) == plain


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    reads=st.lists(st.binary(min_size=1, max_size=200), max_size=6),
    route=st.sampled_from(sorted(ROUTES)),
    how=st.sampled_from(["whole", "eof", "reset", "stall", "bad_http", "open", "cancelled"]),
    prefix=st.sampled_from(
        [
            b"",
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream"
            b"\r\n\r\n",
            b"HTTP/1.1 500 X\r\nContent-Length: 5\r\n\r\n",
        ]
    ),
)
def test_no_bytes_raise_and_every_exchange_gets_one_status(reads, route, how, prefix):
    raw = raw_of([prefix, *reads] if prefix else reads, how)
    outcome = reading.judge(raw, route)
    assert outcome.status in reading.STATUSES
    if outcome.status == "completed":
        assert outcome.finish_reason is not None
    if outcome.status == "failed":
        assert outcome.error


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) |
       st.dictionaries(st.sampled_from(["choices", "delta", "content", "usage", "error", "text",
       "finish_reason", "message", "type", "response", "done"]), c)))  # fmt: skip
def test_json_of_any_shape_does_not_raise(value):
    data = b"data: " + json.dumps(value).encode() + b"\n\n"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    for route in ROUTES:
        assert reading.judge(raw_of([head, data], "eof"), route).status in reading.STATUSES


@pytest.mark.parametrize("route", ["chat", "completions", "ollama"])
def test_the_token_watch_counts_the_same_at_every_cut(route):
    shape = SHAPES[ROUTES[route]]("r", "m", Dialect())
    body = shape.opening() + b"".join(shape.token(f" w{i}", reasoning=False) for i in range(3))
    for cut in range(len(body) + 1):
        watch = TokenWatch(route, 3)
        early = watch.feed(body[:cut])
        late = watch.feed(body[cut:])
        assert late
        assert early == (cut == len(body))


def test_a_line_without_end_costs_what_it_weighs_and_is_held_within_a_bound():
    """Two million small pieces of one line: quadratic copying would take hours."""
    pieces = itertools.repeat(b"word ", 2_000_000)
    taken = 0

    def counted():
        nonlocal taken
        for piece in itertools.chain([b"data: "], pieces):
            taken += len(piece)
            yield taken, piece

    began = time.process_time()
    found = list(sse_events(counted()))
    assert time.process_time() - began < 20
    assert len(found) == 1
    assert not found[0][2]
    assert taken <= MAX_PENDING + 6
    assert next(ndjson_events((i, b"x" * 4096) for i in range(10_000)))[2] is False


@pytest.mark.parametrize("why", ["", "the answer grew beyond 64 MiB"])
def test_what_was_given_up_says_why(why: str) -> None:
    raw = msgspec.structs.replace(raw_of([b"HTTP/1.1 200 OK\r\n"], "stall"), error=why)
    outcome = reading.judge(raw, "chat")
    assert (outcome.status, outcome.error_kind) == (reading.STATUSES[3], "stall")
    assert outcome.error == (why or "no bytes within the stall timeout")
