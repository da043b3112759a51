"""What must be refused is refused before anything is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.web import create_app, listen
from seatrial.web.guard import inside

TOKEN = "right-token"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    base = tmp_path / "trials"
    trial = base / "one"
    trial.mkdir(parents=True)
    (trial / "workload.yaml").write_text("schema: seatrial/workload/1\n")
    (trial / ".lock").write_text("0")
    (base / "loose.txt").write_text("not a trial")
    (tmp_path / "secret.txt").write_text("outside")
    (trial / "leak").symlink_to(tmp_path / "secret.txt")
    (base / "linked").symlink_to(tmp_path)
    return base


@pytest.fixture
def app(root: Path) -> Any:
    return create_app(root, token=TOKEN, port=8642)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8642", "localhost:8642", "[::1]:8642", "LOCALHOST:8642", "127.0.0.1"]
)
def test_our_own_names_are_let_in(host: str, app: Any, ask: Callable[..., Any]) -> None:
    assert ask(app, "/index.json", headers={"host": host}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8642",
        "127.0.0.1:9999",
        "127.0.0.1.evil.example:8642",
        "localhost.evil.example",
        "",
        "127.0.0.1:8642:1",
        "127.0.0.1:x",
        "[::1",
    ],
)
def test_a_foreign_host_is_refused(host: str, app: Any, ask: Callable[..., Any]) -> None:
    answer = ask(app, "/index.json", headers={"host": host})
    assert answer.status == 403
    assert b"one" not in answer.body


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8642", "file://"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(
    origin: str, method: str, app: Any, ask: Callable[..., Any]
) -> None:
    headers = {"origin": origin, "x-seatrial-token": TOKEN}
    assert ask(app, "/trials/one/stop", headers=headers, method=method).status == 403


def test_what_stops_a_run_needs_the_token(app: Any, ask: Callable[..., Any]) -> None:
    for headers in ({}, {"x-seatrial-token": ""}, {"x-seatrial-token": "wrong"}):
        answer = ask(app, "/trials/one/stop", headers=headers, method="POST")
        assert answer.status == 403
        assert "token" in answer.json()["what"]
    right = {"x-seatrial-token": TOKEN, "origin": "http://127.0.0.1:8642"}
    answer = ask(app, "/trials/one/stop", headers=right, method="POST")
    assert answer.status == 409
    assert answer.json()["what"] == "no run is working on this trial"
    cross = {**right, "sec-fetch-site": "cross-site"}
    assert ask(app, "/trials/one/stop", headers=cross, method="POST").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/trials/one/files/../../../secret.txt",
        "/trials/one/files/..%2f..%2f..%2fsecret.txt",
        "/trials/one/files/%2fetc%2fpasswd",
        "/trials/one/files//etc/passwd",
        "/trials/one/files/leak",
        "/trials/one/files/.lock",
        "/trials/one/files/x%00y",
        "/trials/one/files/.",
        "/trials/..%2f/files/secret.txt",
        "/trials/linked/files/secret.txt",
        "/trials/loose.txt.json",
        "/trials/...json",
        "/trials/linked.json",
        "/profile.json?path=../secret.txt",
        "/profile.json?path=/etc/passwd",
        "/profile.json?path=one/leak",
        "/trials/one/log?candidate=../../..&start=1",
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static/vendor/manifest.json",
    ],
)
def test_nothing_outside_the_trials_folder_can_be_read(
    path: str, app: Any, ask: Callable[..., Any]
) -> None:
    answer = ask(app, path)
    assert answer.status == 404
    assert b"outside" not in answer.body
    assert b"root:" not in answer.body


def test_a_file_of_a_trial_is_read_and_never_runs_here(
    root: Path, app: Any, ask: Callable[..., Any]
) -> None:
    (root / "one" / "evil.html").write_text("<script>alert(1)</script>")
    answer = ask(app, "/trials/one/files/evil.html")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("application/octet-stream")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_answer_forbids_what_pages_do_not_need(app: Any, ask: Callable[..., Any]) -> None:
    for path in ("/", "/index.json", "/nowhere", "/static/app.js", "/trials/x.json"):
        headers = ask(app, path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers


def test_a_path_is_inside_only_if_it_really_is(tmp_path: Path) -> None:
    root = tmp_path / "r"
    (root / "a").mkdir(parents=True)
    (root / "a" / "f").write_text("x")
    assert inside(root, "a/f") == (root / "a" / "f").resolve()
    loop = root / "loop"
    loop.symlink_to(loop)
    for bad in ("a/g", "..", "../r/../..", "/etc", "loop", "a/\0", "a" * 5000):
        with pytest.raises(UsageError):
            inside(root, bad)


def test_it_listens_on_loopback_only() -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
        with pytest.raises(UsageError, match="not a loopback"):
            listen(host, 0)
    with_port = listen("127.0.0.1", 0)
    try:
        assert with_port.sock.getsockname()[0] == "127.0.0.1"
        assert with_port.url == f"http://127.0.0.1:{with_port.port}/#token={with_port.token}"
        with pytest.raises(PrerequisiteError, match="cannot listen"):
            listen("127.0.0.1", with_port.port)
    finally:
        with_port.sock.close()


def test_a_process_that_is_not_a_run_is_not_stopped(
    root: Path, app: Any, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _signal: killed.append(pid))
    (root / "one" / ".lock").write_text("1")
    headers = {"x-seatrial-token": TOKEN}
    assert ask(app, "/trials/one/stop", headers=headers, method="POST").status == 409
    assert killed == []
