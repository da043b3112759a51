"""Whatever a file holds, a reader gives a table or an error in words: no crash, no hang.

Mutations of real samples reach deeper than noise does, so most cases start from a sample of the
format and cut, double, splice, retype or poison it. The long run is ``make test-slow``.
"""

from __future__ import annotations

import gzip
import importlib.util
import random
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial import trace
from seatrial.core.errors import SeatrialError
from seatrial.trace.formats import readers
from seatrial.workload import fingerprint


def _samples() -> dict[str, tuple[str, str]]:
    path = Path(__file__).resolve().parents[2] / "unit" / "trace" / "samples.py"
    spec = importlib.util.spec_from_file_location("fuzz_samples", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.SAMPLES)


SAMPLES = _samples()
POISON = (
    b"", b"null", b"-1", b"1e400", b"NaN", b"99999999999999999999", b'"x"', b"[]", b"{}", b"true",
    b"\x00", b"\xff\xfe", b"1.5", b"[[[[", b'{"a":', b"2023-13-45", b"9" * 400, b"\r\n", b'"',
    b"-9223372036854775808", b"9223372036854775807", b"[1,null]", b'["a"]', b"1970-01-01T00:00:00Z",
    b"9999-12-31T23:59:59Z", b"\\ud800",
)  # fmt: skip


def mutate(data: bytes, seed: int) -> bytes:
    """One to six edits of a sample, chosen by ``seed``."""
    pick = random.Random(seed)
    out = bytearray(data)
    for _ in range(pick.randint(1, 6)):
        at = pick.randrange(len(out) + 1)
        end = min(len(out), at + pick.choice((0, 1, 4, 16, 200)))
        edit = pick.randrange(5)
        if edit == 0:
            out[at:end] = pick.choice(POISON)
        elif edit == 1:
            del out[at:end]
        elif edit == 2:
            out[at:at] = out[at:end] * pick.randint(1, 4)
        elif edit == 3:
            out[at:end] = bytes(pick.randrange(256) for _ in range(end - at))
        else:
            _replace_a_number(out, pick)
    return bytes(out)


def _replace_a_number(out: bytearray, pick: random.Random) -> None:
    places = [i for i, c in enumerate(out) if 48 <= c <= 57]
    if places:
        start = pick.choice(places)
        end = start
        while end < len(out) and (48 <= out[end] <= 57 or out[end] == 46):
            end += 1
        out[start:end] = pick.choice(POISON)


def read(path: Path, format_id: str | None) -> None:
    started = time.monotonic()
    try:
        table = trace.load(path, format=format_id)
    except SeatrialError:
        pass
    else:
        assert table.n > 0
        for column in (table.arrival_ns, table.input_tokens, table.output_tokens, table.session):
            assert column is None or len(column) == table.n
        fingerprint(table)
    assert time.monotonic() - started < 20


def attempt(folder: Path, format_id: str, seed: int, forced: bool) -> None:
    name, text = SAMPLES[format_id]
    path = folder / name
    path.write_bytes(mutate(text.encode("utf-8", "surrogatepass"), seed))
    read(path, format_id if forced else None)


@pytest.mark.parametrize("format_id", SAMPLES)
def test_mutated_samples(format_id: str, tmp_path: Path) -> None:
    for seed in range(25):
        attempt(tmp_path, format_id, seed, forced=bool(seed % 2))


@pytest.mark.slow
@pytest.mark.parametrize("format_id", SAMPLES)
def test_mutated_samples_long(format_id: str, tmp_path: Path) -> None:
    for seed in range(1000, 2500):
        attempt(tmp_path, format_id, seed, forced=bool(seed % 2))


@pytest.mark.parametrize("format_id", SAMPLES)
def test_a_reader_forced_on_every_other_format(format_id: str, tmp_path: Path) -> None:
    for name, text in SAMPLES.values():
        path = tmp_path / name
        path.write_text(text)
        read(path, format_id)


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=400),
    format_id=st.sampled_from([*readers(), None]),
    packed=st.booleans(),
)
def test_noise(data: bytes, format_id: str | None, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "noise"
    path.write_bytes(gzip.compress(data) if packed else data)
    read(path, format_id)


def _json_rows() -> st.SearchStrategy[str]:
    keys = sorted({k for _, text in SAMPLES.values() for k in _keys(text)})
    values = st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**70), 2**70)
        | st.floats()
        | st.text(max_size=8)
        | st.sampled_from(["2026-01-01T00:00:00Z", "1.5s", "1764486860.25"]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=4)
        ),
        max_leaves=12,
    )
    import json

    row = st.dictionaries(st.sampled_from(keys), values, min_size=1, max_size=12)
    return st.lists(row, min_size=1, max_size=4).map(
        lambda rows: "\n".join(json.dumps(r) for r in rows)
    )


def _keys(text: str) -> list[str]:
    import re

    return re.findall(r'"([A-Za-z_.]{1,40})":', text)


@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=_json_rows(), format_id=st.sampled_from(list(readers())))
def test_known_keys_with_values_of_any_kind(text: str, format_id: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    read(path, format_id)


@pytest.mark.parametrize("depth", [50, 5_000, 200_000])
def test_deep_nesting(depth: int, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    for text in ("[" * depth, '{"spans":' * depth, '{"spans":[' * depth + "]}" * depth):
        path.write_text(text)
        for format_id in ("otel", "langfuse", "generic", "claude-sessions", "guidellm"):
            read(path, format_id)


def test_one_endless_line_costs_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "line.jsonl.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(80):
            file.write(b'{"a": "' + b"x" * (1 << 20))
    tracemalloc.start()
    read(path, "mooncake")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400 << 20
