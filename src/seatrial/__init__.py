"""seatrial: which LLM inference engine should serve this workload, shown and not asserted.

The steps of the command line are functions here (``seatrial.trial.library`` tells them all); they
are loaded when first asked for, so that ``import seatrial`` and ``seatrial --help`` stay instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatrial._version import __version__

if TYPE_CHECKING:
    from seatrial.trial.library import (
        SeatrialError,
        bench_endpoint,
        compare_trials,
        decide_trial,
        eliminate,
        fingerprint,
        load_facts,
        load_trace,
        load_workload,
        read_dossier,
        run_trial,
        write_dossier,
    )

__all__ = [
    "SeatrialError",
    "__version__",
    "bench_endpoint",
    "compare_trials",
    "decide_trial",
    "eliminate",
    "fingerprint",
    "load_facts",
    "load_trace",
    "load_workload",
    "read_dossier",
    "run_trial",
    "write_dossier",
]


def __getattr__(name: str) -> Any:
    """The functions of the library, on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'seatrial' has no attribute {name!r}")
    from seatrial.trial import library

    return getattr(library, name)


def __dir__() -> list[str]:
    """What is here, loaded or not."""
    return sorted({*globals(), *__all__})
