"""A column of few distinct values: one number a row, and each value kept once.

A million requests have a handful of finish reasons, error kinds and sets of findings. As Python
objects they were most of a run's memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=Hashable)


class Coder(Generic[T]):
    """Takes values one at a time."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._known: dict[T, int] = {}

    def add(self, value: T) -> None:
        """Enter the next row's value."""
        self._codes.append(self._known.setdefault(value, len(self._known)))

    def build(self, order: NDArray[np.intp]) -> Coded[T]:
        """The column with its rows in this order."""
        codes = np.frombuffer(self._codes, np.int32) if len(self._codes) else _NONE
        return Coded(codes[order], list(self._known))


class Coded(Generic[T]):
    """The column: read and set by row, changed for many rows at once."""

    def __init__(self, codes: NDArray[np.int32], values: list[T]) -> None:
        self.codes = codes
        self.values = values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, row: int) -> T:
        value: T = self.values[int(self.codes[row])]
        return value

    def __setitem__(self, row: int, value: T) -> None:
        self.codes[row] = self._code(value)

    def __iter__(self) -> Iterator[T]:
        return (self.values[code] for code in self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list | Coded) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def change(self, rows: NDArray[np.bool_], into: Callable[[T], T]) -> None:
        """Replace the values of these rows; ``into`` is asked once for each distinct value."""
        for code in np.unique(self.codes[rows]).tolist():
            same = rows & (self.codes == code)
            self.codes[same] = self._code(into(self.values[code]))

    def count(self, value: T) -> int:
        """Rows with this value."""
        found = self.values.index(value) if value in self.values else -1
        return int((self.codes == found).sum())

    def counts(self) -> list[tuple[T, int]]:
        """Each value and its number of rows."""
        numbers = np.bincount(self.codes, minlength=len(self.values)).tolist()
        return list(zip(self.values, numbers, strict=True))

    def _code(self, value: T) -> int:
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)


_NONE = np.empty(0, np.int32)
