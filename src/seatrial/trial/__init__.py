"""A trial: the stages walked over one folder, resumable at any moment."""

from seatrial.trial.folder import TrialFolder
from seatrial.trial.manifest import Manifest, check_manifest, write_manifest

__all__ = ["Manifest", "TrialFolder", "check_manifest", "write_manifest"]
