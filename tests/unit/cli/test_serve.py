from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.cli.main import run


def test_no_folder_no_loopback_are_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", str(tmp_path / "absent")]) == 2
    assert "there is no such folder of trials" in capsys.readouterr().err
    assert run(["serve", str(tmp_path), "--host", "0.0.0.0"]) == 2
    assert "not a loopback address" in capsys.readouterr().err


def test_a_taken_port_is_something_to_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from seatrial.web import listen

    taken = listen("127.0.0.1", 0)
    try:
        assert run(["serve", str(tmp_path), "--port", str(taken.port)]) == 3
        assert "--port 0" in capsys.readouterr().err
    finally:
        taken.sock.close()


def test_it_prints_the_address_with_the_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.web.serve", lambda _root, listening: listening.sock.close())
    assert run(["serve", str(tmp_path), "--port", "0", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("http://127.0.0.1:")
    assert "/#token=" in said.out
