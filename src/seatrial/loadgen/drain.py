"""The reader's inner loop, compiled with numba (extra ``fast``): one call a tick, no Python a read.

``drain`` asks epoll what came, receives each socket's bytes with the kernel's time of arrival
straight into the buffer of its slot (``slots``), and returns only what must be looked at: ends of
answers, headers, full buffers, closed or broken connections. It calls libc's ``epoll_wait`` and
``recvmsg`` by name; the layouts are those of 64-bit Linux with glibc (recvmsg(2), cmsg(3),
epoll_ctl(2)). ``slots.works`` tries it on a loopback connection before it is used.

Sockets are registered edge-triggered (``INTEREST``): a read that did not fill its room has emptied
the socket, unless the peer has closed too; then it is read on.

Where everything lies stands in one array of sizes and addresses (``BOOK``): to hand ten arrays over
at each call costs more than the reads of a tick.
"""

from __future__ import annotations

import platform
import select
from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.core import types as numba_types
from numba.extending import intrinsic

from seatrial.loadgen.reactor import READ_BYTES

types: Any = numba_types  # its annotations know nothing of calls
carray: Any = numba.carray  # type: ignore[attr-defined]

MAX_EVENTS = 256

BOOK = ["epoll", "descriptors", "slots", "bytes", "reads", "by_fd", "data", "stamps", "lengths",
        "fill", "count", "eager", "call", "events", "handed"]  # fmt: skip
"""What the int64 at each place of the book is: a descriptor, four sizes, then addresses of

by_fd: int32[descriptors], slot of each, -1 for none.
data: uint8[slots, bytes]; stamps: int64[slots, reads]; lengths: uint32[slots, reads].
fill, count: int64[slots], bytes and reads that a slot holds.
eager: uint8[slots], 1 where every read must be looked at.
call: int64[16] of scratch: msghdr at 0, iovec at 7, control buffer at 9, times at 14.
events: uint8 of scratch for MAX_EVENTS events.
handed: int64[2 * MAX_EVENTS, 3], filled with (slot, what for, errno).
"""

# What a slot is handed over for.
DATA, AGAIN, CLOSED, BROKEN, WRITABLE = 0, 1, 2, 3, 4

# struct epoll_event is packed on x86-64 alone.
_STRIDE, _FD = (12, 4) if platform.machine() in ("x86_64", "AMD64") else (16, 8)
INTEREST = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET
_IN, _OUT, _GONE = 0x001, 0x004, 0x008 | 0x010  # of the mask's low byte
_PEER_CLOSED = 0x20  # EPOLLRDHUP, of its second byte
_EAGAIN, _EINTR = 11, 4

_epoll_wait = types.ExternalFunction(
    "epoll_wait", types.int32(types.int32, types.uintp, types.int32, types.int32)
)
_recvmsg = types.ExternalFunction("recvmsg", types.int64(types.int32, types.uintp, types.int32))
_clock_gettime = types.ExternalFunction("clock_gettime", types.int32(types.int32, types.uintp))
_nanosleep = types.ExternalFunction("nanosleep", types.int32(types.uintp, types.uintp))
_errno_location = types.ExternalFunction("__errno_location", types.CPointer(types.int32)())


def _inttoptr(context, address):  # type: ignore[no-untyped-def]
    """An address as a pointer that ``carray`` takes."""
    del context, address

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        del context, signature
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


_pointer: Any = intrinsic(_inttoptr)


@numba.njit(cache=True)
def _slots(book):  # type: ignore[no-untyped-def]
    """The arrays of the slots and the scratch of a call."""
    slots = book[2]
    return (
        carray(_pointer(book[6]), (slots, book[3]), np.uint8),
        carray(_pointer(book[7]), (slots, book[4]), np.int64),
        carray(_pointer(book[8]), (slots, book[4]), np.uint32),
        carray(_pointer(book[9]), (slots,), np.int64),
        carray(_pointer(book[10]), (slots,), np.int64),
        carray(_pointer(book[11]), (slots,), np.uint8),
        carray(_pointer(book[12]), (16,), np.int64),
    )


@numba.njit(cache=True)
def receive(book, fd, slot, now, offset):  # type: ignore[no-untyped-def]
    """Read one socket into its slot; answer as of ``_receive``."""
    data, stamps, lengths, fill, count, eager, call = _slots(book)
    return _receive(fd, slot, data, stamps, lengths, fill, count, eager, call, now, offset)


