"""The process behind an endpoint that seatrial did not start: found, or said to be unknown."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
import types

import psutil
import pytest

from seatrial.bench import listener
from seatrial.bench.listener import Listener, find

_LAUNCHER = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "seatrial.mock", "--lifeline"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
sys.stdout.buffer.write(child.stdout.readline()); sys.stdout.flush()
sys.stdin.read()
"""


def _pid_of(url: str) -> int:
    port = int(url.rpartition(":")[2])
    found = [
        c.pid
        for c in psutil.net_connections(kind="tcp")
        if c.status == psutil.CONN_LISTEN and c.laddr.port == port
    ]
    return found[0]


def test_a_server_on_this_machine_is_found_by_its_port(mock_url):
    url = mock_url()
    for name in ("127.0.0.1", "localhost"):
        found = find(url.replace("127.0.0.1", name))
        assert found == Listener(
            local=True, pid=_pid_of(url), name=psutil.Process(found.pid).name()
        )


def test_the_launcher_above_the_listener_is_the_engine_too():
    """A launcher whose child listens also has the children that compute (TGI, several fronts)."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _LAUNCHER]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        try:
            url = json.loads(process.stdout.readline())["url"]
            assert _pid_of(url) != process.pid
            assert find(url).pid == process.pid
        finally:
            process.stdin.close()
            process.wait(10)


def test_an_address_elsewhere_is_not_local():
    assert find("http://192.0.2.7:8000") == Listener(local=False)
    assert find("http://no-such-host.invalid:8000") == Listener(local=False)


def test_a_port_nobody_listens_on_is_said_to_be_unknown():
    found = find("http://127.0.0.1:1")
    assert (found.local, found.pid) == (True, None)
    assert "no listening socket" in found.unknown_because


def test_the_clients_own_process_is_not_the_engine():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        found = find(f"http://127.0.0.1:{server.server_port}")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert found.pid is None
    assert "own process" in found.unknown_because


def test_a_forwarder_is_not_the_engine(mock_url, monkeypatch):
    url = mock_url()
    monkeypatch.setattr(listener, "_FORWARDERS", (psutil.Process(_pid_of(url)).name(),))
    found = find(url)
    assert found.pid is None
    assert "passes on" in found.unknown_because


def _process(pid: int, parent: int, uid: int) -> object:
    uids = types.SimpleNamespace(real=uid)
    return types.SimpleNamespace(
        pid=pid, info={"uids": uids}, ppid=lambda: parent, name=lambda: "ollama"
    )


@pytest.mark.parametrize(
    ("uid", "processes", "pid", "says"),
    [
        (997, [(50, 1), (51, 50), (52, 51)], 50, ""),  # a service's user with one tree
        (997, [(50, 1), (60, 1)], None, "2 process trees"),
        (1000, [(50, 1)], None, "another user"),
        (0, [(50, 1)], None, "another user"),
        (None, [], None, "no listening socket"),
    ],
)
def test_another_users_server_is_told_by_its_user(monkeypatch, uid, processes, pid, says):
    made = [_process(number, parent, 997) for number, parent in processes]
    monkeypatch.setattr(listener, "_holder", lambda *_: None)
    monkeypatch.setattr(listener, "_uid", lambda _: uid)
    monkeypatch.setattr(listener.psutil, "process_iter", lambda _: iter([*made, _process(9, 1, 0)]))
    found = find("http://127.0.0.1:11434")
    assert found.pid == pid
    assert says in found.unknown_because


def test_the_table_of_sockets_names_the_user(mock_url):
    port = int(mock_url().rpartition(":")[2])
    assert listener._uid(port) == psutil.Process().uids().real
    assert listener._uid(1) is None


def test_memory_and_cpu_time_of_a_server_found_are_in_the_cell(mock_url, cell_of):
    cell, _ = cell_of(mock_url())
    assert cell.resources["rss_peak_bytes"] > 10 << 20
    assert cell.resources["cpu_s"] is not None
    assert not any(f.id == "engine-process-unknown" for f in cell.findings)


def test_a_server_that_cannot_be_told_is_a_finding_and_voids_nothing(
    mock_url, cell_of, monkeypatch
):
    unknown = Listener(local=True, unknown_because="docker-proxy listens there")
    module = sys.modules["seatrial.bench.measure"]
    monkeypatch.setattr(module, "find_listener", lambda _: unknown)
    cell, _ = cell_of(mock_url())
    said = next(f for f in cell.findings if f.id == "engine-process-unknown")
    assert "docker-proxy" in said.says
    assert cell.resources["host_others_share"] is None
    assert cell.resources["rss_peak_bytes"] is None
    assert not any("other processes" in reason for reason in cell.invalid_because)
    assert not any("other processes" in f.says for f in cell.findings if f.id == "host-noise")
