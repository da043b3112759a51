"""Faults on demand: the ways in which engines and what stands before them fail.

A fault is chosen per request: by the body's field ``mock_fault``, else by the shares given on the
command line (``--fault reset_mid=0.1``), drawn from a seeded stream in order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seatrial.core.errors import UsageError
from seatrial.core.seeds import derive_seed

FAULTS: Mapping[str, str] = {
    "http_500": "answers 500 with a JSON body",
    "http_429": "answers 429 with Retry-After",
    "error_in_200": "answers 200 and puts an error object where the first event should be",
    "error_mid": "sends an error object inside the stream, then ends it",
    "reset_before": "resets the connection before the first byte",
    "reset_headers": "sends the headers, then resets",
    "reset_mid": "resets the connection after half of the tokens",
    "eof_mid": "closes the connection in order after half of the tokens",
    "cut": "ends the stream in order after half of the tokens, without a finish_reason",
    "stall": "stops sending after half of the tokens and leaves the connection open",
    "hang": "never answers",
    "malformed_json": "the first event is not JSON",
    "malformed_mid": "one event in the middle is not JSON",
    "cut_json": "closes in the middle of an event's JSON",
    "wrong_usage": "reports twice the output tokens in usage",
    "no_usage": "sends no usage",
    "no_done": "omits [DONE]",
    "trailing_garbage": "sends bytes after the end of the answer",
    "slow_accept": "waits 200 ms before the headers",
    "endless": "streams tokens without end, whatever the limit",
    "endless_line": "streams without end inside one line that is never finished",
    "early_stop": "stops after half of the tokens with finish_reason stop",
}


ENDLESS = ("endless", "endless_line")
ENDLESS_TOKENS = 1 << 40


class FaultPlan:
    """Which fault, if any, the next request meets."""

    def __init__(self, shares: Mapping[str, float], seed: int) -> None:
        for name, share in shares.items():
            if name not in FAULTS:
                raise UsageError(
                    f"no such fault: {name}", where="--fault", remedy=f"one of {', '.join(FAULTS)}"
                )
            if not 0 <= share <= 1:
                raise UsageError(
                    f"share {share} of {name}", where="--fault", remedy="a number from 0 to 1"
                )
        self._shares = tuple(shares.items())
        self._seed = seed
        self._count = 0

    def choose(self, asked: object) -> str | None:
        """The fault of one request; ``asked`` is the body's ``mock_fault``."""
        if isinstance(asked, str) and asked in FAULTS:
            return asked
        draw = derive_seed(self._seed, "fault", self._count) / 2**64
        self._count += 1
        for name, share in self._shares:
            if draw < share:
                return name
            draw -= share
        return None


def parse_shares(items: Sequence[str]) -> dict[str, float]:
    """``["reset_mid=0.1"]`` -> ``{"reset_mid": 0.1}``; a bare name is 1."""
    shares = {}
    for item in items:
        name, _, share = item.partition("=")
        try:
            shares[name] = float(share or 1)
        except ValueError:
            raise UsageError(
                f"not a share: {share!r}", where=f"--fault {item}", remedy="NAME=0.1"
            ) from None
    return shares
