"""What a workload presses on: planted demands get their own name, with the arithmetic in words."""

from __future__ import annotations

import numpy as np
import pytest

from seatrial.trace import Blocks, RequestTable
from seatrial.workload import fingerprint
from seatrial.workload.pressure import Reference, windows_of
from seatrial.workload.profile import Pressure

S = 10**9


def table(
    rate: float, inputs: int, outputs: int, *, n: int = 2000, times: np.ndarray | None = None,
    blocks: Blocks | None = None,
) -> RequestTable:  # fmt: skip
    if times is None:
        times = np.cumsum(np.random.default_rng(1).exponential(S / rate, n)).astype(np.int64)
    return RequestTable(
        format="t",
        n=n,
        arrival_ns=times - times[0],
        grain_ns=1,
        input_tokens=np.full(n, inputs, dtype=np.int64),
        output_tokens=np.full(n, outputs, dtype=np.int64),
        blocks=blocks,
    )


def label(t: RequestTable, reference: Reference | None = None) -> Pressure:
    return fingerprint(t, reference=reference).pressure


def test_long_inputs_press_on_prefill() -> None:
    found = label(table(4, 6000, 50))
    assert found.label == "prefill"
    assert found.family == "multi_tenant_chat"
    assert "counted in full because the trace shows no prefixes" in found.because


def test_long_outputs_press_on_decode() -> None:
    assert label(table(8, 200, 1500)).label == "decode_kv"


def test_repeated_prefixes_press_on_the_prefix_cache() -> None:
    n, per = 2000, 375
    hashes = np.tile(np.arange(per), n)
    hashes.reshape(n, per)[:, 300:] = 1000 + np.arange(n * 75).reshape(n, 75)
    blocks = Blocks(np.arange(n + 1) * per, hashes.astype(np.int64), 16)
    found = label(table(4, 6000, 50, blocks=blocks))
    assert found.label == "prefix_cache"
    assert found.family == "structured_programs"
    # 300 of 375 blocks come again every time: four fifths of the prefill are taken away
    assert found.loads["prefix_cache"] == pytest.approx(4 * found.loads["prefill"], rel=0.01)


def test_bursts_press_on_queueing() -> None:
    burst = np.repeat(np.arange(20) * 500 * S, 100) + np.tile(np.arange(100) * S // 50, 20)
    assert label(table(1, 12_000, 100, times=burst)).label == "queueing"


def test_one_user_at_a_time_presses_on_nothing() -> None:
    found = label(table(0.01, 500, 100))
    assert found.label == "nothing"
    assert found.family == "single_user"


def test_without_times_queueing_cannot_be_said() -> None:
    t = table(1, 6000, 50)
    found = label(
        RequestTable(
            format="t",
            n=t.n,
            arrival_ns=None,
            grain_ns=None,
            input_tokens=t.input_tokens,
            output_tokens=t.output_tokens,
        )
    )
    assert found.label == "prefill"
    assert "queueing" not in found.loads
    assert "no arrival times" in found.because


def test_without_lengths_it_is_not_derivable() -> None:
    t = table(1, 10, 10)
    found = label(
        RequestTable(
            format="t", n=t.n, arrival_ns=t.arrival_ns, grain_ns=1, input_tokens=None,
            output_tokens=t.output_tokens,
        )
    )  # fmt: skip
    assert found.label == "not_derivable"


def test_the_reference_is_stated_and_changes_the_answer() -> None:
    slow_memory = Reference(name="slow memory", bandwidth=1e11)
    t = table(4, 6000, 200)
    assert label(t).label == "prefill"
    other = label(t, slow_memory)
    assert other.label == "decode_kv"
    assert other.reference == "slow memory"


def test_loads_are_the_formula_written_out() -> None:
    t = table(3, 1000, 100, n=500)
    r = Reference()
    loads = label(t).loads
    found = fingerprint(t)
    assert found.arrivals is not None
    rate = found.arrivals.rate_per_s
    flops = 2 * r.parameters * 1000 + 2 * r.layers * r.width * 1000**2
    assert loads["prefill"] == pytest.approx(rate * flops / (r.peak_flops * r.flops_share))
    context = 1050
    batch = r.kv_tokens / context
    moved = 100 * (r.weight_bytes / batch + context * r.kv_bytes_per_token)
    assert loads["decode_kv"] == pytest.approx(rate * moved / (r.bandwidth * r.bandwidth_share))


def test_windows_leave_out_rows_without_a_length() -> None:
    t = table(1, 10, 10, n=4)
    assert t.output_tokens is not None
    t.output_tokens[1] = -1
    sums = windows_of(t)
    assert sums is not None
    assert sums.requests == 3
