"""The sandbox: what foreign code can and cannot do in it, and that it is all or nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seatrial.core.errors import PrerequisiteError
from seatrial.quality import jail, sandbox
from seatrial.quality.sandbox import run_code
from seatrial.quality.score_code import code_passes, program_of
from seatrial.quality.task import shipped


@pytest.fixture(scope="module")
def walled() -> None:
    try:
        sandbox.require_sandbox()
    except PrerequisiteError as error:
        pytest.skip(error.what)


ALLOWED = [
    "import math, re, collections, itertools, functools, typing, heapq, hashlib, json, random",
    "assert sorted([3, 1]) == [1, 3]",
    "import os\nassert set(os.environ) <= {'LC_ALL', 'PYTHONHASHSEED', 'LC_CTYPE'}, os.environ",
    "import os\nos.kill(1, 9)",  # the first process of the namespace does not hear it
]
FORBIDDEN = [
    ("assert 1 == 2", "AssertionError"),
    ("import socket\nsocket.socket()", "PermissionError"),
    ("open('/etc/passwd')", "FileNotFoundError"),
    ("import os\nos.listdir('/proc')", "FileNotFoundError"),
    ("open('/mine', 'w')", "OSError"),
    ("import os\nos.fork()", "PermissionError"),
    ("import subprocess\nsubprocess.run(['/bin/true'])", "PermissionError"),
    ("import threading\nthreading.Thread(target=print).start()", "RuntimeError"),
    ("bytearray(10**9)", "MemoryError"),
    ("import os\nos.chroot('/')", "PermissionError"),
    ("import os\nos.setuid(12345)", "OSError"),
]
DISHONEST = ["import os\nos._exit(0)", "import sys\nsys.exit(0)", "raise SystemExit"]


@pytest.mark.parametrize("code", ALLOWED)
def test_ordinary_code_runs(walled: None, code: str) -> None:
    assert run_code(code) == (True, "")


@pytest.mark.parametrize(("code", "says"), FORBIDDEN)
def test_nothing_outside_can_be_reached(walled: None, code: str, says: str) -> None:
    assert run_code(code) == (False, says)


@pytest.mark.parametrize("code", DISHONEST)
def test_ending_early_is_no_pass(walled: None, code: str) -> None:
    assert not run_code(code).passed


def test_it_ends_by_the_clock(walled: None) -> None:
    assert not run_code("while True: pass", wall_s=0.7).passed


def test_no_home_of_anybody_is_in_it(walled: None, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    home = str(Path.home())
    assert run_code(f"open({str(secret)!r})").says == "FileNotFoundError"
    code = f"import os\nfor n in ('.ssh', '.bashrc'): assert not os.path.exists({home!r} + '/' + n)"
    assert run_code(code).passed


def test_without_walls_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    refusing = tmp_path / "jail.py"
    refusing.write_text(f"print({jail.SAYS!r} + 'refused: namespaces: no'); raise SystemExit(77)")
    monkeypatch.setattr(sandbox, "JAIL", refusing)
    with pytest.raises(PrerequisiteError, match="namespaces: no"):
        run_code(f"open({str(marker)!r}, 'w')")
    assert not marker.exists()
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(PrerequisiteError, match="Linux"):
        run_code("pass")


def test_tasks_are_scored_by_their_own_tests(walled: None) -> None:
    item = next(i for i in shipped("humaneval") if i.expected["entry_point"] == "truncate_number")
    whole = "```python\ndef truncate_number(number: float) -> float:\n    return number % 1.0\n```"
    assert code_passes(whole, item.expected)
    assert code_passes("    return number % 1.0\n", item.expected)  # a body alone
    assert not code_passes("    return number\n", item.expected)
    assert not code_passes("I cannot.", item.expected)
    assert not code_passes(whole, None)


def test_a_whole_function_keeps_the_tasks_imports() -> None:
    expected = {
        "header": "from typing import List\n\ndef f(a: List[int]) -> int:\n    pass\n",
        "entry_point": "f",
        "test": "def check(f): assert f([1]) == 1",
    }
    made = program_of("def f(a: List[int]) -> int:\n    return a[0]", expected)
    assert made.startswith("from typing import List\ndef f")
    assert made.endswith("check(f)\n")
