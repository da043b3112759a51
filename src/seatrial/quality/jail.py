"""The inside of the sandbox: a program of its own, standard library only.

Run as ``python -I -S -B jail.py`` with one JSON object on its standard input. It walls itself in,
then runs the code that it was given, and says on standard output what became of it:

    user, mount, process, network, IPC and host-name namespaces of its own: no network at all,
    no other process to see or to signal, an empty file system with the standard library read-only
    no capabilities, no new privileges; limits on CPU time, memory, files and file size
    a filter of system calls (seccomp): no new process or thread, no other program, no socket

Whatever cannot be put up ends it with ``REFUSED`` before a line of the code has run: there is no
half sandbox. The filter names what is forbidden and lets the rest pass, so it is no defence
against a defect of the kernel.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import struct
import sys
from pathlib import Path

REFUSED, PASSED, FAILED = 77, 0, 1
SAYS = "seatrial-jail: "

_NEW = {
    "user": 0x10000000,
    "mount": 0x00020000,
    "net": 0x40000000,
    "ipc": 0x08000000,
    "uts": 0x04000000,
    "pid": 0x20000000,
}
_BIND, _REC, _PRIVATE, _REMOUNT = 0x1000, 0x4000, 1 << 18, 0x20
_READ_ONLY, _NO_SUID, _NO_DEV, _NO_EXEC = 1, 2, 4, 8
_NO_NEW_PRIVS, _CAP_DROP, _DEATH_SIGNAL = 38, 24, 1
_LAST_CAP = 63
_SECCOMP, _FILTER = 22, 2

_FORBIDDEN = {  # machine -> (audit architecture, numbers of system calls): linux/audit.h, unistd.h
    # clone fork vfork execve execveat clone3 ptrace socket socketpair unshare setns bpf io_uring
    "x86_64": (0xC000003E, (56, 57, 58, 59, 322, 435, 101, 41, 53, 272, 308, 321, 425)),
    # clone execve execveat clone3 ptrace socket socketpair unshare setns bpf io_uring
    "aarch64": (0xC00000B7, (220, 221, 281, 435, 117, 198, 199, 97, 268, 280, 425)),
}

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """A wall that could not be put up."""


def _must(result: int, what: str) -> None:
    if result != 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error


def _namespaces() -> None:
    user, group = os.getuid(), os.getgid()
    _must(_libc.unshare(sum(_NEW.values())), "namespaces")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _must(
        _libc.mount(source.encode(), target.encode(), kind.encode(), flags, data.encode()),
        f"mount {target}",
    )


def _empty_root(root: str, kept: list[str]) -> None:
    """A root of nothing but the ``kept`` folders, which can be read and not written."""
    safe = _NO_SUID | _NO_DEV
    _mount("none", "/", "", _REC | _PRIVATE)
    _mount("tmpfs", root, "tmpfs", safe, "size=1m,mode=755")
    for path in kept:
        inside = root + path
        Path(inside).mkdir(parents=True, exist_ok=True)
        _mount(path, inside, "", _BIND)
        _mount("none", inside, "", _BIND | _REMOUNT | _READ_ONLY | safe)
    _mount("none", root, "", _BIND | _REMOUNT | _READ_ONLY | safe | _NO_EXEC)
    os.chroot(root)
    os.chdir("/")


def _limits(cpu_s: int, memory_bytes: int) -> None:
    for name, value in (
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 16),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(name, (value, value))


def _no_rights() -> None:
    _must(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    for capability in range(_LAST_CAP + 1):
        if _libc.prctl(_CAP_DROP, capability, 0, 0, 0) != 0 and ctypes.get_errno() != 22:
            raise Refused(f"capability {capability} cannot be dropped")
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    nothing = (ctypes.c_uint32 * 6)()
    _must(_libc.capset(ctypes.byref(header), ctypes.byref(nothing)), "capabilities")


def _filter() -> None:
    """Refuse the forbidden system calls with EPERM, and every call of another architecture."""
    known = _FORBIDDEN.get(platform.machine())
    if known is None:
        raise Refused(f"no filter of system calls is known for {platform.machine()}")
    architecture, numbers = known
    load, equal, at_least, end = 0x20, 0x15, 0x35, 0x06  # BPF_LD|W|ABS, JEQ, JGE, RET
    deny, allow, kill = 0x00050001, 0x7FFF0000, 0x80000000
    # struct seccomp_data {int nr; u32 arch; ...}; jumps count instructions from the next one
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), (end, 0, 0, kill), (load, 0, 0, 0)]
    steps += [(at_least, len(numbers) + 1, 0, 0x40000000)]  # x32 calls of x86_64
    steps += [(equal, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    steps += [(end, 0, 0, allow), (end, 0, 0, deny)]
    program = b"".join(struct.pack("<HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(program, len(program))
    order = struct.pack("@HxxxxxxP", len(steps), ctypes.addressof(code))
    place = ctypes.create_string_buffer(order, len(order))
    _must(_libc.prctl(_SECCOMP, _FILTER, ctypes.byref(place), 0, 0), "filter of system calls")


def _code(order: dict[str, object]) -> int:
    """Run the code; its own output goes nowhere."""
    source = str(order["code"])
    space: dict[str, object] = {"__name__": "answer"}
    try:
        exec(compile(source, "answer", "exec"), space)
    except BaseException as error:  # noqa: BLE001 - whatever foreign code raises is its verdict
        _tell(f"{type(error).__name__}"[:80])
        return FAILED
    _tell(str(order["word"]))
    return PASSED


def _tell(text: str) -> None:
    os.write(1, (SAYS + text + "\n").encode("utf-8", errors="replace"))


def _child(order: dict[str, object]) -> int:
    _must(_libc.prctl(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0), "death with its parent")
    kept = order["kept"]
    if not isinstance(kept, list):
        raise Refused("the order names no folders")
    _empty_root(str(order["root"]), [str(path) for path in kept])
    _no_rights()
    os.closerange(3, 256)
    # the first process of a namespace is deaf to most signals, also to that of the CPU limit
    inner = os.fork()
    if inner == 0:
        _limits(int(str(order["cpu_s"])), int(str(order["memory_bytes"])))
        _filter()
        return _code(order)
    return _status(os.waitpid(inner, 0)[1])


def _status(status: int) -> int:
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else FAILED


def main() -> int:
    """Read the order, wall in, run; the exit status is the verdict."""
    order = json.loads(sys.stdin.buffer.read())
    try:
        _namespaces()
        child = os.fork()  # the first process of the new process namespace
        if child == 0:
            try:
                os._exit(_child(order))
            except Refused as error:
                _tell(f"refused: {error}")
                os._exit(REFUSED)
        return _status(os.waitpid(child, 0)[1])
    except Refused as error:
        _tell(f"refused: {error}")
        return REFUSED


if __name__ == "__main__":
    sys.exit(main())
