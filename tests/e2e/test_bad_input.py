"""Bad input: what, where, what is unchanged, what to do; the contract's exit code; nothing lost."""

from __future__ import annotations

import resource
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.Popen[str]]


def _run(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return process.returncode, err


def _says_everything(err: str) -> bool:
    return all(word in err for word in ("where:", "unchanged:", "do:"))


def test_a_missing_workload_file(seatrial: Run, tmp_path: Path) -> None:
    code, err = _run(seatrial("run", tmp_path / "none.yaml", "--out", tmp_path / "t"))
    assert code == 2
    assert _says_everything(err)
    assert "none.yaml" in err


def test_a_missing_trace(seatrial: Run, tmp_path: Path, small_workload: Path) -> None:
    text = small_workload.read_text()
    small_workload.write_text(text.replace("azure-conv-slice.csv", "gone.csv"))
    code, err = _run(seatrial("run", small_workload, "--out", tmp_path / "t"))
    assert code == 2
    assert _says_everything(err)
    assert "gone.csv" in err


def test_a_workload_without_traffic_leaves_no_trial_behind(
    seatrial: Run, tmp_path: Path, small_workload: Path
) -> None:
    text = small_workload.read_text()
    traffic = text[text.index("traffic:") : text.index("slo:")]
    small_workload.write_text(text.replace(traffic, ""))
    code, err = _run(seatrial("run", small_workload))
    assert code == 2
    assert _says_everything(err)
    assert "nothing was written" in err
    assert not (tmp_path / "trials").exists()


def test_the_log_of_an_engine_that_did_not_start_stays(
    seatrial: Run, tmp_path: Path, small_workload: Path
) -> None:
    text = small_workload.read_text()
    wide = "quantization: Q8_0}, args: {ctx_size: 2000000000}"  # 46 TB of cache
    small_workload.write_text(text.replace("quantization: Q8_0}", wide))
    code, err = _run(seatrial("bench", small_workload))
    assert code == 2
    names = [word for word in err.split() if word.startswith("llama.cpp-") and "q8_0" in word]
    assert names, err
    code, err = _run(seatrial("bench", small_workload, "--candidate", names[0]))
    assert code == 4, err
    kept = next(tmp_path.glob("*.engine.log"))
    assert kept.name in err
    assert "failed to initialize the context" in kept.read_text()


@pytest.mark.parametrize("name", ["../../evil", "a/b", "..", '"a\\u001b[31mb"', "n" * 5000, '""'])
def test_a_name_that_is_no_folders_is_refused(
    seatrial: Run, tmp_path: Path, small_workload: Path, name: str
) -> None:
    small_workload.write_text(small_workload.read_text().replace("name: small", f"name: {name}"))
    code, err = _run(seatrial("run", small_workload))
    assert code == 2
    assert _says_everything(err)
    assert "folder's name" in err
    assert not (tmp_path / "trials").exists()


@pytest.mark.parametrize("place", ["small.yaml", "/proc/x"])
def test_a_trial_cannot_be_where_no_folder_can(
    seatrial: Run, small_workload: Path, place: str
) -> None:
    code, err = _run(seatrial("run", small_workload, "--out", place))
    assert code == 2
    assert _says_everything(err)
    assert "defect" not in err


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("budget_minutes", "budget_minuts", "budget_minutes"),
        ("starts: 1", "starts: many", "starts"),
        ("seatrial/workload/1", "seatrial/workload/9", "schema"),
        ("engine: llama.cpp", "engine: lama.cpp", "llama.cpp"),
    ],
)
def test_a_wrong_key_or_type_is_named(
    seatrial: Run, tmp_path: Path, small_workload: Path, old: str, new: str, named: str
) -> None:
    text = small_workload.read_text()
    assert old in text
    small_workload.write_text(text.replace(old, new))
    code, err = _run(seatrial("run", small_workload, "--out", tmp_path / "t"))
    assert code == 2
    assert _says_everything(err)
    assert named in err
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("keep", [0, 3, 100, 5_000_000])
def test_a_model_file_cut_short(
    seatrial: Run, tmp_path: Path, small_workload: Path, small_model: Path, keep: int
) -> None:
    cut = tmp_path / "cut.gguf"
    with small_model.open("rb") as whole:
        cut.write_bytes(whole.read(keep))
    small_workload.write_text(small_workload.read_text().replace(str(small_model), str(cut)))
    code, err = _run(seatrial("run", small_workload, "--out", tmp_path / "t"))
    assert code == 6
    assert _says_everything(err)
    assert "cut.gguf" in err
    assert not list((tmp_path / "t").glob("cells/*/*"))


@pytest.mark.real
def test_a_port_in_use(seatrial: Run, small_model: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, err = _run(
            seatrial("engines", "start", "llama.cpp", "--model", small_model, "--port", str(port))
        )
    assert code == 3
    assert _says_everything(err)
    assert f"port {port} is in use" in err


@pytest.mark.real
@pytest.mark.slow
def test_a_full_disk_loses_nothing_that_was_finished(
    tmp_path: Path, small_workload: Path, seatrial: Run
) -> None:
    trial = tmp_path / "t"
    limit = 20_000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        process = seatrial("run", small_workload, "--out", trial)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    code, err = _run(process)
    assert code == 3, err
    assert _says_everything(err)
    assert "limit" in err or "full" in err
    kept = sorted(p.name for p in trial.iterdir())
    assert list(trial.rglob("*.tmp")) == []
    code, err = _run(seatrial("run", small_workload, "--out", trial))
    assert code in (0, 3), err
    assert set(kept) <= {p.name for p in trial.iterdir()}
    assert len({p.parent.parent for p in trial.glob("cells/*/*/cell.json")}) == 2
