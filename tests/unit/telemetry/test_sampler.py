"""The sampler on a process that burns, one that sleeps, and a metrics server that breaks."""

from __future__ import annotations

import http.server
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from seatrial.telemetry import Sampler
from seatrial.telemetry.host import HostSample, noise
from seatrial.telemetry.processes import Tree


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


class _Metrics(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers = 0

    def do_GET(self) -> None:
        type(self).answers += 1
        if type(self).answers == 2:  # a broken second answer must cost one scrape, not the cell
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = b'a_total 1\nh_bucket{le="1"} 2\nh_sum 3\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_cell_files_hold_what_was_seen(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    _Metrics.answers = 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/metrics"
    with Sampler(child.pid, url, interval_s=0.05, scrape_s=0.1) as sampler:
        time.sleep(0.5)
    server.shutdown()
    server.server_close()
    result = sampler.result()
    resources = result.resources()
    assert resources["rss_peak_bytes"] is not None
    assert 1e6 < resources["rss_peak_bytes"] < 1e9
    telemetry, metrics = result.write(tmp_path)
    rows = duckdb.sql(f"SELECT count(*), min(engine_processes) FROM '{telemetry}'").fetchall()
    assert rows[0][0] >= 5
    assert rows[0][1] == 1
    kept = duckdb.sql(f"SELECT name, count(*) FROM '{metrics}' GROUP BY 1 ORDER BY 1").fetchall()
    assert dict(kept)["h_bucket"] == 2  # first and last scrape only
    assert dict(kept)["a_total"] >= 3


def test_a_vanished_engine_ends_nothing(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    sampler = Sampler(child.pid, interval_s=0.05).start()
    time.sleep(0.15)
    child.kill()
    child.wait()
    time.sleep(0.15)
    result = sampler.stop()
    assert result.rows[0].tree is not None
    assert result.rows[-1].tree is None
    path = result.write(tmp_path)[0]
    last = duckdb.sql(f"SELECT engine_rss_bytes FROM '{path}' ORDER BY t_ns DESC").fetchall()
    assert last[0] == (None,)


def test_cpu_time_of_a_child_that_ended_still_counts() -> None:
    script = "import os, time\nif os.fork() == 0:\n  t=time.process_time()\n  " + (
        "while time.process_time()-t<0.3: pass\n  os._exit(0)\nos.wait(); time.sleep(30)"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        tree = Tree(process.pid)
        seen = 0.0
        for _ in range(60):
            sample = tree.sample()
            assert sample is not None
            seen = max(seen, sample.cpu_s)
            tree._walked = -1e9
            time.sleep(0.02)
        last = tree.sample()
        assert last is not None
        assert last.cpu_s >= seen > 0.15
    finally:
        process.kill()
        process.wait()


def _host(busy: float, steal: float, total: float) -> HostSample:
    return HostSample(
        busy_s=busy, steal_s=steal, iowait_s=0, total_s=total, load1=0, memory_available_bytes=0
    )


def test_noise_is_what_neither_engine_nor_client_used() -> None:
    found = noise(_host(0, 0, 0), _host(60, 5, 100), own_cpu_s=40)
    assert found.steal_share == pytest.approx(0.05)
    assert found.others_share == pytest.approx(0.20)
    assert len(found.suspect()) == 2
    quiet = noise(_host(0, 0, 0), _host(41, 0, 100), own_cpu_s=40)
    assert quiet.suspect() == []


def test_a_window_too_short_says_nothing() -> None:
    found = noise(_host(0, 0, 0), _host(0.1, 0, 0.2), own_cpu_s=0)
    assert found.others_share is None
    assert found.suspect() == []
