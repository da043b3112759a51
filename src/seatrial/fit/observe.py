"""A measured cell as the fit sees it: when each request came, and when each token left.

Read from the cell's own requests.parquet. Times are seconds from the first arrival. A request
that was not completed still loaded the engine, but its lengths are not known: cells with such
requests are refused, because a fit that guesses is worse than none. Token times are read of the
first few thousand requests only: they are enough for five coefficients, and a cell of a million
requests must not fill the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seatrial.core.errors import IntegrityError, MeasurementInvalid, PrerequisiteError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FITTED = 4000
"""Requests of a cell whose token times are read."""
_QUERY = """
SELECT status, scheduled_ns, sent_ns, first_token_ns, last_token_ns,
  input_tokens, output_tokens, coalesce(cached_tokens, 0),
  CASE WHEN row_number() OVER (ORDER BY scheduled_ns, request_id) <= ? THEN event_ns END
FROM read_parquet(?) ORDER BY scheduled_ns, request_id
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """One cell: columns over its n requests in order of arrival, and its token times.

    ``arrival`` (scheduled), ``sent``, ``first``, ``last`` in seconds; ``events[i]`` the times of
    request i's token events, for the first ``FITTED`` requests at most. ``name``: candidate and
    start; ``load``: which load it was.
    """

    name: str
    load: str
    arrival: Floats
    sent: Floats
    first: Floats
    last: Floats
    input: Ints
    output: Ints
    cached: Ints
    events: tuple[Floats, ...]

    @property
    def n(self) -> int:
        """Number of requests."""
        return int(self.arrival.size)


def observe(path: Path, *, name: str, load: str) -> Observed:
    """Read requests.parquet of one cell.

    Raises:
        PrerequisiteError: it is not there. IntegrityError: it cannot be read.
        MeasurementInvalid: a request has no token times or lengths (it failed, or was cut).
    """
    import duckdb

    if not path.is_file():
        raise PrerequisiteError(
            "this cell has no requests.parquet",
            where=str(path),
            remedy="measure it: seatrial run or seatrial bench",
        )
    try:
        rows = duckdb.execute(_QUERY, [FITTED, str(path)]).fetchall()
    except duckdb.Error as error:
        raise IntegrityError(
            f"requests.parquet cannot be read: {error}",
            where=str(path),
            unchanged="the trial is left as it is",
            remedy="move that cell away and run again: it is measured anew",
        ) from error
    return from_rows(rows, name=name, load=load)


def from_rows(rows: list[tuple[Any, ...]], *, name: str, load: str) -> Observed:
    """An ``Observed`` from rows (status, scheduled, sent, first, last, input, output, cached,
    events), times in ns."""
    bad = [
        row
        for i, row in enumerate(rows)
        if row[0] != "completed" or None in row[1:7] or (i < FITTED and not row[8])
    ]
    if bad or not rows:
        raise MeasurementInvalid(
            f"{len(bad)} of {len(rows)} requests of {name} were not completed",
            where=name,
            unchanged="the cell",
            remedy="fit on cells whose requests all completed",
        )
    start = min(row[1] for row in rows)

    def seconds(column: int) -> Floats:
        return np.array([(row[column] - start) / 1e9 for row in rows])

    cached = np.array([row[7] for row in rows], dtype=np.int64)
    length = np.array([row[5] for row in rows], dtype=np.int64)
    return Observed(
        name=name,
        load=load,
        arrival=seconds(1),
        sent=seconds(2),
        first=seconds(3),
        last=seconds(4),
        input=length,
        output=np.array([row[6] for row in rows], dtype=np.int64),
        cached=np.clip(cached, 0, length - 1),
        events=tuple((np.array(row[8], dtype=np.float64) - start) / 1e9 for row in rows[:FITTED]),
    )
