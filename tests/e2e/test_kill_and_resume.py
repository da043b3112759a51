"""kill -9 at any moment: no finished cell is measured twice, none is lost, nothing half is read.

Twenty kills: every second one inside a write (at the n-th passage of a write's crash points), the
others at a random moment, half of these counted from the first finished cell: how long it takes to
come there is the machine's affair. After each the trial on the disk is looked at; when a trial has
ended, a new one begins until twenty kills are through; the last one is run to its end.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from seatrial.core.ids import sha256_file

KILLS = 20
Run = Callable[..., subprocess.Popen[str]]
pytestmark = [pytest.mark.slow, pytest.mark.real]


def _finished(trial: Path) -> dict[str, str]:
    """Cell -> hash of its cell.json; checks that everything the cell names is whole."""
    found = {}
    for path in sorted(trial.glob("cells/*/*/cell.json")):
        if path.parent.name.startswith("."):
            continue
        cell = json.loads(path.read_bytes())
        for name, sha256 in cell["files"].items():
            assert sha256_file(path.parent / name) == sha256, f"{path.parent}/{name}"
        found[str(path.parent.relative_to(trial))] = sha256_file(path)
    return found


def _until_a_cell_is_finished(process: subprocess.Popen[str], trial: Path) -> None:
    end = time.monotonic() + 60
    while process.poll() is None and not list(trial.glob("cells/*/[!.]*/cell.json")):
        assert time.monotonic() < end, "no cell within a minute"
        time.sleep(0.02)


def _engines(home: Path) -> list[str]:
    mine = str(home)
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        env = process.info["environ"] or {}
        if env.get("SEATRIAL_HOME") == mine and "launcher" in " ".join(
            process.info["cmdline"] or []
        ):
            found.append(" ".join(process.info["cmdline"]))
    return found


def _gone(home: Path, within_s: float = 10.0) -> list[str]:
    end = time.monotonic() + within_s
    while (left := _engines(home)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def test_twenty_kills_lose_no_finished_cell_and_repeat_none(
    tmp_path: Path, small_workload: Path, seatrial: Run, engine_home: Path
) -> None:
    rng = random.Random(20)
    number, killed, resumed = 0, 0, 0
    trial = tmp_path / f"trial-{number}"
    before: dict[str, str] = {}
    while killed < KILLS or (resumed < 3 and killed < 2 * KILLS):
        inside_write = killed % 2 == 0
        env = {"SEATRIAL_CRASH_AT": f"*:{rng.randint(2, 24)}"} if inside_write else {}
        process = seatrial("run", small_workload, "--out", trial, **env)
        if not inside_write:
            if killed % 4 == 1:
                _until_a_cell_is_finished(process, trial)
            try:
                process.wait(timeout=rng.uniform(0.3, 7.0) if killed % 4 == 3 else rng.random())
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        after = _finished(trial)
        assert {name: after.get(name) for name in before} == before, "a finished cell changed"
        assert _gone(engine_home) == [], "an engine outlived a killed run"
        if process.returncode == -signal.SIGKILL:
            killed += 1
            resumed += bool(before)
            before = after
        else:
            assert process.returncode in (0, 3), err
            number += 1
            trial, before = tmp_path / f"trial-{number}", {}
    assert resumed >= 3, "no kill came after a finished cell: the test says too little"
    process = seatrial("run", small_workload, "--out", trial)
    _, err = process.communicate(timeout=90)
    assert process.returncode in (0, 3), err
    after = _finished(trial)
    assert {name: after.get(name) for name in before} == before
    assert len({name.split("/")[1] for name in after}) == 2, "each candidate was measured"
    assert list(trial.rglob("*.tmp")) == []
    assert list((tmp_path / "temporary").iterdir()) == [], "the last run removes what kills left"
    manifest = json.loads((trial / "manifest.json").read_bytes())
    for name, entry in manifest["files"].items():
        assert sha256_file(trial / name) == entry["sha256"]
