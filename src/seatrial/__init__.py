"""seatrial: which LLM inference engine should serve this workload, shown and not asserted."""

from seatrial._version import __version__

__all__ = ["__version__"]
