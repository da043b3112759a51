"""Deployment files for what was selected, from what was measured."""

from __future__ import annotations

from seatrial.decide.deploy.compose import compose
from seatrial.decide.deploy.kubernetes import kserve, kubernetes
from seatrial.decide.deploy.order import Order, order_of
from seatrial.decide.deploy.systemd import modelfile, systemd
from seatrial.decide.folder import TrialFiles
from seatrial.decide.record import Decision

__all__ = ["Order", "files_of", "order_of", "texts_of"]


def files_of(trial: TrialFiles, decision: Decision, *, image: str | None = None) -> dict[str, str]:
    """File name -> text: compose.yaml, kubernetes.yaml, kserve.yaml, NAME.service, Modelfile.

    Raises:
        ValueError: nothing was selected, or the engine is not served from an image.
    """
    order = order_of(trial, decision, image=image)
    cell = next(c for c in trial.cells if c.candidate == order.candidate and c.valid)
    return texts_of(order, settings=cell.effective)


def texts_of(order: Order, *, settings: dict[str, object] | None = None) -> dict[str, str]:
    """The same for an order; ``settings`` are the effective ones (``context_tokens``)."""
    files = {
        "compose.yaml": compose(order),
        "kubernetes.yaml": kubernetes(order),
        "kserve.yaml": kserve(order),
        f"{order.name}.service": systemd(order),
    }
    if order.model.endswith(".gguf"):
        files["Modelfile"] = modelfile(order, settings or {})
    return files
