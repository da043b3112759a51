"""Cores for two engines: halves that share no core, and no socket where there are two."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.lifecycle.cores import divided, halves


def _machine(root: Path, sockets: int, cores: int, threads: int) -> list[int]:
    """A /sys with siblings numbered as Linux does: first all first threads, then all second."""
    count = sockets * cores
    for cpu in range(count * threads):
        folder = root / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        at = cpu % count
        (folder / "physical_package_id").write_text(f"{at // cores}\n")
        (folder / "core_id").write_text(f"{at % cores}\n")
    return list(range(count * threads))


def test_siblings_stay_together_and_sockets_apart(tmp_path: Path) -> None:
    cpus = _machine(tmp_path, sockets=2, cores=2, threads=2)
    assert divided(cpus, tmp_path) == ([0, 1, 4, 5], [2, 3, 6, 7])
    # the second socket alone may be used
    assert divided([2, 3, 6, 7], tmp_path) == ([2, 6], [3, 7])


def test_two_threads_of_one_core_are_not_two_cores(tmp_path: Path) -> None:
    cpus = _machine(tmp_path, sockets=1, cores=1, threads=2)
    assert divided(cpus, tmp_path) is None
    assert halves(cpus, tmp_path) == (cpus, cpus)


@given(st.sets(st.integers(0, 255), min_size=2))
def test_the_halves_are_equal_and_share_nothing(cpus: set[int]) -> None:
    found = divided(sorted(cpus), Path("/nowhere"))
    assert found is not None
    first, second = found
    assert len(first) == len(second) == len(cpus) // 2
    assert not set(first) & set(second)
    assert set(first) | set(second) <= cpus


def test_where_a_gpu_computes_nothing_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gpus:
        gpus = ("one",)

    monkeypatch.setattr("seatrial.lifecycle.cores.detect", Gpus)
    assert halves(None) == (None, None)
    assert halves([0, 1]) == ([0, 1], [0, 1])
