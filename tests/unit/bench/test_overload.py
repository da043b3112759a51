"""At a load that the client cannot carry its cell is invalid, every time.

The overloads are real: more requests a second than one process can send, a client that gets no
core for a while, more events a second than calibration vouches for.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request

import duckdb
import numpy as np
import psutil
import pytest

from seatrial.bench.calibrate import ALLOWED_MS, ALLOWED_SHARE
from seatrial.loadgen.plan import Load

REPEATS = 5


def _reasons_of_lateness(cell) -> list[str]:
    return [reason for reason in cell.invalid_because if "ms late" in reason]


def _counted(cell) -> int:
    n = cell.requests
    return n.completed + n.failed + n.cancelled + n.timed_out + n.cut + n.in_flight


def test_more_requests_a_second_than_a_client_can_send(mock_url, cell_of, make_table):
    url = mock_url("--law", "fixed", "--ttft-ms", "1", "--itl-ms", "1")
    n = 1200
    table = make_table(n, inputs=8, outputs=2)
    table.arrival_ns[:] = np.arange(n) * 5_000  # 200 000 a second
    for start in range(1, REPEATS + 1):
        cell, _ = cell_of(url, table=table, start=start, load=Load(connections=64))
        assert not cell.valid
        assert _reasons_of_lateness(cell), cell.invalid_because
        assert _counted(cell) == cell.requests.offered == n


def _starve_worker(over: threading.Event) -> None:
    """Stop the load generator's worker for 200 ms once it sends, as a busy host would."""
    while not over.wait(0.005):
        for process in psutil.Process().children():
            try:
                works = "seatrial.loadgen.worker" in process.cmdline()
                if works and sum(c.status == "ESTABLISHED" for c in process.net_connections()) > 1:
                    time.sleep(0.1)
                    os.kill(process.pid, signal.SIGSTOP)
                    time.sleep(0.2)
                    os.kill(process.pid, signal.SIGCONT)
                    return
            except (psutil.Error, ProcessLookupError):
                continue


def test_a_client_that_gets_no_core_for_a_while(mock_url, cell_of, make_table):
    url = mock_url("--law", "fixed", "--ttft-ms", "20", "--itl-ms", "2")
    for start in range(1, REPEATS + 1):
        over = threading.Event()
        thread = threading.Thread(target=_starve_worker, args=(over,))
        thread.start()
        try:
            cell, _ = cell_of(
                url,
                table=make_table(80, gap_ms=10, outputs=4),
                start=start,
                load=Load(connections=8),
            )
        finally:
            over.set()
            thread.join()
        assert not cell.valid
        assert _reasons_of_lateness(cell), cell.invalid_because


def _ttft_errors_ms(folder, url) -> np.ndarray:
    """First token as the cell has it less as the server wrote it."""
    with urllib.request.urlopen(url + "/truth", timeout=30) as answer:
        rows = [json.loads(line) for line in answer]
    truth = {int(row["request_id"].rpartition("-")[2]): row["first_token_ns"] for row in rows}
    path = str(folder / "requests.parquet")
    seen = duckdb.execute(
        "select request_id, first_token_ns from read_parquet(?)", [path]
    ).fetchall()
    return np.array([first - truth[index] for index, first in seen if first is not None]) / 1e6


@pytest.mark.slow
def test_more_events_a_second_than_anyone_can_read(mock_url, cell_of, make_table):
    """What is told at such a load is right within what calibration allows, or it is not told."""
    n, outputs = 256, 400
    table = make_table(n, inputs=8, outputs=outputs)
    table.arrival_ns[:] = np.arange(n) * 1_000_000
    for start in (1, 2):  # half a minute each: calibration tries smaller loads too
        url = mock_url("--law", "fixed", "--ttft-ms", "5", "--itl-ms", "0.05")
        cell, folder = cell_of(
            url, table=table, start=start, load=Load(connections=n), calibrated=True
        )
        assert cell.client.calibration["events_per_s"] > 100_000
        if cell.valid:
            errors = _ttft_errors_ms(folder, url)
            errors -= np.median(errors)  # the two clocks' distance, if they are not one
            assert abs(errors.mean()) < ALLOWED_MS + ALLOWED_SHARE * cell.ttft_ms.mean
        else:
            assert cell.invalid_because
