"""Counts that a server gives are a stranger's: one that can be none is named, not entered."""

from __future__ import annotations

import pytest

from seatrial.loadgen.answer import Said, Usage
from seatrial.loadgen.outcome import Outcome, take


@pytest.mark.parametrize("count", [-1, 10**23, 1 << 63])
def test_a_count_that_can_be_none_is_left_out_and_named(count: int) -> None:
    outcome = Outcome(index=0, scheduled_ns=0, sent_ns=0, connect_ns=0, done_ns=0)
    take(outcome, 1, Said(0, "", None, Usage(7, count, count), None))
    assert outcome.input_tokens == 7
    assert outcome.output_tokens is None
    assert outcome.findings == ["wrong_usage"]
