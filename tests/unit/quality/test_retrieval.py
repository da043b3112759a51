"""Long-context tasks: the number is there once, where it should be, and texts differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.quality.retrieval import DEPTHS, retrieval_items
from seatrial.quality.score import score
from seatrial.quality.task import items_of


def test_the_number_stands_once_at_its_depth():
    items = retrieval_items(500, n=6, seed=3)
    assert len({item.prompt[:60] for item in items}) == 6
    for number, item in enumerate(items):
        assert item.prompt.count(item.expected) == 1
        text = item.prompt.split("\n\n")[0]
        assert abs(text.index(item.expected) / len(text) - DEPTHS[number % 3]) < 0.03
        assert 495 <= len(text.split()) <= 530
        assert score(item, f"It is {item.expected}.")
        assert not score(item, "I do not know")
    assert retrieval_items(500, n=6, seed=3) == items


def test_by_name(tmp_path: Path):
    assert items_of("retrieval:60")[0].suite == "retrieval-60"
    assert items_of("gsm8k")[0].suite == "gsm8k"
    for name in ("retrieval:5", "retrieval:x", str(tmp_path / "none.jsonl")):
        with pytest.raises(UsageError):
            items_of(name)
