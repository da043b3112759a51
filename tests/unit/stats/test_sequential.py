"""The error budget of the looks."""

from __future__ import annotations

import pytest

from seatrial.stats import ALPHA, looks, spend


@pytest.mark.parametrize("planned", [1, 2, 3, 4, 5, 8, 20])
def test_all_looks_together_never_spend_more_than_alpha(planned: int) -> None:
    total = sum(spend(n, planned) for n in range(1, planned * 4096 + 1))
    assert total <= ALPHA + 1e-12
    assert spend(planned, planned) >= 0.9 * ALPHA


def test_no_look_before_three_starts_unless_fewer_were_planned() -> None:
    assert looks(5, 20) == [3, 4, 5, 10, 20]
    assert looks(2, 4) == [2, 4]
