"""What the workload asks of the platform, and who must bring it.

Routing, canary, autoscaling and tenant isolation belong to the serving platform (KServe, llm-d,
Dynamo, Ray Serve, a router in front): an engine alone never satisfies them. Metrics are the
engine's own.
"""

from __future__ import annotations

from seatrial.decide.record import PlatformNeed
from seatrial.decide.trigger import HISTOGRAMS, WAITING
from seatrial.workload.spec import Platform

_BRINGS = {
    "routing": "a router or gateway in front of the replicas (Gateway API inference extension, the"
    " engine's own router, Ray Serve)",
    "canary": "a roll-out by weight (KServe canaryTrafficPercent, Argo Rollouts, a service mesh)",
    "autoscaling": "a scaler on the engine's queue (KEDA on the waiting-requests metric, KServe)",
    "tenant_isolation": "separate deployments or namespaces with quotas; the batch and KV cache of"
    " one engine are shared by all who use it",
}


def platform_needs(asked: Platform, engine: str | None) -> list[PlatformNeed]:
    """One entry per feature that is asked for; ``provided`` None where it is outside this trial."""
    needs = [
        PlatformNeed(
            feature=feature,
            layer="serving platform",
            provided=None,
            says=f"no engine brings {feature.replace('_', ' ')}: {brings}",
        )
        for feature, brings in _BRINGS.items()
        if getattr(asked, feature)
    ]
    if asked.metrics and engine:
        exports = engine in WAITING
        latency = any(name == engine for name, _ in HISTOGRAMS)
        says = f"{engine} exports {asked.metrics} metrics" if exports else f"{engine} exports none"
        if exports and not latency:
            says += ", but no latency histograms: watch latency at the gateway"
        needs.append(PlatformNeed(feature="metrics", layer="engine", provided=exports, says=says))
    return needs
