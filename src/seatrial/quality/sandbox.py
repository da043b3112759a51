"""Running code that a model wrote: in a sandbox of what Linux has, or not at all.

HumanEval's scorer executes the answer. Here that happens only inside ``jail.py``: namespaces
without network, an empty read-only file system, no capabilities, hard limits, and a clock outside.
Where this machine does not permit such a sandbox (no user namespaces, no Linux) the suite is
refused with the reason; there is no way to switch the walls off.

A pass needs the right word on the jail's output, written after the tests have run: an answer that
ends its own process early has not passed.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from seatrial.core.errors import PrerequisiteError
from seatrial.quality import jail
from seatrial.store import scratch

CPU_S = 5
WALL_S = 12.0
MEMORY_BYTES = 512 << 20
_MOST_CODE = 200_000
_MOST_OUTPUT = 4096
JAIL = Path(jail.__file__)
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


class Ran(NamedTuple):
    """``passed``: it ran to its end; ``says``: the type of its error, or what ended it."""

    passed: bool
    says: str


def run_code(code: str, *, wall_s: float = WALL_S) -> Ran:
    """Run ``code`` in the sandbox.

    Raises:
        PrerequisiteError: a sandbox cannot be put up here; nothing was run.
    """
    if sys.platform != "linux":
        raise _refused("namespaces are Linux's; this system has none")
    if len(code) > _MOST_CODE:
        return Ran(False, "the answer is too long")
    word = secrets.token_hex(16)
    with scratch("jail") as root:
        order = {
            "code": code,
            "word": word,
            "root": str(root),
            "kept": _kept(),
            "cpu_s": CPU_S,
            "memory_bytes": MEMORY_BYTES,
        }
        status, output = _jailed(json.dumps(order).encode(), wall_s)
    said = [line for line in output.splitlines() if line.startswith(jail.SAYS)]
    last = said[-1].removeprefix(jail.SAYS) if said else ""
    if status == jail.REFUSED and last.startswith("refused: "):
        raise _refused(last.removeprefix("refused: "))
    if status is None:
        return Ran(False, f"it ran longer than {wall_s:g} s")
    if status == jail.PASSED and last == word:
        return Ran(True, "")
    return Ran(False, last if last and last != word else "it ended early")


def require_sandbox() -> None:
    """Put one up and run nothing in it.

    Raises:
        PrerequisiteError: with what this machine does not permit.
    """
    ran = run_code("pass")
    if not ran.passed:
        raise _refused(f"an empty program did not run in it ({ran.says})")


def _jailed(order: bytes, wall_s: float) -> tuple[int | None, str]:
    """Exit status (None: killed for its time) and the beginning of what it wrote."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(JAIL)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"},
        start_new_session=True,
        close_fds=True,
    )
    try:
        output, _ = process.communicate(order, timeout=wall_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the first process inside dies with its parent
        process.communicate()
        return None, ""
    return process.returncode, output[-_MOST_OUTPUT:].decode("utf-8", errors="replace")


def _kept() -> list[str]:
    """Folders the code may read: the standard library and what it is linked with."""
    wanted = [sysconfig.get_path("stdlib"), str(Path(sys.base_prefix) / "lib"), *LIBRARIES]
    real = dict.fromkeys(os.path.realpath(path) for path in wanted if Path(path).is_dir())
    return [path for path in real if not any(path.startswith(o + "/") for o in real)]


def _refused(why: str) -> PrerequisiteError:
    return PrerequisiteError(
        f"code that a model wrote cannot be walled in here: {why}",
        unchanged="nothing of it was run",
        remedy="leave the suite humaneval out, or run it on a Linux machine that permits "
        "unprivileged user namespaces",
    )
