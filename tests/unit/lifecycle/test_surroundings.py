"""What stands around an engine under trial: cgroups that are none, and which router it gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seatrial.lifecycle.memory import memory_cgroup, peak_bytes, resident_bytes
from seatrial.lifecycle.router import installed_router, router_for
from seatrial.lifecycle.signals import workers_of
from seatrial.lifecycle.switch import Switch


def test_a_folder_that_is_no_cgroup_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with memory_cgroup(1 << 20, tmp_path) as procs:
        assert procs is None
    assert [p.name for p in tmp_path.rglob("*")] == ["memory"]


def test_where_nothing_may_be_made_it_is_not_permitted(tmp_path: Path) -> None:
    with memory_cgroup(1 << 20, tmp_path / "nowhere") as procs:
        assert procs is None


@pytest.mark.parametrize("name", ["memory.peak", "memory.max_usage_in_bytes"])
def test_the_peak_is_read_in_both_versions(tmp_path: Path, name: str) -> None:
    assert peak_bytes(tmp_path) is None
    (tmp_path / name).write_text("4096\n")
    assert peak_bytes(tmp_path) == 4096


def test_processes_that_are_gone_weigh_nothing() -> None:
    assert workers_of(2**22 - 1) == [2**22 - 1]
    assert resident_bytes(os.getpid()) > 1 << 20
    assert resident_bytes(2**22 - 1) == 0


def test_without_the_routers_wheel_it_is_the_switch(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path))
    assert installed_router() is None
    assert isinstance(router_for("http://127.0.0.1:1", tmp_path / "log"), Switch)
