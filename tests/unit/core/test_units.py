from __future__ import annotations

import pytest

from seatrial.core import units


def test_times_convert_at_the_border_only() -> None:
    assert units.s_to_ns(0.3) == 300_000_000
    assert units.ns_to_ms(300_000_000) == 300.0
    assert units.ns_to_s(1_500_000_000) == 1.5


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.012, "12 ms"), (3.24, "3.2 s"), (250, "4 min 10 s"), (7260, "2 h 1 min")],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert units.format_duration(seconds) == text


def test_bytes_are_binary_as_engines_print_them() -> None:
    assert units.format_bytes(51.38 * units.GIB) == "51.38 GiB"
    assert units.format_bytes(12) == "12 B"
