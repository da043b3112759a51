"""The version, in one place, read by the build and by every artifact's provenance."""

__version__ = "0.1.0"
