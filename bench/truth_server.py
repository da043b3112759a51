"""A server whose timings are known, written apart from the product: the yardstick of loadgen.py.

It shares no code with seatrial. For every chat request it sends a role-only delta at once, the
first token after TTFT, then one token every ITL, whatever the load. It stamps each request's
arrival, first and last token with CLOCK_MONOTONIC just before the write and appends them to a log
as JSON lines when the answer ends. Standard library and uvloop only.

    python bench/truth_server.py --port 0 --ttft 0.3 --itl 0.02 --log truth.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import sys
import time
from typing import Any, TextIO

import uvloop

NOW = time.monotonic_ns
HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


def event(delta: str, finish: str = "null") -> bytes:
    body = (
        '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"truth",'
        f'"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}'
    )
    return frame(f"data: {body}\n\n".encode())


def frame(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


ROLE = event('{"role":"assistant","content":""}')
TOKENS = [event(f'{{"content":" t{i:03d}"}}') for i in range(1000)]
FINAL = event("{}", '"length"')


def words(request: dict[str, Any]) -> int:
    """Prompt tokens: one a word, and four for each message's template."""
    messages = request.get("messages") or []
    return sum(4 + len(str(message.get("content")).split()) for message in messages)


class Clock:
    """All due tokens in one heap; one timer of the loop serves it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.heap: list[tuple[int, int, Stream]] = []
        self.serial = 0
        self.handle: asyncio.TimerHandle | None = None

    def push(self, due: int, stream: Stream) -> None:
        self.serial += 1
        heapq.heappush(self.heap, (due, self.serial, stream))
        if self.heap[0][2] is stream:
            self.arm()

    def arm(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
        if self.heap:
            wait = max(0, self.heap[0][0] - NOW()) / 1e9
            self.handle = self.loop.call_later(wait, self.fire)

    def fire(self) -> None:
        while self.heap and self.heap[0][0] <= NOW():
            stream = heapq.heappop(self.heap)[2]
            due = stream.step()
            if due is not None:
                self.serial += 1
                heapq.heappush(self.heap, (due, self.serial, stream))
        self.arm()


class Stream:
    """One answer. The schedule is absolute: a late write does not move the next one."""

    def __init__(self, peer: Peer, request: dict[str, Any], request_id: str) -> None:
        self.peer = peer
        self.arrival = NOW()
        self.total = int(request.get("max_completion_tokens") or request.get("max_tokens") or 16)
        self.usage = bool((request.get("stream_options") or {}).get("include_usage"))
        self.prompt = words(request)
        self.id = request_id
        self.sent = 0
        self.first = self.last = -1

    def due(self) -> int:
        args = self.peer.args
        return self.arrival + round((args.ttft + self.sent * args.itl) * 1e9)

    def step(self) -> int | None:
        if self.peer.transport is None:
            return None
        now = NOW()
        if self.first < 0:
            self.first = now
        self.last = now
        self.peer.transport.write(TOKENS[self.sent % len(TOKENS)])
        self.sent += 1
        if self.sent < self.total:
            return self.due()
        self.finish()
        return None

    def finish(self) -> None:
        assert self.peer.transport is not None
        end = FINAL
        if self.usage:
            counts = {"prompt_tokens": self.prompt, "completion_tokens": self.sent,
                      "total_tokens": self.prompt + self.sent}  # fmt: skip
            body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                    "model": "truth", "choices": [], "usage": counts}  # fmt: skip
            end += frame(f"data: {json.dumps(body)}\n\n".encode())
        self.peer.transport.write(end + frame(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        row = {"id": self.id, "arrival_ns": self.arrival, "first_ns": self.first,
               "last_ns": self.last, "tokens": self.sent}  # fmt: skip
        self.peer.log.write(json.dumps(row) + "\n")


class Peer(asyncio.Protocol):
    """One connection: requests in, answers out; plain HTTP/1.1 with Content-Length."""

    def __init__(self, args: argparse.Namespace, clock: Clock, log: TextIO) -> None:
        self.args, self.clock, self.log = args, clock, log
        self.transport: Any = None
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            lines = self.buffer[:end].decode("latin-1").split("\r\n")
            names = [line.partition(":") for line in lines[1:]]
            fields = {name.lower(): value.strip() for name, _, value in names}
            size = int(fields.get("content-length", "0"))
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
            self.answer(lines[0].split(" ")[1], body, fields.get("x-request-id", ""))

    def answer(self, path: str, body: bytes, request_id: str) -> None:
        if not path.startswith("/v1/chat/completions"):
            listed = {"object": "list", "data": [{"id": "truth", "object": "model"}]}
            self.whole(listed if path == "/v1/models" else {})
            return
        request = json.loads(body)
        if not request.get("stream"):
            usage = {"prompt_tokens": words(request), "completion_tokens": 1, "total_tokens": 1}
            message = {"role": "assistant", "content": "t"}
            choice = {"index": 0, "message": message, "finish_reason": "length"}
            self.whole({"choices": [choice], "usage": usage})
            return
        stream = Stream(self, request, request_id)
        self.transport.write(HEAD + ROLE)
        self.clock.push(stream.due(), stream)

    def whole(self, value: Any) -> None:
        data = json.dumps(value).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(data)}"
        self.transport.write(head.encode() + b"\r\n\r\n" + data)


async def serve(args: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    clock = Clock(loop)
    with open(args.log, "w", buffering=1) as log:  # noqa: PTH123
        server = await loop.create_server(
            lambda: Peer(args, clock, log), "127.0.0.1", args.port, backlog=4096
        )
        print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
        await asyncio.Event().wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ttft", type=float, default=0.3)
    parser.add_argument("--itl", type=float, default=0.02)
    parser.add_argument("--log", required=True)
    uvloop.run(serve(parser.parse_args()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
