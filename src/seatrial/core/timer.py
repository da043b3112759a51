"""A one-shot timer that is right to some ten microseconds inside an event loop.

libuv's timers count whole milliseconds: a request scheduled by ``loop.call_at`` leaves up to a
millisecond early or late, and that error would stand in every TTFT. A Linux timerfd on
CLOCK_MONOTONIC is exact and costs one read per shot. Python has it from 3.13 on; before that it
is called through ctypes. Where there is none, the loop's own timer is used, never early.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import time
from collections.abc import Callable

from seatrial.core.units import NS_PER_MS, NS_PER_S

_CLOCK_MONOTONIC = 1
_TFD_NONBLOCK = 0o4000
_TFD_CLOEXEC = 0o2000000
_TFD_TIMER_ABSTIME = 1


class _Timespec(ctypes.Structure):
    _fields_ = (("sec", ctypes.c_long), ("nsec", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


def _open_timerfd() -> tuple[ctypes.CDLL, int] | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)
    except (OSError, AttributeError):
        return None
    return (libc, fd) if fd >= 0 else None


_due: dict[int, int] = {}
"""Of each exact timer that is set: its descriptor and when it is due."""


def earliest_ns(otherwise: int) -> int:
    """When the next exact timer of this process is due, on ``time.perf_counter_ns``'s clock."""
    return min(_due.values(), default=otherwise)


class Timer:
    """Calls ``callback`` once, at or just after the moment last given to ``set``.

    ``exact`` says which clock drives it. Close it when done; it holds a file descriptor.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._due_ns = 0
        opened = _open_timerfd()
        self.exact = opened is not None
        if opened is not None:
            self._libc, self._fd = opened
            loop.add_reader(self._fd, self._fired)

    def set(self, due_ns: int) -> None:
        """Fire at ``due_ns`` of ``time.perf_counter_ns``'s clock; at once if that is past."""
        self._due_ns = due_ns
        if self.exact:
            _due[self._fd] = due_ns
            self._arm(max(due_ns, 1), 0)
            return
        if self._handle is not None:
            self._handle.cancel()
        wait_ns = max(0, due_ns - time.perf_counter_ns())
        self._handle = self._loop.call_later((wait_ns + NS_PER_MS // 2) / NS_PER_S, self._late)

    def every(self, interval_ns: int) -> None:
        """Fire again and again from now on, until ``stop``; only where ``exact``."""
        self._arm(time.perf_counter_ns() + interval_ns, interval_ns)

    def stop(self) -> None:
        """Fire no more until set again; only where ``exact``."""
        _due.pop(self._fd, None)
        self._arm(0, 0)

    def _arm(self, due_ns: int, interval_ns: int) -> None:
        spec = _Itimerspec(
            _Timespec(interval_ns // NS_PER_S, interval_ns % NS_PER_S),
            _Timespec(due_ns // NS_PER_S, due_ns % NS_PER_S),
        )
        self._libc.timerfd_settime(
            self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), ctypes.c_void_p(None)
        )

    def _fired(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._fd, 8)
            _due.pop(self._fd, None)
            self._callback()

    def _late(self) -> None:
        if time.perf_counter_ns() < self._due_ns:
            self.set(self._due_ns)
        else:
            self._callback()

    def close(self) -> None:
        """Give back the descriptor; nothing fires after this."""
        if self.exact:
            self._loop.remove_reader(self._fd)
            _due.pop(self._fd, None)
            os.close(self._fd)
            self.exact = False
        elif self._handle is not None:
            self._handle.cancel()