@numba.njit(cache=True)
def _receive(fd, slot, data, stamps, lengths, fill, count, eager, call, now, offset):  # type: ignore[no-untyped-def]
    """Read one socket into its slot.

    Args:
        now, offset: monotonic time and wall less monotonic, in ns; the rest as in the book.

    Returns:
        What the slot must be handed over for, -1 if for nothing, and the errno of a broken one.
    """
    start = fill[slot]
    room = min(READ_BYTES, data.shape[1] - start)
    base = call.ctypes.data
    call[7] = data.ctypes.data + slot * data.strides[0] + start
    call[8] = room
    call[0] = 0
    call[1] = 0
    call[2] = base + 56
    call[3] = 1
    call[4] = base + 72
    call[5] = 40
    call[6] = 0
    n = _recvmsg(np.int32(fd), np.uintp(base), np.int32(0))
    if n < 0:
        code = carray(_errno_location(), (1,), np.int32)[0]
        if code == _EAGAIN:
            return -1, 0
        return (AGAIN, 0) if code == _EINTR else (BROKEN, code)
    if n == 0:
        return CLOSED, 0
    stamp = now
    if call[5] >= 32:
        stamp = min(now, call[11] * 1_000_000_000 + call[12] - offset)
    at = count[slot]
    stamps[slot, at] = stamp
    lengths[slot, at] = n
    end = start + n
    fill[slot] = end
    count[slot] = at + 1
    if n == room:
        return AGAIN, 0
    full = at + 1 == stamps.shape[1] or end + READ_BYTES > data.shape[1]
    blank_line = (
        n >= 4
        and data[slot, end - 1] == 10
        and data[slot, end - 2] == 13
        and data[slot, end - 3] == 10
        and data[slot, end - 4] == 13
    )
    return (DATA, 0) if eager[slot] or full or n < 7 or blank_line else (-1, 0)


@numba.njit(cache=True)
def _now(call):  # type: ignore[no-untyped-def]
    """CLOCK_MONOTONIC in ns: the clock of ``time.perf_counter_ns``."""
    _clock_gettime(np.int32(1), np.uintp(call.ctypes.data + 112))
    return call[14] * 1_000_000_000 + call[15]


@numba.njit(cache=True)
def _sleep(call, ns):  # type: ignore[no-untyped-def]
    call[14] = 0
    call[15] = ns
    _nanosleep(np.uintp(call.ctypes.data + 112), np.uintp(0))


@numba.njit(cache=True)
def _round(  # type: ignore[no-untyped-def]
    epoll, by_fd, data, stamps, lengths, fill, count, eager, call, events, handed, now, offset
):
    """Read every socket that has something, once; arguments and answer as of ``drain``."""
    found = _epoll_wait(
        np.int32(epoll), np.uintp(events.ctypes.data), np.int32(MAX_EVENTS), np.int32(0)
    )
    out = 0
    stamp = now
    for i in range(max(found, 0)):
        at = i * _STRIDE
        mask = events[at]
        fd = events[at + _FD] | (events[at + _FD + 1] << 8) | (events[at + _FD + 2] << 16)
        if fd >= by_fd.size or by_fd[fd] < 0:
            continue
        slot = by_fd[fd]
        if mask & _OUT:
            handed[out, 0] = slot
            handed[out, 1] = WRITABLE
            out += 1
        closed = mask & _GONE or events[at + 1] & _PEER_CLOSED
        if closed or mask & _IN:
            what, code = _receive(
                fd, slot, data, stamps, lengths, fill, count, eager, call, now, offset
            )
            if count[slot]:
                stamp = stamps[slot, count[slot] - 1]
            if closed and what <= DATA:
                what = AGAIN
            if what >= 0:
                handed[out, 0] = slot
                handed[out, 1] = what
                handed[out, 2] = code
                out += 1
    return max(found, 0), out, stamp


@numba.njit(cache=True, nogil=True)
def drain(book, offset, tick, until):  # type: ignore[no-untyped-def]
    """Read what comes, a round every ``tick`` ns, until something must be looked at or ``until``.

    Args:
        until: in ns of the monotonic clock; 0 is one round and no wait.

    Returns:
        How many sockets had something, how many rows of ``handed`` are filled, and how long the
        last read of the last round that had any had waited, in ns (-1: none had).
    """
    epoll = book[0]
    by_fd = carray(_pointer(book[5]), (book[1],), np.int32)
    data, stamps, lengths, fill, count, eager, call = _slots(book)
    events = carray(_pointer(book[13]), (MAX_EVENTS * 16,), np.uint8)
    handed = carray(_pointer(book[14]), (2 * MAX_EVENTS, 3), np.int64)
    total = 0
    waited = -1
    while True:
        now = _now(call)
        found, out, stamp = _round(
            epoll, by_fd, data, stamps, lengths, fill, count, eager, call, events, handed, now,
            offset,
        )  # fmt: skip
        total += found
        if found:
            waited = now - stamp
        if found == MAX_EVENTS and not out:
            continue
        left = until - _now(call)
        if out or left <= 0:
            return total, out, waited
        _sleep(call, min(left, tick))
