"""Both readers on a raw server that sends what it is told, cut where it is told."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time

import pytest
import uvloop

from seatrial.core.errors import PrerequisiteError
from seatrial.loadgen import exchange as wire
from seatrial.loadgen import slots
from seatrial.loadgen.exchange import Exchange, freeze
from seatrial.loadgen.plan import Load
from seatrial.loadgen.reactor import open_reactor
from seatrial.loadgen.wire import SocketLink

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


ANSWER = HEAD + chunk(b"data: {}\n\n") + chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"


class Owner:
    """Keeps what a connection tells."""

    def __init__(self):
        self.stray = 0
        self.ends = []
        self.gone = 0
        self.event = asyncio.Event()

    def ended(self, connection, exchange):
        self.ends.append(exchange)
        self.event.set()

    def lost(self, connection):
        self.gone += 1
        self.event.set()

    async def next(self):
        await asyncio.wait_for(self.event.wait(), 5)
        self.event.clear()


class Pair:
    """A connection under test and the raw socket at its other end."""

    def __init__(self, reader):
        self.reactor = open_reactor(asyncio.get_running_loop(), Load(reader=reader))
        self.owner = Owner()
        with socket.create_server(("127.0.0.1", 0)) as server:
            ours = socket.create_connection(server.getsockname())
            self.peer = server.accept()[0]
        self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ours.setblocking(False)
        self.link = SocketLink(self.owner, ours, self.reactor)

    def ask(self, index=0):
        exchange = Exchange(index, 0)
        self.link.start(exchange, b"GET / HTTP/1.1\r\n\r\n")
        self.peer.recv(4096)
        return exchange

    async def answer(self, *parts, pause=0.002):
        exchange = self.ask()
        for part in parts:
            self.peer.sendall(part)
            await asyncio.sleep(pause)
        await self.owner.next()
        return freeze(exchange)

    def close(self):
        self.link.close()
        self.peer.close()
        self.reactor.close()


@pytest.fixture(params=["plain", "compiled"])
def go(request):
    if request.param == "compiled" and not slots.works():
        pytest.skip("the compiled reader does not work here (extra fast, Linux with glibc)")

    def run(scene):
        async def play():
            pair = Pair(request.param)
            try:
                await scene(pair)
            finally:
                pair.close()

        uvloop.run(play())

    return run


def test_an_answer_cut_anywhere_is_whole_and_the_connection_serves_again(go):
    async def scene(pair):
        for cut in range(1, len(ANSWER)):
            raw = await pair.answer(ANSWER[:cut], ANSWER[cut:], pause=0.0025)
            assert (raw.how, raw.data) == (wire.WHOLE, ANSWER), cut
            reads = list(raw.reads())
            assert b"".join(data for _, data in reads) == ANSWER
            assert all(a <= b for (a, _), (b, _) in itertools.pairwise(reads))
        assert pair.link.alive
        assert pair.link.uses == len(ANSWER) - 1

    go(scene)


def test_each_write_is_a_read_with_the_time_of_its_arrival(go):
    async def scene(pair):
        exchange = pair.ask()
        sent = {}
        for part in [HEAD, *[chunk(b"data: %d\n\n" % i) for i in range(300)]]:
            sent[part] = time.perf_counter_ns()
            pair.peer.sendall(part)
            await asyncio.sleep(0.001)
        pair.peer.sendall(b"0\r\n\r\n")
        await pair.owner.next()
        raw = freeze(exchange)
        assert raw.how == wire.WHOLE
        # A loop that was late reads two writes at once: those are no part of this.
        late = sorted(stamp - sent[data] for stamp, data in raw.reads() if data in sent)
        assert len(late) > 150
        assert late[0] > -100_000  # the clocks are held together to some microseconds
        assert late[len(late) // 2] < 500_000

    go(scene)


def test_a_burst_larger_than_every_buffer_comes_whole(go):
    async def scene(pair):
        body = b"".join(chunk(b"data: %07d\n\n" % i) for i in range(20_000))
        exchange = pair.ask()
        await asyncio.get_running_loop().run_in_executor(
            None, pair.peer.sendall, HEAD + body + b"0\r\n\r\n"
        )
        await pair.owner.next()
        raw = freeze(exchange)
        assert raw.how == wire.WHOLE
        assert raw.data == HEAD + body + b"0\r\n\r\n"

    go(scene)


def test_a_body_of_stated_length_and_one_that_ends_with_the_connection(go):
    async def scene(pair):
        stated = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        raw = await pair.answer(stated + b"ab", b"cd")
        assert (raw.how, raw.data) == (wire.WHOLE, stated + b"abcd")
        exchange = pair.ask()
        pair.peer.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await asyncio.sleep(0.003)
        pair.peer.close()
        await pair.owner.next()
        assert exchange.how == wire.EOF
        assert freeze(exchange).data.endswith(b"abc")
        assert not pair.link.alive

    go(scene)


def test_a_reset_keeps_what_came_before_it(go):
    async def scene(pair):
        exchange = pair.ask()
        pair.peer.sendall(HEAD + chunk(b"data: {}\n\n"))
        await asyncio.sleep(0.02)
        linger = struct.pack("ii", 1, 0)
        pair.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        pair.peer.close()
        await pair.owner.next()
        assert exchange.how == wire.RESET
        assert "ConnectionResetError" in exchange.error
        assert freeze(exchange).data == HEAD + chunk(b"data: {}\n\n")

    go(scene)


def test_what_belongs_to_no_exchange_is_stray_and_ends_the_connection(go):
    async def scene(pair):
        await pair.answer(ANSWER)
        pair.peer.sendall(b"more")
        await pair.owner.next()
        assert (pair.owner.stray, pair.owner.gone, pair.link.alive) == (1, 1, False)

    go(scene)


def test_an_idle_connection_that_the_server_closes_is_lost(go):
    async def scene(pair):
        await pair.answer(ANSWER)
        pair.peer.close()
        await pair.owner.next()
        assert (pair.owner.stray, pair.owner.gone) == (0, 1)

    go(scene)


def test_giving_up_keeps_what_was_read_so_far(go):
    async def scene(pair):
        exchange = pair.ask()
        for part in (HEAD, chunk(b"data: 1\n\n"), chunk(b"data: 2\n\n")):
            pair.peer.sendall(part)
            await asyncio.sleep(0.004)
        pair.link.give_up(wire.STALL)
        await pair.owner.next()
        raw = freeze(exchange)
        assert raw.how == wire.STALL
        assert raw.data == HEAD + chunk(b"data: 1\n\n") + chunk(b"data: 2\n\n")
        assert len(list(raw.reads())) == 3

    go(scene)


def test_a_request_larger_than_the_socket_takes_is_sent_whole(go):
    async def scene(pair):
        exchange = Exchange(0, 0)
        body = b"x" * 8_000_000
        pair.link.start(exchange, body)
        got = 0
        pair.peer.setblocking(False)
        while got < len(body):
            got += len(await asyncio.get_running_loop().sock_recv(pair.peer, 1 << 20))
        pair.peer.sendall(ANSWER)
        await pair.owner.next()
        assert exchange.how == wire.WHOLE

    go(scene)


def test_more_connections_than_slots_at_first(go):
    async def scene(pair):
        others = []
        with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
            for index in range(150):
                ours = socket.create_connection(server.getsockname())
                peer = server.accept()[0]
                ours.setblocking(False)
                link = SocketLink(pair.owner, ours, pair.reactor)
                others.append((link, peer, Exchange(index, 0)))
        for link, _, exchange in others:
            link.start(exchange, b"GET / HTTP/1.1\r\n\r\n")
        for _, peer, exchange in others:
            peer.sendall(HEAD + chunk(b"data: %d\n\n" % exchange.index))
        await asyncio.sleep(0.01)
        for _, peer, _ in others:
            peer.sendall(b"0\r\n\r\n")
        async with asyncio.timeout(5):
            while len(pair.owner.ends) < len(others):
                await pair.owner.next()
        for link, peer, exchange in others:
            assert exchange.how == wire.WHOLE
            assert b"data: %d\n\n" % exchange.index in freeze(exchange).data
            link.close()
            peer.close()

    go(scene)


def test_the_rhythm_follows_the_answers_length_and_the_distance_of_its_tokens():
    async def run():
        loop = asyncio.get_running_loop()
        reactor = open_reactor(loop, Load(mode="closed", reader="compiled"))
        ticks = [reactor.tick_ns]
        for answer_ms, reads in ((10_000, 200), (30, 2), (6_000, 2_000)):
            for _ in range(300):
                reactor.pace(answer_ms * 1_000_000, reads)
            ticks.append(reactor.tick_ns)
        reactor.close()
        return [round(tick / 1e6, 1) for tick in ticks]

    assert asyncio.run(run()) == [2.0, 4.0, 1.0, 1.5]


def test_asking_for_the_compiled_reader_where_it_does_not_work_says_so(monkeypatch):
    monkeypatch.setattr(slots, "works", lambda: False)

    async def ask():
        open_reactor(asyncio.get_running_loop(), Load(reader="compiled"))

    with pytest.raises(PrerequisiteError, match="compiled reader"):
        uvloop.run(ask())
