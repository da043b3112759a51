"""The fast loop: the same schedulers, jumping over decode steps that are all alike.

Between two changes of the batch (an arrival that can be admitted, a finished answer, a cache that
runs full) every decode step has the same sequences, and its duration grows by a constant. So k
steps cost one closed form (``fit.cost.StepCost.decode_run``) instead of k passes, and the number
of passes is a few per request, whatever the answers' lengths.

Written for numba and for plain Python alike: arrays and numbers only. The state lives in arrays
that the caller owns; the loop stops when it needs the next piece of the trace, when the output
buffer is full or when the queue's ring is, and goes on from there. Memory therefore does not
depend on the length of the trace. Results equal the step loop's (tests/laws/sim).
"""

from __future__ import annotations

import math
from typing import Any

NEED_INPUT, OUTPUT_FULL, RING_FULL, DONE = range(4)

# integers of the state
(HEAD, COUNT, RUNNING, FREE, STEPS, PREEMPTIONS, NEXT, FINISHED, I_SIZE) = range(9)
# limits
(MODE, MAX_SEQS, BUDGET, BLOCK, RESERVE, L_SIZE) = range(6)
# one running sequence: columns of an integer table
(NUMBER, LENGTH, OUTPUT, GENERATED, KV, TODO, BLOCKS, TIMES, R_SIZE) = range(9)
CHUNKED, PREFILL_FIRST, MIXED, STATIC = range(4)


def _blocks(tokens: int, block: int) -> int:
    return (tokens + block - 1) // block


def _first_blocks(row: Any, limits: Any) -> int:
    if limits[RESERVE] > 0:
        return _blocks(limits[RESERVE], limits[BLOCK])
    return _blocks(row[KV] + row[TODO], limits[BLOCK])


def _preempt(running: Any, first: Any, ring: Any, ring_first: Any, ints: Any) -> None:
    """The youngest goes back to the head of the queue."""
    last = ints[RUNNING] - 1
    ints[FREE] += running[last, BLOCKS]
    ints[HEAD] = (ints[HEAD] - 1) % ring.shape[0]
    place = ints[HEAD]
    for column in range(R_SIZE):
        ring[place, column] = running[last, column]
    ring[place, TODO] = running[last, LENGTH] + running[last, GENERATED]
    ring[place, KV] = 0
    ring[place, BLOCKS] = 0
    ring[place, TIMES] += 1
    ring_first[place] = first[last]
    ints[COUNT] += 1
    ints[RUNNING] = last
    ints[PREEMPTIONS] += 1


def _make_room(
    running: Any, first: Any, ring: Any, ring_first: Any, ints: Any, limits: Any
) -> None:
    """One more token for every decoding sequence, oldest first; preempts the youngest."""
    if limits[RESERVE] > 0:
        return
    i = 0
    while i < ints[RUNNING]:
        if running[i, TODO] == 0:
            needed = _blocks(running[i, KV] + 1, limits[BLOCK])
            gone = False
            while needed > running[i, BLOCKS] and ints[FREE] == 0:
                gone = ints[RUNNING] - 1 == i
                _preempt(running, first, ring, ring_first, ints)
                if gone:
                    break
            if gone:
                break
            if needed > running[i, BLOCKS]:
                running[i, BLOCKS] += 1
                ints[FREE] -= 1
        i += 1


def _admit(running: Any, first: Any, ring: Any, ring_first: Any, ints: Any, limits: Any) -> bool:
    """Take the head of the queue in if it fits."""
    if ints[COUNT] == 0 or ints[RUNNING] >= limits[MAX_SEQS]:
        return False
    head = ints[HEAD]
    needed = _first_blocks(ring[head], limits)
    if needed > ints[FREE]:
        return False
    at = ints[RUNNING]
    for column in range(R_SIZE):
        running[at, column] = ring[head, column]
    running[at, BLOCKS] = needed
    first[at] = ring_first[head]
    ints[FREE] -= needed
    ints[RUNNING] += 1
    ints[HEAD] = (head + 1) % ring.shape[0]
    ints[COUNT] -= 1
    return True


