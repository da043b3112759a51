"""From paths to a fingerprint: in memory, or out of core where the log is large and flat.

The two ways give the same numbers (a test holds them together); the second leaves out what needs
whole requests. It is taken for flat CSV and Parquet beyond ``LARGE_BYTES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from seatrial import trace
from seatrial.core.errors import UsageError
from seatrial.core.progress import Progress
from seatrial.trace.rows import TokenCounter
from seatrial.trace.servegen import is_servegen
from seatrial.trace.source import expand
from seatrial.workload.clients import profile_clients
from seatrial.workload.columns import recognise
from seatrial.workload.fingerprint import fingerprint
from seatrial.workload.outofcore import profile_files, sum_files
from seatrial.workload.partfile import PartFile, part_file
from seatrial.workload.pressure import Reference
from seatrial.workload.profile import Fingerprint
from seatrial.workload.tokenizer import Tokenizer

LARGE_BYTES = 64 << 20
_FLAT_FORMATS = (None, "azure-csv", "vidur", "lengths", "generic", "parquet")


def profile(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    mapping: dict[str, str] | None = None,
    count: TokenCounter | None = None,
    reference: Reference | None = None,
    out_of_core: bool | None = None,
    progress: Progress | None = None,
) -> Fingerprint:
    """The fingerprint of files, whatever their size.

    Args:
        count: tokens of a text, for logs without counts; None: estimated and marked.
        out_of_core: force one way; None: by size and kind.

    Raises:
        UsageError: as ``trace.load``.
    """
    files = expand(paths)
    if format == "servegen" or (format is None and is_servegen(list(files))):
        return profile_clients(list(files), reference=reference)
    large = sum(path.stat().st_size for path in files) > LARGE_BYTES
    if out_of_core or (out_of_core is None and large and format in _FLAT_FORMATS):
        columns = recognise(files, mapping or {})
        if columns is not None:
            return profile_files(files, columns, reference=reference, progress=progress)
    table = trace.load(list(files), format=format, mapping=mapping, count=count, progress=progress)
    found = fingerprint(table, reference=reference)
    if isinstance(count, Tokenizer):
        return msgspec.structs.replace(found, notes=[*found.notes, *count.notes()])
    return found


def partial(
    paths: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    mapping: dict[str, str] | None = None,
    progress: Progress | None = None,
) -> PartFile:
    """Sums of one part of a trace, to be merged with others by ``partfile.merge_files``.

    Raises:
        UsageError: as ``trace.load``; or no flat CSV or Parquet.
    """
    files = expand(paths)
    columns = recognise(files, mapping or {}) if format in _FLAT_FORMATS else None
    if columns is None:
        raise UsageError(
            "parts are made of flat CSV and Parquet with token counts only: sessions and prefixes "
            "need whole requests",
            where=files[0].name,
            remedy="profile all files of this format in one go",
        )
    return part_file(sum_files(files, columns, on_clock=True, progress=progress))
