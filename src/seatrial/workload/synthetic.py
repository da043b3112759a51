"""Traffic from a description: ``traffic.synthetic`` as a table.

Arrivals are Poisson at ``rate_per_s``; with ``concurrency`` there are none (closed loop: the next
request of a client starts when its last one ended). Lengths with a mean and a 99th percentile are
log-normal, drawn by stratified quantiles so that a short table already has the stated mean.
"""

from __future__ import annotations

import math

import numpy as np

from seatrial.core.seeds import stream
from seatrial.core.units import NS_PER_S
from seatrial.trace import Blocks, RequestTable
from seatrial.trace.closing import turns_of
from seatrial.trace.table import Ints
from seatrial.workload.spec import Lengths, Synthetic

BLOCK_TOKENS = 16
DEFAULT_SECONDS = 600
FEWEST = 200
MOST = 1_000_000
_Z99 = 2.3263478740408408  # 99th percentile of the standard normal


def how_many(spec: Synthetic) -> int:
    """Requests when the workload does not say: ten minutes of them, at least 200."""
    if spec.concurrency is not None:
        return min(MOST, max(FEWEST, 50 * spec.concurrency))
    assert spec.rate_per_s is not None
    return min(MOST, max(FEWEST, math.ceil(spec.rate_per_s * DEFAULT_SECONDS)))


def synthetic(spec: Synthetic, *, seed: int, n: int | None = None) -> RequestTable:
    """The table of ``n`` requests that ``spec`` describes; the same seed gives the same table."""
    n = how_many(spec) if n is None else n
    turns = max(1, spec.turns)
    sessions = -(-n // turns)
    session = np.tile(np.arange(sessions, dtype=np.int64), turns)[:n]
    turn = turns_of(session)
    outputs = draw(spec.output_tokens, n, seed, "output")
    inputs = draw(spec.input_tokens, n, seed, "input")
    blocks = None
    if turns > 1:
        inputs = _with_history(inputs, outputs, session, turn, spec)
    if turns > 1 or spec.shared_prefix_tokens >= BLOCK_TOKENS:
        blocks = _blocks(inputs, session, spec.shared_prefix_tokens, turns > 1)
    return RequestTable(
        format="synthetic",
        n=n,
        arrival_ns=_arrivals(spec.rate_per_s, n, seed),
        grain_ns=1,
        input_tokens=inputs,
        output_tokens=outputs,
        session=session if turns > 1 else None,
        turn=turn if turns > 1 else None,
        blocks=blocks,
        missing=("TTFT", "latency", "model", "clients", "outcomes", "request features"),
    )


def _arrivals(rate_per_s: float | None, n: int, seed: int) -> Ints | None:
    if rate_per_s is None:
        return None
    gaps = stream(seed, "synthetic", "arrivals").exponential(NS_PER_S / rate_per_s, n)
    times = np.cumsum(gaps)
    return np.asarray(np.rint(times - times[0]), dtype=np.int64)


def draw(lengths: int | Lengths, n: int, seed: int, name: str) -> Ints:
    """``n`` lengths of at least one token; one per stratum of probability, in random order."""
    if isinstance(lengths, int):
        return np.full(n, max(1, lengths), dtype=np.int64)
    if lengths.p99 is None or lengths.p99 <= lengths.mean:
        return np.full(n, max(1, round(lengths.mean)), dtype=np.int64)
    from scipy.special import ndtri

    mu, sigma = lognormal(lengths.mean, lengths.p99)
    random = stream(seed, "synthetic", name)
    strata = (np.arange(n) + random.random(n)) / n
    values = np.exp(mu + sigma * ndtri(random.permutation(strata)))
    return np.asarray(np.maximum(1, np.rint(values)), dtype=np.int64)


def lognormal(mean: float, p99: float) -> tuple[float, float]:
    """(mu, sigma) of the log-normal with this mean and 99th percentile.

    p99 / mean = exp(z s - s^2 / 2) has its smaller root at s = z - sqrt(z^2 - 2 ln r); beyond
    r = exp(z^2 / 2), about 15, no log-normal has that ratio and the widest one is taken.
    """
    ratio = math.log(p99 / mean)
    sigma = _Z99 - math.sqrt(max(0.0, _Z99 * _Z99 - 2 * ratio))
    return math.log(mean) - sigma * sigma / 2, sigma


def _with_history(inputs: Ints, outputs: Ints, session: Ints, turn: Ints, spec: Synthetic) -> Ints:
    """Inputs that grow turn by turn, with the stated mean over all turns.

    Turn t holds the shared prefix, all that was said before, and a new part. The new parts share
    what the mean leaves over: u = (mean - shared - history) / (1 + mean turn).
    """
    mean_turn = float(turn.mean())
    history = mean_turn * float(outputs.mean())
    new = (inputs.mean() - spec.shared_prefix_tokens - history) / (1 + mean_turn)
    part = np.maximum(1, np.rint(inputs * max(new, 0.0) / inputs.mean())).astype(np.int64)
    out = np.empty_like(inputs)
    order = np.lexsort((turn, session))
    said = 0
    for row in order.tolist():
        if turn[row] == 0:
            said = spec.shared_prefix_tokens
        out[row] = said + part[row]
        said = int(out[row]) + int(outputs[row])
    return out


def _blocks(inputs: Ints, session: Ints, shared_tokens: int, keep: bool) -> Blocks:
    """Chained ids: the shared beginning is one for all, the rest the session's (or the row's)."""
    full = inputs // BLOCK_TOKENS
    sizes = -(-inputs // BLOCK_TOKENS)
    shared = shared_tokens // BLOCK_TOKENS
    offsets = np.zeros(len(inputs) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    depth = np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], sizes)
    owner = np.repeat(session if keep else np.arange(len(inputs)), sizes)
    deepest = int(sizes.max()) + 1
    hashes = shared + owner * deepest + depth
    hashes = np.where(depth < shared, depth, hashes)
    partial = depth >= np.repeat(full, sizes)
    top = int(hashes.max()) + 1
    hashes[partial] = top + np.arange(int(partial.sum()))
    return Blocks(offsets=offsets, hashes=hashes, block_tokens=BLOCK_TOKENS)
