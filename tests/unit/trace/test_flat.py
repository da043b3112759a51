from __future__ import annotations

from pathlib import Path

import pytest

from seatrial import trace
from seatrial.core.errors import UsageError

HUGE = "9" * 400


def test_a_time_beyond_every_float_is_a_bad_row_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    row = '{"timestamp": T, "input_tokens": 3, "output_tokens": 4}\n'
    bad = row.replace("T", HUGE, 1)
    path.write_text(bad + row.replace("T", "1", 1) + bad + row.replace("T", "2", 1))
    table = trace.load(path)
    assert table.n == 2
    assert sum(file.bad for file in table.files) == 2
    path.write_text(bad)
    with pytest.raises(UsageError):
        trace.load(path)
