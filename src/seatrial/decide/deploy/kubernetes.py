"""A Kubernetes Deployment and Service (apps/v1), and a KServe InferenceService (v1beta1)."""

from __future__ import annotations

from typing import Any

import yaml

from seatrial.decide.deploy.order import PORT, Order, pin_note

_PROBE_S = 5


class _Plain(yaml.SafeDumper):
    """Labels that stand in two places are written in both: no anchors to follow."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def kubernetes(order: Order) -> str:
    """Deployment and Service: start-up, readiness and liveness probes, drain, no overlap of GPUs.

    The start-up probe allows three times the worst cold start measured; the pod leaves the
    service's endpoints before the engine gets SIGTERM (preStop), and then has its drain time.
    """
    labels = {"app.kubernetes.io/name": order.name, "app.kubernetes.io/part-of": "seatrial"}
    grace = round(order.drain_s) + _PROBE_S
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": order.name, "labels": labels, "annotations": _annotations(order)},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app.kubernetes.io/name": order.name}},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels, "annotations": _annotations(order)},
                "spec": {
                    "terminationGracePeriodSeconds": grace,
                    "containers": [container(order)],
                    "volumes": [
                        {"name": "models", "persistentVolumeClaim": {"claimName": "models"}}
                    ],
                },
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": order.name, "labels": labels},
        "spec": {
            "selector": {"app.kubernetes.io/name": order.name},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    }
    return _dump(order, deployment, service)


def kserve(order: Order) -> str:
    """A KServe InferenceService with the same container as its predictor."""
    body = container(order)
    body["name"] = "kserve-container"
    document = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": order.name, "annotations": _annotations(order)},
        "spec": {
            "predictor": {
                "minReplicas": 1,
                "containers": [body],
                "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
            }
        },
    }
    return _dump(order, document)


def container(order: Order) -> dict[str, Any]:
    """The container as both take it."""
    check = {"httpGet": {"path": order.health, "port": "http"}, "periodSeconds": _PROBE_S}
    tries = max(6, round(3 * order.cold_start_s / _PROBE_S))
    resources: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    if order.memory_bytes:
        resources["requests"]["memory"] = str(order.memory_bytes)
        if not order.gpus:
            resources["limits"]["memory"] = str(order.memory_bytes)
    if order.gpus:
        resources["limits"]["nvidia.com/gpu"] = str(order.gpus)
    return {
        "name": "engine",
        "image": order.image,
        "command": [_literal(part) for part in order.command[:1]],
        "args": [_literal(part) for part in order.command[1:]],
        "env": [{"name": name, "value": _literal(value)} for name, value in order.env.items()],
        "ports": [{"name": "http", "containerPort": PORT}],
        "startupProbe": {**check, "failureThreshold": tries},
        "readinessProbe": {**check, "failureThreshold": 2},
        "livenessProbe": {**check, "periodSeconds": 10, "failureThreshold": 6},
        "lifecycle": {"preStop": {"exec": {"command": ["sleep", str(_PROBE_S)]}}},
        "resources": {key: value for key, value in resources.items() if value},
        "volumeMounts": [{"name": "models", "mountPath": "/models", "readOnly": True}],
    }


def _literal(text: str) -> str:
    """A value in which Kubernetes is to expand no ``$(NAME)`` (Container v1, ``args``)."""
    return text.replace("$(", "$$(")


def _annotations(order: Order) -> dict[str, str]:
    return {
        "seatrial/candidate": order.candidate,
        "seatrial/artefact-sha256": order.artefact_sha256 or "unknown",
    }


def _dump(order: Order, *documents: dict[str, Any]) -> str:
    head = f"# {order.candidate} for {order.workload}: {pin_note(order)}\n"
    head += "# the claim 'models' must hold the measured weights (see the annotation)\n"
    return head + "---\n".join(
        yaml.dump(document, Dumper=_Plain, sort_keys=False, width=100) for document in documents
    )
