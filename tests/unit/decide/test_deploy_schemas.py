"""Deployment files against the schemas of what reads them: Compose, Kubernetes, KServe, systemd."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from seatrial.decide.deploy import Order, texts_of

SCHEMAS = Path(__file__).resolve().parents[2] / "data" / "deploy"
ORDERS = {
    "cpu": {"engine": "llama.cpp", "gpus": 0, "memory_bytes": 1 << 30},
    "gpu": {"engine": "vllm", "gpus": 2, "memory_bytes": 3 << 30},
    "unknown memory": {"engine": "sglang", "gpus": 0, "memory_bytes": None},
    "ollama": {"engine": "ollama", "gpus": 0, "memory_bytes": 1 << 30},
    "hostile": {
        "engine": "vllm",
        "gpus": 1,
        "memory_bytes": None,
        "command": [
            "vllm",
            "serve",
            "/models/x",
            "--a",
            "b\nExecStartPost=/bin/false",
            "%n $X $(A)",
        ],
        "env": {"A": 'x"\n[Service]\nUser=root', "B": "on", "C": "1"},
    },
}


@pytest.fixture(params=list(ORDERS))
def order(request: pytest.FixtureRequest) -> Order:
    """What is to be deployed, in the shapes that differ."""
    given: dict[str, Any] = {
        "name": "support-chat-a",
        "workload": "support-chat",
        "candidate": "a",
        "version": "1.2.3",
        "image": "registry.example/engine:v1.2.3",
        "digest": False,
        "command": ["serve", "--model", "/models/m.gguf", "--ctx-size", "4096"],
        "env": {"OMP_NUM_THREADS": "2"},
        "health": "/health",
        "model": "/models/m.gguf",
        "artefact_sha256": "ab" * 32,
        "cold_start_s": 12.4,
        "drain_s": 30.0,
    }
    return Order(**{**given, **ORDERS[request.param]})


def schema(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SCHEMAS / name).read_bytes())
    return loaded


def kubernetes(definition: str) -> jsonschema.Draft202012Validator:
    whole = schema("kubernetes.json")
    return jsonschema.Draft202012Validator({**whole, "$ref": f"#/$defs/{definition}"})


def test_compose_fits_the_compose_specification(order: Order) -> None:
    document = yaml.safe_load(texts_of(order)["compose.yaml"])
    jsonschema.Draft7Validator(schema("compose-spec.json")).validate(document)
    command = document["services"]["engine"]["command"]
    assert [part.replace("$$", "$") for part in command] == order.command
    assert not any(re.search(r"(?<!\$)\$(?!\$)", part) for part in command)


def test_the_deployment_and_the_service_fit_kubernetes(order: Order) -> None:
    deployment, service = yaml.safe_load_all(texts_of(order)["kubernetes.yaml"])
    kubernetes("io.k8s.api.apps.v1.Deployment").validate(deployment)
    kubernetes("io.k8s.api.core.v1.Service").validate(service)
    pod = deployment["spec"]["template"]["spec"]
    box = pod["containers"][0]
    assert not any(re.search(r"(?<!\$)\$\(", part) for part in box["args"])
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= box.keys()
    pause = int(box["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] >= order.drain_s + pause
    allowed = box["startupProbe"]["failureThreshold"] * box["startupProbe"]["periodSeconds"]
    assert allowed >= 3 * order.cold_start_s - box["startupProbe"]["periodSeconds"]


def test_the_inference_service_fits_the_crd_of_kserve(order: Order) -> None:
    document = yaml.safe_load(texts_of(order)["kserve.yaml"])
    jsonschema.Draft202012Validator(schema("kserve.json")).validate(document)
    assert document["apiVersion"] == "serving.kserve.io/v1beta1"


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("compose-spec.json", None),
        ("kubernetes.json", "io.k8s.api.apps.v1.Deployment"),
        ("kserve.json", None),
    ],
)
def test_the_schemas_refuse_what_is_wrong(name: str, definition: str | None) -> None:
    """A schema that lets everything through would prove nothing."""
    wrong: dict[str, Any] = {
        "compose-spec.json": {"services": {"x": {"imagee": "y"}}},
        "kubernetes.json": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}},
        "kserve.json": {"spec": {"predictor": {"containers": [{"name": "x", "imagee": "y"}]}}},
    }[name]
    found = kubernetes(definition) if definition else jsonschema.Draft7Validator(schema(name))
    with pytest.raises(jsonschema.ValidationError):
        found.validate(wrong)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
def test_the_unit_is_one_that_systemd_reads(order: Order, tmp_path: Path) -> None:
    text = texts_of(order)[f"{order.name}.service"]
    # what is verified is the unit, not whether this machine has podman
    unit = tmp_path / f"{order.name}.service"
    unit.write_text(text.replace("/usr/bin/podman", shutil.which("true") or "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60
    )
    about_us = [line for line in done.stderr.splitlines() if order.name in line]
    assert about_us == []


def test_no_line_of_the_unit_comes_from_a_value(order: Order) -> None:
    text = texts_of(order)[f"{order.name}.service"]
    joined = text.replace("\\\n", " ")
    keys = [line.partition("=")[0] for line in joined.splitlines() if "=" in line]
    assert not {"ExecStartPost", "User"} & set(keys)
    assert joined.count("[Service]") - joined.count("\\u000a[Service]") == 1


def test_a_modelfile_has_instructions_that_ollama_knows(order: Order) -> None:
    files = texts_of(order, settings={"context_tokens": 4096})
    if "Modelfile" not in files:
        assert not order.model.endswith(".gguf")
        return
    lines = [x for x in files["Modelfile"].splitlines() if not x.startswith("#")]
    assert all(re.match(r"(FROM|PARAMETER) \S", line) for line in lines)
    assert "PARAMETER num_ctx 4096" in lines
