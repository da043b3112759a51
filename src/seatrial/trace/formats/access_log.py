"""nginx and Envoy access logs: arrivals, outcomes and latency, no tokens.

The common and combined formats, with ``$request_time`` (and ``$upstream_header_time``, close to
TTFT for streams) as ``rt=`` and ``uht=`` or as last numbers of the line; Envoy's default format.
Only POSTs to a completion route count. Status 499 and Envoy's flag DC are the client hanging up.
"""

from __future__ import annotations

import re

from seatrial.trace.formats.gateways import outcome
from seatrial.trace.reader import Head, Options, Reader
from seatrial.trace.rows import Rows
from seatrial.trace.source import Member
from seatrial.trace.timestamp import iso_ns

_NGINX = re.compile(
    r"(\S+) \S+ \S+ \[(\d\d)/(\w{3})/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})\] "
    r'"POST (\S{1,2000}) [^"]{1,20}" (\d{3}) \d+(.*)',
    re.ASCII,
)
_ENVOY = re.compile(
    r'\[(\d{4}-\d\d-\d\dT[\d:.]+Z)\] "POST (\S{1,2000}) [^"]{1,20}" (\d{3}) (\S+)'
    r"(?: \S+){0,2}? (\d+) (\d+) (\d+) ",
    re.ASCII,
)
_ROUTE = re.compile(r"/(chat/completions|completions|responses|generate|api/chat|api/generate)\b")
_TIME = re.compile(r"(?:rt|request_time)=\"?([\d.]{1,12})")
_HEADER = re.compile(r"(?:uht|upstream_header_time)=\"?([\d.]{1,12})")
_TAIL = re.compile(r" ([\d.]{1,12})\s*\Z")
MAX_LINE = 8 << 10
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def _sniff(head: Head) -> int:
    lines = [line.decode("utf-8", "replace") for line in head.lines]
    return 60 if any(_NGINX.match(line) or _ENVOY.match(line) for line in lines) else 0


def _nginx(line: str, rows: Rows) -> bool:
    found = _NGINX.match(line)
    if found is None:
        return False
    client, day, month, year, clock, zone, path, status, rest = found.groups()
    if month not in _MONTHS:
        raise ValueError("a month that does not exist")
    if not _ROUTE.search(path):
        return True
    when = iso_ns(f"{year}-{_MONTHS.index(month) + 1:02d}-{day} {clock}{zone}")
    took = _seconds(_TIME.search(rest) or _TAIL.search(rest))
    rows.add(
        arrival_ns=when if took is None else max(0, when - took),
        e2e_ns=took,
        ttft_ns=_seconds(_HEADER.search(rest)),
        labels={"client": client, "outcome": outcome(status)},
    )
    return True


def _envoy(line: str, rows: Rows) -> bool:
    found = _ENVOY.match(line)
    if found is None:
        return False
    when, path, status, flags, _, _, took = found.groups()
    if _ROUTE.search(path):
        rows.add(
            arrival_ns=iso_ns(when),
            e2e_ns=int(took[:12]) * 1_000_000,
            labels={"outcome": outcome(status, flags)},
        )
    return True


def _seconds(found: re.Match[str] | None) -> int | None:
    return None if found is None else round(float(found[1]) * 1e9)


def _read(member: Member, rows: Rows, _options: Options) -> None:
    rows.grain_ns = 1_000_000_000
    for number, line in member.lines():
        if line is None or len(line) > MAX_LINE:
            rows.bad(number, "a line of more than 8 KiB")
            continue
        text = line.decode("utf-8", "replace")
        try:
            if not _nginx(text, rows) and not _envoy(text, rows) and text.strip():
                rows.bad(number, "not a line of an access log known here")
        except ValueError as error:
            rows.bad(number, str(error)[:80])


READER = Reader(
    id="access-log",
    title="nginx or Envoy access log (arrivals, outcomes, latency; no tokens)",
    tested=False,
    sniff=_sniff,
    read=_read,
)
