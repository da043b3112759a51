"""``import seatrial``: instant, lazy, the same steps as the verbs, with types."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import seatrial
from seatrial.trial import library


def test_importing_it_loads_no_stage() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, seatrial; heavy = {'numpy', 'duckdb', 'msgspec', 'scipy', 'starlette'};"
            "print(sorted(heavy & set(sys.modules)), seatrial.__version__)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said == f"[] {seatrial.__version__}\n"


def test_every_name_is_there_documented_and_no_package_of_that_name_hides_it() -> None:
    folder = Path(inspect.getfile(seatrial)).parent
    assert set(library.__all__) == set(seatrial.__all__) - {"__version__"}
    for name in library.__all__:
        found = getattr(seatrial, name)
        assert found is getattr(library, name)
        assert found.__doc__
        assert not (folder / name).exists()
    assert set(seatrial.__all__) <= set(dir(seatrial))
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = seatrial.nothing_of_the_kind


def test_every_parameter_and_result_has_a_type() -> None:
    for name in library.__all__:
        found = getattr(library, name)
        if inspect.isfunction(found):
            signature = inspect.signature(found)
            assert signature.return_annotation is not inspect.Signature.empty, name
            for parameter in signature.parameters.values():
                assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)
    assert get_type_hints(seatrial.__getattr__)["name"] is str


def test_errors_are_raised_and_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(seatrial.SeatrialError):
        seatrial.load_workload(tmp_path / "none.yaml")
    with pytest.raises(seatrial.SeatrialError):
        seatrial.decide_trial(tmp_path)
    with pytest.raises(seatrial.SeatrialError):
        seatrial.bench_endpoint("http://127.0.0.1:9", rate_per_s=1, duration_s=1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_the_notebook_runs_from_its_first_cell_to_its_last(
    repo_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = repo_root / "examples" / "notebook"
    notebook = json.loads((place / "seatrial.ipynb").read_bytes())
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    monkeypatch.chdir(place)
    monkeypatch.delenv("SEATRIAL_TRIAL", raising=False)
    names: dict[str, object] = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert names["print_"].requests > 400  # type: ignore[attr-defined]
    assert names["decision"].outcome  # type: ignore[attr-defined]
    assert names["check"].regression is False  # type: ignore[attr-defined]
    assert {r.verdict.value for r in names["gate"].candidates} > {"infeasible"}  # type: ignore[attr-defined]
