from __future__ import annotations

from pathlib import Path

import msgspec

from seatrial.core.progress import Silent
from seatrial.trial.events import Event, EventLog


def _seqs(path: Path) -> list[int]:
    return [msgspec.json.decode(line, type=Event).seq for line in path.read_bytes().splitlines()]


def test_numbers_continue_over_a_crash_that_cut_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path, Silent())
    log.step("gate", "began")
    log.step("gate", "ended\n\x1b[31mred")
    log.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq":3,"t_n')
    log = EventLog(path, Silent())
    log.step("bench", "began")
    log.close()
    assert path.read_bytes().startswith(whole)
    assert _seqs(path) == [1, 2, 3]
