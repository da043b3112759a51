"""Columns of few distinct values."""

from __future__ import annotations

import numpy as np

from seatrial.loadgen.coded import Coder


def test_rows_come_back_in_the_order_asked_for_and_can_be_set():
    coder = Coder[str | None]()
    for value in ("a", None, "a", "b"):
        coder.add(value)
    column = coder.build(np.array([3, 2, 1, 0]))
    assert column == ["b", "a", None, "a"]
    assert len(column.values) == 3
    column[0] = "c"
    assert column[0] == "c"
    assert (column.count("a"), column.count("never")) == (2, 0)
    assert dict(column.counts()) == {"a": 2, None: 1, "b": 0, "c": 1}


def test_many_rows_change_at_once_by_their_value():
    coder = Coder[tuple[str, ...]]()
    for value in ((), ("x",), (), ("x",)):
        coder.add(value)
    column = coder.build(np.arange(4))
    column.change(np.array([True, True, False, False]), lambda found: (*found, "y"))
    assert column == [("y",), ("x", "y"), (), ("x",)]


def test_no_rows():
    assert Coder[str]().build(np.empty(0, np.int64)) == []
