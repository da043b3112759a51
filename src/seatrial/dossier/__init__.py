"""The dossier: a trial's files in, one page for people and one document for programs out."""

from seatrial.dossier.build import DossierPaths, build, compose
from seatrial.dossier.record import Dossier
from seatrial.dossier.trial import Trial, open_trial

__all__ = ["Dossier", "DossierPaths", "Trial", "build", "compose", "open_trial"]
