"""Artifacts on disk: whole or absent, typed, hashed."""

from seatrial.store.artifact import encode, read, write
from seatrial.store.atomic import crash_point, remove_leftovers, whole_folder, write_bytes
from seatrial.store.scratch import scratch

__all__ = [
    "crash_point",
    "encode",
    "read",
    "remove_leftovers",
    "scratch",
    "whole_folder",
    "write",
    "write_bytes",
]
