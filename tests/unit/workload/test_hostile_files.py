"""Files that are no files, and a field without end: said, and neither a hang nor a defect."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.trace.source import expand
from seatrial.workload.profiling import profile

HEADER = "arrival,input_tokens,output_tokens\n"


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a regular file"):
        expand(pipe)


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(UsageError, match="not a regular file"):
        expand("/dev/zero")


def test_an_empty_folder_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file in this folder"):
        expand(tmp_path)


@pytest.mark.parametrize("out_of_core", [True, False])
def test_a_first_row_with_a_field_without_end_is_a_bad_row(
    tmp_path: Path, out_of_core: bool
) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text(HEADER + "0," + "1" * 200_000 + ",5\n1,2,3\n2,4,3\n")
    found = profile([trace], out_of_core=out_of_core)
    assert found.requests == 2
    assert found.rows.bad == 1
