"""Time stamps as integer nanoseconds: never through a float of seconds since 1970.

A double holds 15 to 17 digits; an epoch in nanoseconds has 19. So text is taken apart digit by
digit, and integers are multiplied. Fractions of 1 to 9 digits, a zone or none (none means UTC:
only differences matter to a trace), a blank or a ``T`` between date and time.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?\s*"
    r"(Z|z|UTC|[+-]\d\d:?\d\d|[+-]\d\d)?\Z",
    re.ASCII,
)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
UNIT_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
LATEST_NS = 9_000_000_000_000_000_000


def iso_ns(text: str) -> int:
    """Nanoseconds since 1970 of an ISO 8601 date and time.

    Raises:
        ValueError: not such a text, or a date that does not exist.
    """
    match = _ISO.match(text.strip())
    if match is None:
        raise ValueError("not a date and time")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = date(int(year), int(month), int(day)).toordinal() - _EPOCH_DAY
    clock = int(hour), int(minute), int(second)
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 60:
        raise ValueError("not a time of day")
    seconds = days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2] - _offset_s(zone)
    return seconds * UNIT_NS["s"] + int((fraction or "").ljust(9, "0") or 0)


def _offset_s(zone: str | None) -> int:
    if zone is None or zone in ("Z", "z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    size = int(digits[:2]) * 3_600 + int(digits[2:]) * 60
    return -size if zone[0] == "-" else size


def number_ns(value: float | int | str, unit: str) -> int:
    """Nanoseconds of a number (or the text of one) in ``unit`` (s, ms, us, ns).

    Text keeps every digit it has; a float is taken by its shortest decimal form.

    Raises:
        ValueError: not a finite number, negative, or beyond the year 2255.
    """
    if isinstance(value, bool):
        raise ValueError("not a time")
    if isinstance(value, int):
        ns = value * UNIT_NS[unit]
    else:
        try:
            exact = Decimal(value if isinstance(value, str) else repr(value))
        except InvalidOperation:
            raise ValueError("not a number") from None
        if not exact.is_finite() or exact.adjusted() > 20:
            raise ValueError("not a finite time")
        ns = round(exact * UNIT_NS[unit])
    if not 0 <= ns <= LATEST_NS:
        raise ValueError("negative, or beyond what nanoseconds hold")
    return ns


def epoch_unit(value: float) -> str | None:
    """The unit in which ``value`` is a moment between 2001 and 2286; None if it is none.

    The four ranges do not overlap, so for an epoch the magnitude settles the unit.
    """
    for unit, per_s in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if 1e9 * per_s <= value < 1e10 * per_s:
            return unit
    return None


def any_ns(value: object, unit: str | None) -> int:
    """Nanoseconds of a cell: ISO text, or a number in ``unit`` (None: epoch by magnitude, else s).

    Raises:
        ValueError: none of these.
    """
    if isinstance(value, str):
        text = value.strip()
        if text[:4].isdigit() and text[4:5] == "-":
            return iso_ns(text)
        if unit is None:
            unit = epoch_unit(float(text)) or "s"
        return number_ns(text, unit)
    if isinstance(value, (int, float)):
        return number_ns(value, unit or epoch_unit(float(value)) or "s")
    raise ValueError("no time")
