from __future__ import annotations

import types

import pytest

from seatrial.bench import neighbours
from seatrial.telemetry import Noise


def _telemetry(share: float | None, *, gpus: int = 0) -> object:
    row = types.SimpleNamespace(gpus=[object()] * gpus)
    noise = Noise(steal_share=0.0, others_share=share)
    return types.SimpleNamespace(rows=[row], noise=lambda: noise)


@pytest.mark.parametrize(
    ("share", "gpus", "local", "void"),
    [
        (0.80, 0, True, True),
        (0.36, 0, True, True),
        (0.35, 0, True, False),
        (None, 0, True, False),
        (0.80, 1, True, False),  # the engine computes on a GPU: the client judges itself
        (0.80, 0, False, False),  # it runs elsewhere: this machine's load is not its load
    ],
)
def test_a_cell_on_cpus_that_others_use_is_not_valid(
    share: float | None, gpus: int, local: bool, void: bool
) -> None:
    found = neighbours.reasons(_telemetry(share, gpus=gpus), local=local)  # type: ignore[arg-type]
    assert bool(found) is void
    assert all("other processes used" in reason for reason in found)
