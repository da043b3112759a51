"""Request traces: the table, and one reader per format."""

from seatrial.trace.load import load
from seatrial.trace.table import BadRow, Blocks, RequestTable, SourceFile

__all__ = ["BadRow", "Blocks", "RequestTable", "SourceFile", "load"]
