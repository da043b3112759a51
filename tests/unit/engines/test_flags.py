"""Flags that an engine has, shortened ones and slips."""

from __future__ import annotations

import pytest

from seatrial.core.errors import UsageError
from seatrial.engines.flags import require_known

KNOWN = ("--tp-size", "--pp-size", "--pp-max-micro-batch-size", "--port")


def test_shortened_flags_pass_only_where_the_engine_takes_them() -> None:
    require_known("sglang 0.5.6", ["tp"], KNOWN, source="a test", shortened=True)
    with pytest.raises(UsageError, match="no flag 'tp'"):
        require_known("llama.cpp b1", ["tp"], KNOWN, source="a test")
    with pytest.raises(UsageError, match="no flag 'pp'"):
        require_known("sglang 0.5.6", ["pp"], KNOWN, source="a test", shortened=True)
