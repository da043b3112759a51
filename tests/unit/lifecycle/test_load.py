"""What becomes of requests, told apart; and the switch that stands in front of engines."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from seatrial.engines import http
from seatrial.lifecycle.load import Load
from seatrial.lifecycle.record import judged
from seatrial.lifecycle.switch import Switch

BODY = {"model": "mock", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8}
Mock = Callable[..., tuple[str, subprocess.Popen[bytes]]]


@pytest.fixture
def mock() -> Iterator[Mock]:
    started = []

    def start(*options: str) -> tuple[str, subprocess.Popen[bytes]]:
        command = [sys.executable, "-m", "seatrial.mock", "--port", "0", "--law", "fixed"]
        process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE)
        started.append(process)
        assert process.stdout is not None
        return json.loads(process.stdout.readline())["url"], process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize(
    ("fault", "fate"),
    [(None, "finished"), ("http_500", "failed"), ("cut", "cut"), ("reset_before", "refused"),
     ("reset_mid", "cut"), ("error_in_200", "failed")],
)  # fmt: skip
def test_every_request_has_one_fate(mock: Mock, fault: str | None, fate: str) -> None:
    url, _ = mock(*(["--fault", fault] if fault else []))
    load = Load(url, "/v1/chat/completions", BODY, 3, once=True).start()
    load.stop(20)
    assert load.fates() == {fate: 3}


def test_nobody_there_is_refused() -> None:
    load = Load("http://127.0.0.1:9", "/x", BODY, 2, once=True).start()
    load.stop(20)
    assert load.fates() == {"refused": 2}


def test_a_killed_server_cuts_what_is_in_flight(mock: Mock) -> None:
    url, process = mock("--itl-ms", "50")
    body = {**BODY, "max_tokens": 400, "ignore_eos": True}
    load = Load(url, "/v1/chat/completions", body, 2, once=True).start()
    assert load.wait_for(2, 20)
    process.kill()
    sent = load.stop(20)
    assert load.fates() == {"cut": 2}
    assert all(s.ttft_ms and s.ended_ns >= s.first_ns for s in sent)


def test_the_switch_moves_new_connections_and_leaves_open_ones(mock: Mock) -> None:
    first, _ = mock("--itl-ms", "20", "--model", "one")
    second, _ = mock("--model", "two")
    body = {**BODY, "max_tokens": 40, "ignore_eos": True}
    with Switch(first) as switch:
        load = Load(switch.base_url, "/v1/chat/completions", body, 1, once=True).start()
        assert load.wait_for(1, 20)
        switch.point_to(second)
        assert http.get(switch.base_url, "/v1/models").json()["data"][0]["id"] == "two"
        assert switch.open_to(first) == 1
        load.stop(20)
        assert load.fates() == {"finished": 1}
        end = time.monotonic() + 5
        while switch.open_to(first) and time.monotonic() < end:
            time.sleep(0.02)
        assert switch.open_to(first) == 0


def test_a_backend_that_is_gone_is_a_closed_connection(mock: Mock) -> None:
    with Switch("http://127.0.0.1:9") as switch:
        assert http.get(switch.base_url, "/health").status == 0


@pytest.mark.parametrize(
    ("value", "limit", "verdict"),
    [(1.0, 2.0, "pass"), (2.0, 2.0, "pass"), (2.1, 2.0, "fail"), (5.0, None, "no_limit"),
     (None, 2.0, "unknown")],
)  # fmt: skip
def test_a_time_is_judged_by_its_limit(
    value: float | None, limit: float | None, verdict: str
) -> None:
    assert judged("x", value, limit).verdict == verdict
