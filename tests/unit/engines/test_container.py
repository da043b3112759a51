"""Containers: the command of the runtime, and that no container outlives its engine."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from seatrial import engines
from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.engines import LoraAdapter, Settings, adapter
from seatrial.engines.container import contained
from seatrial.engines.environment import environments
from seatrial.engines.process import spawn
from seatrial.workload.spec import CandidateSpec

IMAGE = "registry.example/vllm/vllm-openai@sha256:" + "a" * 64


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for docker on the PATH: notes its calls; ``run`` goes on until it is killed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "docker"
    calls = tmp_path / "calls"
    script.write_text(
        f"#!{sys.executable}\nimport sys, time\n"
        f"open({str(calls)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        "time.sleep(60 if sys.argv[1] == 'run' else 0)\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SEATRIAL_HOME", str(tmp_path / "home"))
    return calls


def test_an_image_by_digest_is_an_environment(runtime: Path) -> None:
    made = engines.register("vllm", "0.33.0", IMAGE)
    assert environments() == [made]
    assert engines.installed() == {"vllm": ["0.33.0"]}
    assert engines.remove("vllm", "0.33.0")
    assert engines.installed() == {}


@pytest.mark.parametrize("image", ["vllm/vllm-openai:latest", "x@sha256:12", "--privileged", ""])
def test_a_tag_is_no_image(runtime: Path, image: str) -> None:
    with pytest.raises(UsageError, match="digest"):
        engines.register("vllm", "1", image)


def test_a_version_is_no_path(runtime: Path) -> None:
    with pytest.raises(UsageError, match="no version"):
        engines.register("vllm", "../../x", IMAGE)


def test_without_a_runtime_it_says_so(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PrerequisiteError, match="not on the PATH"):
        engines.register("vllm", "1", IMAGE)


def test_the_command_publishes_on_loopback_and_mounts_read_only(runtime: Path) -> None:
    place = engines.register("vllm", "0.33.0", IMAGE)
    one = adapter("vllm")
    settings = Settings(
        context_tokens=512,
        devices=[0, 1],
        cpus=[2, 3],
        env={"A": "b"},
        lora=[LoraAdapter(name="l", path="/adapters/l")],
    )
    flags = one.flags(CandidateSpec(engine="vllm"), Path("/weights"), settings)
    launch = one.launch(place, Path("/weights"), flags, "0.0.0.0", 4321)
    whole = contained(launch, place, Path("/weights"), settings, 4321)
    line = " ".join(whole.argv)
    assert "--publish 127.0.0.1:4321:4321" in line
    assert "--volume /weights:/weights:ro" in line
    assert "--volume /adapters/l:/adapters/l:ro" in line
    assert '--gpus "device=0,1"' in line
    assert "--cpuset-cpus 2,3" in line
    assert "--env A=b" in line
    assert f"--entrypoint vllm {IMAGE} serve /weights --host 0.0.0.0 --port 4321" in line
    assert "privileged" not in line
    assert whole.after == ["docker", "rm", "--force", "seatrial-4321"]


def test_a_killed_client_leaves_no_container(runtime: Path, tmp_path: Path) -> None:
    process = spawn(
        ["docker", "run", "x"],
        env=dict(os.environ),
        log=tmp_path / "log",
        after=["docker", "rm", "--force", "seatrial-1"],
    )
    end = time.monotonic() + 10
    while not runtime.exists() and time.monotonic() < end:
        time.sleep(0.02)
    process.signal(signal.SIGKILL)
    assert process.wait(20) is not None
    assert runtime.read_text().splitlines() == ["run x", "rm --force seatrial-1"]
