"""The client against a known truth, at the load that is planned: how wrong is it on this machine?

Before a bench the shipped mock engine streams at the planned number of streams and events for a
second. It runs on this machine's clock and stamps every token just before it writes it, so the
client's error of each TTFT is known: how late the request left, plus how much later than the
server's stamp the client saw the first token. It is reported, never subtracted.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from seatrial.core.errors import PrerequisiteError
from seatrial.engines.http import get
from seatrial.loadgen.body import BodyStyle, Sampling, make_body
from seatrial.loadgen.metrics import Itl, output_tokens
from seatrial.loadgen.plan import Load, Target
from seatrial.loadgen.run import Run, execute, planned, workers_for

TTFT_MS = 100.0
_SPAN_S = 1.0
_HALVINGS = 4
ALLOWED_MS, ALLOWED_SHARE = 2.0, 0.01
ALLOWED_P99_MS, ALLOWED_P99_SHARE = 5.0, 0.02


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What came out. Errors are measured - true, in ms.

    Attributes:
        streams, events_per_s: the load, as planned.
        ttft_error_ms: mean, p50, p99 over the requests.
        itl_error_share: relative error of the mean ITL.
        cpu_s_per_million_tokens: of all client processes.
        vouched_events_per_s: the largest rate at which the error was within bounds: the planned
            one, or, where that failed, what a search by halving found; None if nothing was.
    """

    streams: int
    events_per_s: float
    ttft_error_ms: dict[str, float]
    itl_error_share: float
    cpu_s_per_million_tokens: float
    kernel_stamps: bool
    vouched_events_per_s: float | None

    def within(self, ttft_ms: float = TTFT_MS, ttft_p99_ms: float = TTFT_MS) -> bool:
        """Whether the error is small against these TTFTs."""
        return not reasons(self, ttft_ms, ttft_p99_ms)


def reasons(found: Calibration, ttft_ms: float, ttft_p99_ms: float) -> list[str]:
    """Why a cell with these TTFTs is not to be believed; empty if it is."""
    said = []
    mean, p99 = abs(found.ttft_error_ms["mean"]), abs(found.ttft_error_ms["p99"])
    allowed = ALLOWED_MS + ALLOWED_SHARE * ttft_ms
    allowed_p99 = ALLOWED_P99_MS + ALLOWED_P99_SHARE * ttft_p99_ms
    if mean > allowed:
        said.append(f"mean TTFT error {mean:.1f} ms, allowed {allowed:.1f} ms")
    if p99 > allowed_p99:
        said.append(f"p99 TTFT error {p99:.1f} ms, allowed {allowed_p99:.1f} ms")
    if not said:
        return []
    vouched = found.vouched_events_per_s
    most = "no load tried" if vouched is None else f"{vouched:.0f} tokens/s"
    load = f"{found.streams} streams, {found.events_per_s:.0f} tokens/s"
    return [
        f"against a known truth at {load} the client erred: {'; '.join(said)};"
        f" the largest load it can vouch for here: {most}"
    ]


def calibrate(streams: int, events_per_s: float) -> Calibration:
    """Measure the client's error at this load, and where it fails, at smaller ones.

    Raises:
        PrerequisiteError: the mock engine does not start.
    """
    streams = max(1, streams)
    rate = min(max(events_per_s, 10.0), 500.0 * streams)
    first = _once(streams, rate)
    if first.within():
        return msgspec.structs.replace(first, vouched_events_per_s=rate)
    for halving in range(1, _HALVINGS + 1):
        share = 2.0**halving
        lighter = _once(max(1, round(streams / share)), rate / share)
        if lighter.within():
            return msgspec.structs.replace(first, vouched_events_per_s=rate / share)
    return first


def _once(streams: int, rate: float) -> Calibration:
    itl_ms = 1000.0 * streams / rate
    tokens = max(2, math.ceil(1000.0 * _SPAN_S / itl_ms))
    command = [sys.executable, "-m", "seatrial.mock", "--law", "fixed"]
    command += ["--ttft-ms", str(TTFT_MS), "--itl-ms", str(itl_ms)]
    command += ["--lifeline"]  # it does not outlive us, however we end
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise PrerequisiteError(
                    "the mock engine did not start",
                    where=" ".join(command[1:]),
                    remedy="run that command by hand and look at what it says",
                )
            url = json.loads(line)["url"]
            run = _drive(url, streams, tokens, rate)
            truth = [json.loads(item) for item in get(url, "/truth").body.splitlines()]
        finally:
            process.terminate()
    return _compare(run, truth, streams, rate, itl_ms)


def _drive(url: str, streams: int, tokens: int, rate: float) -> Run:
    """One request a stream, begun evenly over the span, so that the load builds up and down."""
    parts = urlsplit(url)
    target = Target(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or 80,
        path="/v1/chat/completions",
        route="chat",
    )
    rounds = 2
    n = streams * rounds
    style, sampling = BodyStyle(), Sampling()
    bodies = (
        make_body("mock", [{"role": "user", "content": f"n {i}"}], tokens, sampling, style)
        for i in range(n)
    )
    load = Load(
        mode="closed",
        users=streams,
        connections=streams,
        ramp_ns=round(_SPAN_S * 0.5e9),
        stall_ns=10_000_000_000,
    )
    plan = planned(bodies, n, output_tokens=np.full(n, tokens, np.int64))
    return execute(plan, target, load, seed=1, workers=workers_for(rate))


def _compare(
    run: Run, truth: list[dict[str, Any]], streams: int, rate: float, itl_ms: float
) -> Calibration:
    records = run.records
    by_index = {int(t["request_id"].rpartition("-")[2]): t for t in truth}
    errors = []
    for i, index in enumerate(records.ints["index"]):
        known = by_index.get(int(index))
        if known is None or records.ints["first_token_ns"][i] < 0:
            continue
        late = records.ints["sent_ns"][i] - records.ints["scheduled_ns"][i]
        seen = records.ints["first_token_ns"][i] - known["first_token_ns"]
        errors.append(float(late + seen) / 1e6)
    found = np.array(errors) if errors else np.array([np.inf])
    gaps = Itl.values(records)
    tokens = output_tokens(records)
    true_itl = _true_itl(truth) or itl_ms
    return Calibration(
        streams=streams,
        events_per_s=rate,
        ttft_error_ms={
            "mean": float(found.mean()),
            "p50": float(np.median(found)),
            "p99": float(np.percentile(found, 99)),
        },
        itl_error_share=float(gaps.mean() / true_itl - 1.0) if len(gaps) else 0.0,
        cpu_s_per_million_tokens=run.client.cpu_s / tokens * 1e6 if tokens else 0.0,
        kernel_stamps=run.client.kernel_stamps,
        vouched_events_per_s=None,
    )


def _true_itl(truth: list[dict[str, Any]]) -> float | None:
    """Mean gap by the server's own log, in ms."""
    spans = [t["last_token_ns"] - t["first_token_ns"] for t in truth if t["output_tokens"] > 1]
    gaps = sum(t["output_tokens"] - 1 for t in truth if t["output_tokens"] > 1)
    return sum(spans) / gaps / 1e6 if gaps else None
