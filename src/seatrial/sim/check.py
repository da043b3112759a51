"""Refuse what could never be served: a simulation must end."""

from __future__ import annotations

from seatrial.core.errors import UsageError
from seatrial.sim.load import Load
from seatrial.sim.policy import CHUNKED, STATIC, Limits, Policy


def check(load: Load, policy: Policy, limits: Limits) -> None:
    """Raises:
    UsageError: limits that contradict each other, or a request too long for the cache.
    """
    if min(limits.max_seqs, limits.token_budget, limits.blocks, limits.block_tokens) < 1:
        raise _bad("a limit below 1", "give positive limits")
    if policy.mode in (CHUNKED, -1) and limits.token_budget < limits.max_seqs:
        raise _bad(
            f"a token budget of {limits.token_budget} below {limits.max_seqs} sequences",
            "raise the budget: every running sequence takes one token of it in each step",
        )
    if policy.mode == STATIC and not limits.reserve_tokens:
        raise _bad("request-level batching without a reservation", "set reserve_tokens")
    if not load.n:
        return
    longest = int((load.input + load.output).max())
    if limits.reserve_tokens and longest > limits.reserve_tokens:
        raise _bad(
            f"a request of {longest} tokens and a reservation of {limits.reserve_tokens}",
            "raise reserve_tokens, or leave the long requests out",
        )
    needed = -(-max(longest, limits.reserve_tokens) // limits.block_tokens)
    if needed > limits.blocks:
        raise _bad(
            f"a request that needs {needed} blocks and a pool of {limits.blocks}",
            "give the pool more blocks, or leave the long requests out",
        )


def _bad(what: str, remedy: str) -> UsageError:
    return UsageError(f"this cannot be simulated: {what}", remedy=remedy)
