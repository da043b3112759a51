"""The upgrade check on two made-up trials."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from seatrial.cli.main import run
from seatrial.core.errors import UsageError
from seatrial.decide.changed import differences, log_kinds
from seatrial.decide.diff import diff

LOG = "load_tensors: 12 layers\nslot 0 ready at 12:00:01\n"


def write_trial(make_trial: Any, folder: Path, factor: float, **more: Any) -> Path:
    trial = make_trial({"a": factor}, requests=100, starts=4, **more.pop("made", {}))
    log = more.pop("log", LOG)
    trial.cells = [msgspec.structs.replace(c, **more) for c in trial.cells]
    trial.write(folder)
    for cell in trial.cells:
        (folder / "cells" / "a" / f"{cell.start:03d}" / "engine.log").write_text(log)
    return folder


def test_meas_035_a_slower_version_is_a_regression_with_its_likely_cause(
    make_trial: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write_trial(make_trial, tmp_path / "old", 1.0, effective={"n_batch": 2048, "slots": 4})
    new = write_trial(
        make_trial,
        tmp_path / "new",
        1.2,
        made={"seed": 2},
        effective={"n_batch": 512, "slots": 4},
        log=LOG + "flash attention not supported, falling back\n",
    )
    assert run(["diff", str(old), str(new), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["regression"] is True
    by_name = {m["name"]: m for m in document["metrics"]}
    ttft = by_name["ttft_ms.p95"]
    assert ttft["outcome"] == "worse"
    assert 1.1 < ttft["interval"]["low"] < ttft["ratio"] < ttft["interval"]["high"] < 1.3
    assert "falling back" in ttft["causes"][0]
    assert "n_batch" in ttft["causes"][1]
    assert set(document["changed"]) == {"versions", "flags", "settings", "logs", "facts"}
    assert run(["diff", str(old), str(new)]) == 1
    assert "ttft_ms.p95 is worse" in capsys.readouterr().out


def test_the_same_again_is_no_regression(make_trial: Any, tmp_path: Path) -> None:
    old = write_trial(make_trial, tmp_path / "old", 1.0)
    new = write_trial(make_trial, tmp_path / "new", 1.0, made={"seed": 2})
    found = diff(old, new)
    assert not found.regression
    assert not found.changed.logs
    assert {m.outcome for m in found.metrics if m.gated} <= {"equivalent", "not_worse"}
    assert run(["diff", str(old), str(new), "--strict"]) == 0


def test_noise_is_undecided_and_strict_says_no(make_trial: Any, tmp_path: Path) -> None:
    old = write_trial(make_trial, tmp_path / "old", 1.0, made={"sd": 0.08})
    new = write_trial(make_trial, tmp_path / "new", 1.0, made={"sd": 0.08, "seed": 2})
    assert run(["diff", str(old), str(new)]) == 0
    assert run(["diff", str(old), str(new), "--strict"]) == 3


def test_faster_is_not_a_regression(make_trial: Any, tmp_path: Path) -> None:
    old = write_trial(make_trial, tmp_path / "old", 1.2)
    new = write_trial(make_trial, tmp_path / "new", 1.0, made={"seed": 2})
    found = diff(old, new)
    assert not found.regression
    assert {m.outcome for m in found.metrics if m.name == "ttft_ms.p95"} == {"better"}


def test_another_trace_is_refused(make_trial: Any, tmp_path: Path) -> None:
    old = write_trial(make_trial, tmp_path / "old", 1.0, comparability={"trace": "x"})
    new = write_trial(make_trial, tmp_path / "new", 1.0, comparability={"trace": "y"})
    with pytest.raises(UsageError, match="trace"):
        diff(old, new)
    assert run(["diff", str(old), str(new)]) == 2
    assert any("trace" in c for c in diff(old, new, force=True).caveats)


def test_two_candidates_of_one_trial(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0, "b": 1.3}, requests=200).write(tmp_path / "t")
    found = diff(folder, folder, old_candidate="a", new_candidate="b")
    assert found.regression
    assert not any("interleaved" in c for c in found.caveats)
    with pytest.raises(UsageError, match="selected nobody"):
        diff(folder, folder)


def test_log_kinds_blank_numbers_and_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "log"
    load = b"load '/home/me/x y/m.gguf' from /a/b/c.bin at http://h/v1\n"
    rest = b"took 12.5 ms\ntook 99 ms\n\x1b[31mred\x1b[0m at 0xdeadbeef\n\n----\n"
    path.write_bytes(load + rest)
    assert log_kinds(path).pop("load '.../x y/m.gguf' from .../c.bin at http://h/v#") == 1
    assert {k: v for k, v in log_kinds(path).items() if "load" not in k} == {
        "took # ms": 2,
        "?[#mred?[#m at #": 1,
    }
    assert log_kinds(tmp_path / "none") == {}


def test_differences_are_flat_and_named() -> None:
    found = differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}, "d": None})
    assert [(d.name, d.old, d.new) for d in found] == [("a.c", 2, 3), ("d", "(absent)", None)]
