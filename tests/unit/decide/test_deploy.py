"""Deployment files: what ran in the trial, readable by what reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from seatrial.cli.main import run
from seatrial.decide import decide_folder, load_trial
from seatrial.decide.deploy import files_of, order_of

EFFECTIVE = {
    "version": "2026.10.11549",
    "model": "/home/me/secret place/tiny q4_0.gguf",
    "context_tokens": 2048,
    "flags": {
        "alias": "tiny",
        "ctx_size": 4096,
        "parallel": 2,
        "metrics": True,
        "cache_prompt": False,
        "flash_attn": True,
        "port": 1234,
        "override": {"a": "50%"},
    },
    "env": {"OMP_NUM_THREADS": "1", "HF_TOKEN": "(set)"},
}


@pytest.fixture
def trial_folder(make_trial: Any, tmp_path: Path) -> Path:
    trial = make_trial({"a": 1.0, "b": 1.4}, starts=3, requests=100)
    arms = [msgspec.structs.replace(x, version="2026.10.11549") for x in trial.plan.survivors]
    trial.plan = msgspec.structs.replace(trial.plan, survivors=arms)
    key = {"artefact": "ab" * 32}
    trial.cells = [
        msgspec.structs.replace(c, effective=EFFECTIVE, comparability=key) for c in trial.cells
    ]
    return trial.write(tmp_path / "t")


def test_the_order_is_what_ran(trial_folder: Path) -> None:
    order = order_of(load_trial(trial_folder), decide_folder(trial_folder))
    assert order.image == "ghcr.io/ggml-org/llama.cpp:server-b11549"
    assert order.model == "/models/tiny_q4_0.gguf"
    text = " ".join(order.command)
    assert "--ctx-size 4096 --parallel 2 --metrics --no-cache-prompt --flash-attn on" in text
    assert "1234" not in text
    assert order.env == {"OMP_NUM_THREADS": "1"}
    assert order.artefact_sha256 == "ab" * 32


def test_compose_and_kubernetes_are_whole(trial_folder: Path) -> None:
    files = files_of(load_trial(trial_folder), decide_folder(trial_folder))
    assert set(files) == {
        "compose.yaml",
        "kubernetes.yaml",
        "kserve.yaml",
        "t-a.service",
        "Modelfile",
    }
    service = yaml.safe_load(files["compose.yaml"])["services"]["engine"]
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert service["command"][0] == "/app/llama-server"
    deployment, exposed = yaml.safe_load_all(files["kubernetes.yaml"])
    spec = deployment["spec"]["template"]["spec"]
    box = spec["containers"][0]
    assert deployment["spec"]["selector"]["matchLabels"].items() <= (
        deployment["spec"]["template"]["metadata"]["labels"].items()
    )
    assert exposed["spec"]["ports"][0]["targetPort"] == box["ports"][0]["name"]
    assert {"startupProbe", "readinessProbe", "livenessProbe", "lifecycle"} <= box.keys()
    assert all(isinstance(e["value"], str) for e in box["env"])
    assert spec["volumes"][0]["name"] == box["volumeMounts"][0]["name"]
    served = yaml.safe_load(files["kserve.yaml"])
    assert served["spec"]["predictor"]["containers"][0]["name"] == "kserve-container"
    assert "secret place" not in "".join(files.values())


def test_the_unit_escapes_what_systemd_would_read(trial_folder: Path) -> None:
    unit = files_of(load_trial(trial_folder), decide_folder(trial_folder))["t-a.service"]
    assert '"{\\"a\\":\\"50%%\\"}"' in unit
    assert "tag only" in unit


def test_a_digest_pins(trial_folder: Path, tmp_path: Path) -> None:
    image = "ghcr.io/x/y@sha256:" + "c" * 64
    argv = ["decide", str(trial_folder), "--deploy", str(tmp_path / "d"), "--image", image]
    assert run(argv) == 0
    text = (tmp_path / "d" / "compose.yaml").read_text()
    assert image in text
    assert "pinned by digest" in text


def test_nothing_selected_gives_no_files(make_trial: Any, tmp_path: Path) -> None:
    folder = make_trial({"a": 1.0}, starts=1, requests=20).write(tmp_path / "t")
    assert run(["decide", str(folder), "--deploy", str(tmp_path / "d")]) == 2
    assert not (tmp_path / "d").exists()