def _steps_within_pool(running: Any, ints: Any, limits: Any, most: int) -> int:
    """Most decode steps (up to ``most``) for which the free blocks suffice without preemption."""
    if limits[RESERVE] > 0:
        return most
    block = limits[BLOCK]
    if ints[RUNNING] * (most // block + 1) <= ints[FREE]:
        return most
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        needed = 0
        for i in range(ints[RUNNING]):
            more = _blocks(running[i, KV] + middle, block) - running[i, BLOCKS]
            if more > 0:
                needed += more
        if needed <= ints[FREE]:
            low = middle
        else:
            high = middle - 1
    return low


def _steps_until(first_step: float, growth: float, seconds: float) -> int:
    """Fewest steps whose sum k * first + growth * k (k - 1) / 2 reaches ``seconds``."""
    if growth > 0.0:
        b = first_step - growth / 2.0
        guess = (math.sqrt(b * b + 2.0 * growth * seconds) - b) / growth
    else:
        guess = seconds / first_step
    k = max(1, math.ceil(guess))
    while k > 1 and (k - 1) * first_step + growth * (k - 1) * (k - 2) / 2.0 >= seconds:
        k -= 1
    while k * first_step + growth * k * (k - 1) / 2.0 < seconds:
        k += 1
    return k


def _compute_prompts(
    running: Any, first: Any, ring: Any, ring_first: Any, ints: Any, limits: Any, chunks: Any
) -> int:
    """Fill ``chunks`` with the prompt tokens that each running sequence computes in this step.

    Returns how many of the running sequences decode: the first ones by index, 0 for a step of
    prompts only.
    """
    mode = limits[MODE]
    for i in range(chunks.size):
        chunks[i] = 0
    if mode == STATIC:
        if ints[RUNNING] == 0:
            while _admit(running, first, ring, ring_first, ints, limits):
                chunks[ints[RUNNING] - 1] = running[ints[RUNNING] - 1, TODO]
            return 0
        return int(ints[RUNNING])
    if mode == PREFILL_FIRST:
        left = limits[BUDGET]
        admitted = 0
        while ints[COUNT] > 0:
            if admitted > 0 and ring[ints[HEAD], TODO] > left:
                break
            if not _admit(running, first, ring, ring_first, ints, limits):
                break
            at = ints[RUNNING] - 1
            chunks[at] = running[at, TODO]
            left -= chunks[at]
            admitted += 1
        if admitted > 0:
            return 0
    before = ints[PREEMPTIONS]
    _make_room(running, first, ring, ring_first, ints, limits)
    decoding = int(ints[RUNNING])
    if mode == PREFILL_FIRST:
        return decoding
    left = limits[BUDGET]
    for i in range(ints[RUNNING]):
        if running[i, TODO] == 0:
            left -= 1
    if mode == CHUNKED:
        for i in range(ints[RUNNING]):
            if running[i, TODO] > 0 and left > 0:
                chunks[i] = min(running[i, TODO], left)
                left -= chunks[i]
    while ints[PREEMPTIONS] == before and (mode == MIXED or left > 0):
        if not _admit(running, first, ring, ring_first, ints, limits):
            break
        at = ints[RUNNING] - 1
        chunks[at] = running[at, TODO] if mode == MIXED else min(running[at, TODO], left)
        left -= chunks[at]
    return decoding


def advance(
    cost: Any,  # float64[5]: step, prefill, decode, context, attention
    limits: Any,  # int64[L_SIZE]
    clock: Any,  # float64[1]
    ints: Any,  # int64[I_SIZE]
    running: Any,  # int64[max_seqs, R_SIZE]
    first: Any,  # float64[max_seqs]: time of the first token, NaN before it
    ring: Any,  # int64[capacity, R_SIZE]: the queue
    ring_first: Any,  # float64[capacity]
    chunks: Any,  # int64[max_seqs]: scratch
    arrival: Any,
    length: Any,
    output: Any,
    cached: Any,  # the present piece of the trace
    base: int,  # number of its first request
    last: bool,  # no piece follows
    out_number: Any,
    out_first: Any,
    out_finish: Any,
    out_times: Any,  # finished requests
) -> int:
    """Go on until something is needed of the caller; returns what."""
    pieces = arrival.size
    while True:
        now = clock[0]
        while ints[NEXT] < pieces and arrival[ints[NEXT]] <= now:
            if ints[COUNT] + limits[MAX_SEQS] + 1 >= ring.shape[0]:
                return RING_FULL
            at = ints[NEXT]
            place = (ints[HEAD] + ints[COUNT]) % ring.shape[0]
            ring[place, NUMBER] = base + at
            ring[place, LENGTH] = length[at]
            ring[place, OUTPUT] = output[at]
            ring[place, GENERATED] = 0
            ring[place, KV] = cached[at]
            ring[place, TODO] = length[at] - cached[at]
            ring[place, BLOCKS] = 0
            ring[place, TIMES] = 0
            ring_first[place] = math.nan
            ints[COUNT] += 1
            ints[NEXT] += 1
        if ints[NEXT] == pieces and not last:
            return NEED_INPUT
        if ints[FINISHED] + limits[MAX_SEQS] > out_number.size:
            return OUTPUT_FULL
        before = ints[PREEMPTIONS]
        decoding = _compute_prompts(running, first, ring, ring_first, ints, limits, chunks)
        alive = ints[RUNNING]
        if alive == 0:
            if ints[NEXT] == pieces:
                return DONE
            clock[0] = arrival[ints[NEXT]]
            continue
        prompts, pairs, n, context = 0, 0.0, 0, 0
        fewest = 1 << 62
        for i in range(alive):
            if chunks[i] > 0:
                prompts += chunks[i]
                pairs += chunks[i] * (running[i, KV] + chunks[i] / 2.0)
            elif i < decoding and running[i, TODO] == 0:
                n += 1
                left = running[i, OUTPUT] - running[i, GENERATED]
                if left > 0:
                    context += running[i, KV] + 1
                    fewest = min(fewest, left)
        first_step = cost[0] + cost[1] * prompts + cost[2] * n + cost[3] * context
        first_step += cost[4] * pairs
        k = 1
        growth = 0.0
        if prompts == 0 and ints[PREEMPTIONS] == before:  # else the next step may admit again
            k, growth = _jump(
                cost, limits, ints, running, arrival, pieces, now, n, first_step, fewest
            )
        clock[0] = now + k * first_step + growth * k * (k - 1) / 2.0
        ints[STEPS] += k
        _tokens(running, first, ints, limits, chunks, decoding, k, clock[0])
        _leave(running, first, ints, limits, clock[0], out_number, out_first, out_finish, out_times)


def _jump(
    cost: Any,
    limits: Any,
    ints: Any,
    running: Any,
    arrival: Any,
    pieces: int,
    now: float,
    n: int,
    first_step: float,
    fewest: int,
) -> Any:
    """How many steps are alike from here, and by how much each is longer than the last."""
    alive = 0
    for i in range(ints[RUNNING]):
        if running[i, OUTPUT] > running[i, GENERATED]:
            alive += 1
    growth = cost[3] * alive
    k = fewest
    open_place = ints[COUNT] == 0 and ints[RUNNING] < limits[MAX_SEQS]
    if open_place and limits[MODE] != STATIC and ints[NEXT] < pieces:
        k = min(k, _steps_until(first_step, growth, arrival[ints[NEXT]] - now))
    # the step that is about to run has room already: ask how many more have
    return max(1, _steps_within_pool(running, ints, limits, k)), growth


def _tokens(
    running: Any,
    first: Any,
    ints: Any,
    limits: Any,
    chunks: Any,
    decoding: int,
    k: int,
    now: float,
) -> None:
    for i in range(ints[RUNNING]):
        if chunks[i] > 0:
            running[i, KV] += chunks[i]
            running[i, TODO] -= chunks[i]
            if running[i, TODO] == 0:
                running[i, GENERATED] += 1
                if math.isnan(first[i]):
                    first[i] = now
        elif i < decoding and running[i, TODO] == 0 and running[i, GENERATED] < running[i, OUTPUT]:
            running[i, KV] += k
            running[i, GENERATED] += k
            if limits[RESERVE] == 0:
                more = _blocks(running[i, KV], limits[BLOCK]) - running[i, BLOCKS]
                if more > 0:
                    running[i, BLOCKS] += more
                    ints[FREE] -= more


def _leave(
    running: Any,
    first: Any,
    ints: Any,
    limits: Any,
    now: float,
    out_number: Any,
    out_first: Any,
    out_finish: Any,
    out_times: Any,
) -> None:
    """Write out who finished; a static batch leaves its places only together."""
    together = limits[MODE] == STATIC
    ended = 0
    for i in range(ints[RUNNING]):
        if running[i, GENERATED] == running[i, OUTPUT]:
            ended += 1
            if running[i, NUMBER] >= 0:
                at = ints[FINISHED]
                out_number[at] = running[i, NUMBER]
                out_first[at] = first[i]
                out_finish[at] = now
                out_times[at] = running[i, TIMES]
                ints[FINISHED] += 1
                running[i, NUMBER] = -1
    if ended == 0 or (together and ended < ints[RUNNING]):
        return
    kept = 0  # close the ranks in one pass
    for i in range(ints[RUNNING]):
        if running[i, NUMBER] < 0:
            ints[FREE] += running[i, BLOCKS]
            continue
        if kept != i:
            for column in range(R_SIZE):
                running[kept, column] = running[i, column]
            first[kept] = first[i]
        kept += 1
    ints[RUNNING] = kept
