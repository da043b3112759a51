"""``python -m seatrial.mock``: the mock engine as a process of its own.

Writes one JSON line ``{"url": ..., "pid": ...}`` to stdout when it listens, and serves until
SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import ssl
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import msgspec
import uvloop

from seatrial.core.errors import SeatrialError
from seatrial.mock.app import MockApp, Options
from seatrial.mock.dialect import load
from seatrial.mock.faults import FAULTS, parse_shares
from seatrial.mock.law import FixedLaw, StepLaw
from seatrial.mock.truth import TruthLog


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m seatrial.mock", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--model", default="mock")
    parser.add_argument("--law", choices=("step", "fixed"), default="step")
    for name, kind in StepLaw.__annotations__.items():
        if kind == "bool":
            parser.add_argument(f"--no-{_flag(name)}", dest=name, action="store_false")
        else:
            number = float if kind == "float" else int
            parser.add_argument(f"--{_flag(name)}", type=number, default=getattr(StepLaw(), name))
    parser.add_argument("--ttft-ms", type=float, default=FixedLaw().ttft_ms)
    parser.add_argument("--itl-ms", type=float, default=FixedLaw().itl_ms)
    parser.add_argument("--dialect", default="openai")
    help_faults = "; ".join(f"{name}: {what}" for name, what in FAULTS.items())
    parser.add_argument("--fault", action="append", default=[], help=help_faults)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lifeline", action="store_true", help="end when stdin ends")
    parser.add_argument("--burst", type=int, default=1)
    parser.add_argument("--reasoning-tokens", type=int, default=0)
    parser.add_argument("--no-role-first", action="store_true")
    parser.add_argument("--crlf", action="store_true")
    parser.add_argument("--context-tokens", type=int, default=131_072)
    parser.add_argument("--truth-log", type=Path)
    parser.add_argument("--keep-truth", type=int, default=100_000)
    parser.add_argument("--per-token", action="store_true")
    parser.add_argument("--single-use", action="store_true")
    parser.add_argument("--usage", choices=("true", "none", "constant"), default="true")
    parser.add_argument("--adapter", action="append", default=[])
    parser.add_argument("--no-tokenize", action="store_true")
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    return parser


def _flag(name: str) -> str:
    return name.replace("_", "-")


def options_from(args: argparse.Namespace) -> Options:
    """The options a command line asks for."""
    law: StepLaw | FixedLaw = FixedLaw(ttft_ms=args.ttft_ms, itl_ms=args.itl_ms)
    if args.law == "step":
        law = StepLaw(**{name: getattr(args, name) for name in StepLaw.__annotations__})
    dialect = load(args.dialect)
    if args.no_role_first:
        dialect = msgspec.structs.replace(dialect, role_first=False)
    if args.no_tokenize:
        dialect = msgspec.structs.replace(dialect, tokenize_route=None)
    if args.crlf:
        dialect = msgspec.structs.replace(dialect, line_end="\r\n")
    return Options(
        model=args.model,
        law=law,
        dialect=dialect,
        faults=parse_shares(args.fault),
        seed=args.seed,
        burst=args.burst,
        reasoning_tokens=args.reasoning_tokens,
        context_tokens=args.context_tokens,
        keep_truth=args.keep_truth,
        per_token=args.per_token,
        single_use=args.single_use,
        usage=args.usage,
        adapters=args.adapter,
    )


async def serve(args: argparse.Namespace, options: Options, log: TruthLog) -> None:
    """Listen, say where, and serve until a signal comes."""
    loop = asyncio.get_running_loop()
    app = MockApp(options, loop, log)
    context = None
    if args.tls_cert:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(args.tls_cert, args.tls_key)
    server = await loop.create_server(app.channel, args.host, args.port, backlog=4096, ssl=context)
    host, port = server.sockets[0].getsockname()[:2]
    scheme = "https" if context else "http"
    sys.stdout.write(json.dumps({"url": f"{scheme}://{host}:{port}", "pid": os.getpid()}) + "\n")
    sys.stdout.flush()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    server.close()
    app.engine.close()


def _end_with_stdin() -> None:
    """Whoever started us holds the other end: when it is gone, so are we, also after kill -9."""
    while os.read(0, 64):  # not sys.stdin: its lock, held here, would stop the interpreter's end
        pass
    os._exit(0)


def main() -> int:
    """Parse the command line and serve."""
    args = _parser().parse_args()
    try:
        options = options_from(args)
    except SeatrialError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    if args.lifeline:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    file: BinaryIO | None = args.truth_log.open("wb") if args.truth_log else None
    log = TruthLog(file, keep=args.keep_truth, per_token=args.per_token)
    try:
        uvloop.run(serve(args, options, log))
    finally:
        log.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
