"""What a file that no reader knows is likely to be, and what to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatrial.core.errors import UsageError
from seatrial.trace.servegen import NAME

if TYPE_CHECKING:
    from seatrial.trace.reader import Head

_LFS = b"version https://git-lfs"
_MAGIC = {
    b"PK\x03\x04": (
        "a ZIP archive, or a file built on one (.xlsx), is not read",
        "unpack it and give the files, or save the sheet as CSV",
    ),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive is not read", "unpack it and give the files"),
    b"\xff\xfe": (
        "this is text in UTF-16, and logs are read as UTF-8",
        "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW",
    ),
    b"\xfe\xff": (
        "this is text in UTF-16, and logs are read as UTF-8",
        "convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW",
    ),
    b"SQLite format 3\x00": (
        "an SQLite database is not read",
        "export the table with the requests as CSV or JSON lines",
    ),
}
_SEPARATORS = {b";": "semicolons", b"\t": "tabs", b"|": "vertical bars"}


def misplaced(head: Head) -> UsageError | None:
    """What stands for a trace and is none, whatever a reader may say of it."""
    if head.data.startswith(_LFS):
        return UsageError(
            "this is a pointer of Git LFS, not the file that it stands for",
            where=head.name,
            remedy="fetch the file itself (git lfs pull), then profile that",
        )
    if NAME.search(head.name):
        return UsageError(
            "ServeGen's client data holds no requests",
            where=head.name,
            remedy="make some of it: seatrial trace synth FOLDER --minutes 10 --out trace.csv",
        )
    return None


def unknown(head: Head) -> UsageError:
    """The error for a file that no reader recognised."""
    for magic, (what, remedy) in _MAGIC.items():
        if head.data.startswith(magic):
            return UsageError(what, where=head.name, remedy=remedy)
    line = head.data[:65_536].partition(b"\n")[0]
    for separator, name in _SEPARATORS.items():
        if line.count(separator) >= 2 and line.count(separator) > line.count(b","):
            return UsageError(
                f"the columns of this file seem to be separated by {name}, not by commas",
                where=head.name,
                remedy="write it with commas (most tools export CSV so), then try again",
            )
    return UsageError(
        "the format of this file was not recognised",
        where=head.name,
        remedy="force one with --format, or name the columns (--map; traffic.map in a workload)",
    )
