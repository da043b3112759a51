"""Units: integer nanoseconds inside, people's units at the borders.

Every time inside the product is an ``int`` of nanoseconds of one monotonic clock. Conversion
happens here and in display code, nowhere else.
"""

from __future__ import annotations

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
GIB = 1 << 30
MIB = 1 << 20


def ns_to_ms(ns: float) -> float:
    """Milliseconds of a duration in nanoseconds."""
    return ns / NS_PER_MS


def ns_to_s(ns: float) -> float:
    """Seconds of a duration in nanoseconds."""
    return ns / NS_PER_S


def s_to_ns(seconds: float) -> int:
    """Whole nanoseconds of a duration in seconds, rounded to nearest."""
    return round(seconds * NS_PER_S)


def format_bytes(num_bytes: float) -> str:
    """``51.38 GiB``: binary units, two decimals, as engines' logs print them."""
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)):
        if abs(num_bytes) >= size:
            return f"{num_bytes / size:.2f} {unit}"
    return f"{num_bytes:.0f} B"


def format_duration(seconds: float) -> str:
    """``4 min 10 s``, ``3.2 s``, ``12 ms``: for people, never parsed."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"
