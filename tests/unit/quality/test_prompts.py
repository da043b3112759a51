"""The shipped set, and a user's own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.quality.prompts import fingerprint, fixed, load


def test_the_shipped_set_has_64_prompts_of_several_kinds_on_both_routes():
    prompts = fixed()
    assert len(prompts) == len({p.id for p in prompts}) == len({p.text for p in prompts}) == 64
    assert set(Counter(p.route for p in prompts)) == {"chat", "text"}
    assert len({p.kind for p in prompts}) == 10


def test_own_prompts(tmp_path: Path):
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "a", "text": "hi"}\n{"id": "b", "text": "ho", "route": "text"}\n')
    own = load(path)
    assert [p.route for p in own] == ["chat", "text"]
    assert fingerprint(own) != fingerprint(fixed())


@pytest.mark.parametrize(
    "text", ["", '{"id": "a"}', '{"id": "a", "text": "x"}\n' * 2, '{"id": "a", "texd": "x"}']
)
def test_bad_prompt_files(tmp_path: Path, text: str):
    path = tmp_path / "own.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError):
        load(path)
    with pytest.raises(UsageError, match="there is no prompt file"):
        load(tmp_path / "gone.jsonl")
