"""Which families a workload belongs to: from what it requires and from its fingerprint.

    local_single_user     at most 2 requests at once, by requirement or by what the traffic shows
    many_tenants          more than that, or several adapters
    structured_programs   structured output or tools are required, or the trace has them

A workload may be of several; it is always of at least one.
"""

from __future__ import annotations

import msgspec

from seatrial.workload import Fingerprint, Workload

FAMILIES = ("local_single_user", "many_tenants", "structured_programs")
FEW = 2
"""Requests at once up to which it is one person's machine."""
_STRUCTURED = ("schema", "tools", "json", "structured_output")


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A family and the numbers that put the workload into it."""

    family: str
    because: str


def choose(spec: Workload, print_: Fingerprint | None = None) -> list[Chosen]:
    """The families of a workload, in the order of ``FAMILIES``."""
    found = []
    at_once, source = _at_once(spec, print_)
    adapters = _adapters(spec)
    if adapters > 1:
        found.append(Chosen(family="many_tenants", because=f"{adapters} adapters are required"))
    elif at_once is None or at_once > FEW:
        why = f"{at_once:g} requests at once ({source})" if at_once is not None else source
        found.append(Chosen(family="many_tenants", because=why))
    else:
        why = f"{at_once:g} requests at once ({source})"
        found.append(Chosen(family="local_single_user", because=why))
    structured = _structured(spec, print_)
    if structured:
        found.append(Chosen(family="structured_programs", because=structured))
    return found


def _at_once(spec: Workload, print_: Fingerprint | None) -> tuple[float | None, str]:
    synthetic = spec.traffic.synthetic if spec.traffic else None
    if spec.requires.concurrency is not None:
        return float(spec.requires.concurrency), "requires.concurrency"
    if synthetic is not None and synthetic.concurrency is not None:
        return float(synthetic.concurrency), "traffic.synthetic.concurrency"
    if print_ is not None and print_.arrivals is not None:
        rate = print_.arrivals.rate_per_s
        if rate is not None and rate * 60 <= FEW:
            return 1.0, f"the trace brings {rate * 60:.2g} requests a minute"
    return None, "how many requests come at once is not limited"


def _adapters(spec: Workload) -> int:
    lora = spec.requires.lora
    return 0 if not lora else 1 if lora is True else lora.max_adapters


def _structured(spec: Workload, print_: Fingerprint | None) -> str:
    asked = [
        name for name in ("structured_output", "tools") if getattr(spec.requires, name) is not None
    ]
    asked = [name for name in asked if getattr(spec.requires, name)]
    if asked:
        return f"{' and '.join(asked)} required"
    shares = {k: v for k, v in (print_.features if print_ else {}).items() if k in _STRUCTURED}
    seen = {k: v for k, v in shares.items() if v > 0}
    return "; ".join(f"{v:.0%} of the requests have {k}" for k, v in seen.items())
