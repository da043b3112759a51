"""Whatever YAML a workload file holds: a workload or an error in words."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.errors import UsageError
from seatrial.workload.load import parse
from seatrial.workload.spec import Workload

GOOD: dict[str, Any] = {
    "schema": "seatrial/workload/1",
    "name": "w",
    "model": {"path": "org/name", "precision": "bf16"},
    "traffic": {
        "synthetic": {"rate_per_s": 2, "input_tokens": {"mean": 5, "p99": 9}, "output_tokens": 4},
        "slice": {"requests": 5},
    },
    "slo": {"ttft_ms": {"p95": 500}, "error_rate": 0.01},
    "requires": {
        "lora": {"max_adapters": 2},
        "api": ["openai.chat"],
        "pd_disaggregation": {"prefill": {"tp": 1}, "decode": {"tp": 2}},
    },
    "hardware": {"gpu": "h100-80gb", "cpu": {"cores": 4, "flags": ["avx2"]}},
    "candidates": [{"engine": "vllm", "version": "0.33.0", "args": {"a": 1}, "env": {"B": "c"}}],
    "trial": {"starts": 3, "margin": 0.03},
}
VALUES = (
    None, True, 0, -1, 1.5, "x", "", [], {}, [None], {"a": 1}, float("inf"), 10**30, "\x00", "0.10",
    {"p95": "fast"}, [{"engine": "vllm"}], {"mean": None},
)  # fmt: skip


def disturb(value: Any, pick: random.Random) -> Any:
    """The document with one place changed, dropped or renamed."""
    if isinstance(value, dict) and value and pick.random() < 0.85:
        key = pick.choice(list(value))
        out = dict(value)
        what = pick.randrange(4)
        if what == 0:
            out.pop(key)
        elif what == 1:
            out[key + pick.choice("sx_")] = out.pop(key)
        else:
            out[key] = disturb(out[key], pick)
        return out
    return pick.choice(VALUES)


def attempt(raw: bytes) -> None:
    try:
        found = parse(raw, name="w.yaml", folder=None)
    except UsageError:
        pass
    else:
        assert msgspec.convert(msgspec.to_builtins(found), Workload) == found


def test_the_good_one_is_good() -> None:
    assert parse(yaml.safe_dump(GOOD).encode(), name="w", folder=None).trial.starts == 3


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_disturbed_documents(seed: int) -> None:
    pick = random.Random(seed)
    document: Any = GOOD
    for _ in range(pick.randint(1, 4)):
        document = disturb(document, pick)
    attempt(yaml.safe_dump(document).encode())


@settings(deadline=None, max_examples=80)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")))
def test_noise(raw: bytes) -> None:
    attempt(raw)
    attempt(b"schema: seatrial/workload/1\nname: " + raw)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(["&a *a", "<<: {}", "? :", "!!binary x", "---", "%"]))
def test_yaml_with_odd_syntax_spliced_in(seed: int, odd: str) -> None:
    pick = random.Random(seed)
    text = yaml.safe_dump(GOOD)
    at = pick.randrange(len(text))
    attempt((text[:at] + odd + text[at:]).encode())
