"""The search space: extracted flags only, the default first, drawn from the seed."""

from __future__ import annotations

import pytest

from seatrial import facts
from seatrial.engines import adapter
from seatrial.engines.environment import Environment
from seatrial.engines.tuning import _DIALS, Dial, Space, configurations, space
from seatrial.facts import ENGINES

SPACE = Space(
    dials=[Dial(flag="a", values=(1, 2)), Dial(flag="b", values=(True,))], left_out=[], source=""
)


def place(engine: str, version: str) -> Environment:
    return Environment(engine=engine, version=version, kind="binary", program="x")


def test_the_default_is_first_and_no_configuration_twice() -> None:
    found = configurations(SPACE, {}, 10, seed=1)
    assert found[0] == {}
    assert len(found) == 6  # (default, 1, 2) x (default, True)
    assert len({str(sorted(f.items())) for f in found}) == 6
    assert {len(f) for f in found[1:4]} == {1}  # single changes before mixtures


def test_the_seed_gives_the_order_and_a_longer_list_only_adds() -> None:
    assert configurations(SPACE, {}, 3, seed=7) == configurations(SPACE, {}, 6, seed=7)[:3]
    orders = {str(configurations(SPACE, {}, 6, seed=s)) for s in range(8)}
    assert len(orders) > 1


def test_what_the_candidate_fixes_is_not_turned() -> None:
    assert all("a" not in f for f in configurations(SPACE, {"a": 9}, 10, seed=1))


def test_without_extracted_flags_there_is_only_the_default() -> None:
    found = space("vllm", place("vllm", "0.0.1"))
    assert found.dials == []
    assert found.left_out == [d.flag for d in _DIALS["vllm"]]
    assert configurations(found, {}, 4, seed=1) == [{}]


@pytest.mark.parametrize("engine", sorted(_DIALS))
def test_every_dial_is_a_flag_of_the_newest_release(engine: str) -> None:
    assert engine in ENGINES
    newest = facts.load().newest(engine)
    assert newest is not None
    found = space(engine, place(engine, newest.removeprefix("b")))
    if facts.load().engine(engine, newest).knows("flag"):
        assert found.left_out == []
        assert adapter(engine).title in found.source
    else:  # not extracted: nothing is tried, and that is said
        assert found.dials == []
