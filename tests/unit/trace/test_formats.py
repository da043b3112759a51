"""Every reader: recognised by itself, read to the last field, nothing private in what comes out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import msgspec
import numpy as np
import pytest

from seatrial import trace
from seatrial.cli.main import run
from seatrial.cli.profile import profile
from seatrial.trace.formats import readers
from seatrial.trace.table import Blocks, RequestTable
from seatrial.workload import fingerprint
from seatrial.workload.prefix import weights

S = 1_000_000_000
# format -> (arrivals of the two rows in ns, input, output, {other columns})
EXPECTED: dict[str, tuple[list[int] | None, list[int] | None, list[int] | None, dict]] = {
    "azure-csv": ([0, 990_070_000], [10, 20], [3, 5], {}),
    "burstgpt": ([0, 2_500_000_000], [10, 20], [3, 0], {"e2e_ns": [2_500_000_000, S]}),
    "mooncake": ([0, 1_500_000_000], [1000, 600], [3, 4], {}),
    "qwen-bailian": ([0, 7_500_000_000], [40, 60], [3, 4], {"session": [0, 0], "turn": [0, 1]}),
    "vidur": ([0, 750_000_000], [10, 20], [3, 4], {}),
    "claude-sessions": (
        None,
        [130, 200],
        [7, 9],
        {"session_ns": [0, 10 * S], "ttft_ns": [S // 2, -1], "e2e_ns": [2 * S, -1]},
    ),
    "ragpulse": ([0, 5 * S], [100, 90], [3, 3], {}),
    "lmcache-agents": ([0, S], None, None, {"input_chars": [1960, 1964], "session": [0, 0]}),
    "lengths": (None, [10, 20], [3, 4], {}),
    "lmsys-lora": ([0, S // 2], [10, 20], [3, 4], {}),
    "semantic-router": ([0, S // 2], [10, 20], [3, 4], {}),
    "otel": ([0, 5 * S], [10, 20], [3, -1], {"e2e_ns": [2 * S, S], "ttft_ns": [S // 2, -1]}),
    "openai-batch": (None, None, None, {}),
    "litellm": (
        None,
        None,
        None,
        {},
    ),
    "langfuse": ([0, 4 * S], [10, 20], [3, 4], {"e2e_ns": [2 * S, S], "ttft_ns": [S // 2, -1]}),
    "helicone": ([0, 3 * S], [10, 20], [3, 0], {"ttft_ns": [S // 2, -1], "session": [0, -1]}),
    "vllm-log": ([0, 3 * S], [3, -1], None, {}),
    "sglang": ([0, 8 * S], [32, 20], [3, 4], {"e2e_ns": [2 * S, S]}),
    "tgi": ([0, 4 * S], None, [3, 9], {"e2e_ns": [2 * S, S]}),
    "llama.cpp": ([0, 4 * S], [40, 20], [3, 4], {"ttft_ns": [S // 2, 50_500_000]}),
    "ollama": ([0, 3_500_000_000], [10, 20], [3, 4], {"ttft_ns": [1_300_000_000, -1]}),
    "envoy-ai-gateway": ([0, 3 * S], [10, 20], [3, -1], {"session": [0, -1]}),
    "kong": ([0, 3 * S], [10, 20], [3, -1], {"e2e_ns": [2 * S, -1]}),
    "portkey": ([0, 3 * S], [10, 20], [3, -1], {"e2e_ns": [2 * S, 10_000_000]}),
    "access-log": ([0, 2_500_000_000], None, None, {"ttft_ns": [S // 4, -1]}),
    "aiperf": ([0, 3 * S], [10, 20], [3, -1], {"ttft_ns": [S // 2, -1], "session": [0, -1]}),
    "guidellm": ([0, 3 * S], [10, 20], [3, 0], {"e2e_ns": [2 * S, -1]}),
    "vllm-bench": ([0, 3 * S], [10, 20], [3, 4], {"e2e_ns": [2 * S, 350_000_000]}),
    "generic": ([0, 3 * S], [10, 20], [3, 4], {"session": [0, 1]}),
}


def test_every_reader_has_a_sample(samples: dict[str, tuple[str, str]]) -> None:
    assert set(samples) | {"parquet"} == set(readers())


def test_is_recognised_and_read(sample: Path, format_id: str) -> None:
    table = trace.load(sample)
    assert table.format == format_id
    assert table.n == 2
    assert not table.bad_rows
    arrivals, inputs, outputs, others = EXPECTED[format_id]
    if arrivals is not None:
        assert table.arrival_ns is not None
        assert table.arrival_ns.tolist() == arrivals
    if inputs is not None:
        assert table.input_tokens is not None
        assert table.input_tokens.tolist() == inputs
    if outputs is not None:
        assert table.output_tokens is not None
        assert table.output_tokens.tolist() == outputs
    for name, values in others.items():
        assert getattr(table, name).tolist() == values, name
    forced = trace.load(sample, format=format_id)
    assert forced.n == table.n


def test_litellm_drops_a_ttft_that_is_the_end(
    samples: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(samples["litellm"][1])
    table = trace.load(path)
    assert table.ttft_ns is not None
    assert sorted(table.ttft_ns.tolist()) == [-1, 375_000_000]
    assert table.features["stream"].sum() == 1
    assert table.labels["outcome"] == ("completed", "failed")
    assert table.labels["model"] == ("chat-8b",)


def test_prefixes_of_texts_and_token_ids(
    samples: dict[str, tuple[str, str]], tmp_path: Path
) -> None:
    shared = {}
    for name in ("openai-batch", "lmcache-agents", "qwen-bailian", "mooncake", "ragpulse"):
        path = tmp_path / samples[name][0]
        path.write_text(samples[name][1])
        blocks = trace.load(path).blocks
        assert blocks is not None
        first, second = np.split(blocks.hashes, [blocks.offsets[1]])
        shared[name] = int(np.sum(first[: len(second)] == second[: len(first)]))
    # RAGPulse: the passages come in another order, so only the system prompt is a shared prefix
    assert shared == {
        "openai-batch": 7,
        "lmcache-agents": 7,
        "qwen-bailian": 2,
        "mooncake": 1,
        "ragpulse": 1,
    }
    path = tmp_path / samples["ragpulse"][0]
    found = fingerprint(trace.load(path)).prefix
    assert found is not None
    assert found.aligned_chunk_hit == 3 / 8


def test_pieces_of_a_text_weigh_by_the_counted_tokens(tmp_path: Path) -> None:
    """Helicone counts tokens: 1,024 characters in 4 pieces are 800 tokens, so 200 a piece."""
    body = json.dumps({"messages": [{"role": "u", "content": "x" * 1021}]})
    row = {"request_created_at": "2026-01-01T00:00:00Z", "prompt_tokens": 800, "status": 200,
           "completion_tokens": 1, "request_body": body}  # fmt: skip
    path = tmp_path / "h.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    table = trace.load(path)
    assert table.blocks is not None
    assert weights(table, table.blocks).tolist() == [200] * 8
    found = fingerprint(table).prefix
    assert found is not None
    assert found.token_hit == 0.5


def texts(table: RequestTable) -> Iterator[str]:
    """Everything in a table that could hold text."""
    for field in fields(table):
        value = getattr(table, field.name)
        if not isinstance(value, (np.ndarray, Blocks)):
            yield repr(value)


def test_no_planted_secret_leaves_the_reader(
    sample: Path,
    format_id: str,
    secrets: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    table = trace.load(sample)
    printed = msgspec.json.encode(fingerprint(table)).decode()
    out = tmp_path / "fp.json"
    assert run(["profile", str(sample), "--out", str(out)]) == 0
    assert run(["profile", str(sample), "--json"]) == 0
    captured = capsys.readouterr()
    everything = "\n".join([*texts(table), printed, captured.out, captured.err, out.read_text()])
    for secret in secrets:
        assert secret not in everything, (format_id, secret)
        assert secret.lower() not in everything.lower(), (format_id, secret)


def test_no_secret_in_the_reason_of_a_refused_row(
    sample: Path, secrets: tuple[str, ...], tmp_path: Path
) -> None:
    """A row that is broken in its middle is refused in words of ours alone."""
    lines = sample.read_text().splitlines()
    broken = tmp_path / sample.name
    broken.write_text("\n".join([*lines, *(line[: len(line) // 2] for line in lines[-2:])]))
    try:
        said = " ".join(texts(trace.load(broken)))
    except trace.load.__globals__["UsageError"] as error:
        said = str(error)
    assert not any(secret in said for secret in secrets)


def test_untested_readers_say_so() -> None:
    tested = {reader.id for reader in readers().values() if reader.tested}
    assert {"azure-csv", "mooncake", "claude-sessions", "otel", "generic"} <= tested
    assert not {"litellm", "kong", "burstgpt"} & tested


def test_help_names_every_reader_and_marks_the_untested(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = " ".join((profile.__doc__ or "").split())
    tested, untested = text.split("Untested, written without a real sample:")
    for reader in readers().values():
        assert reader.id in (tested if reader.tested else untested.split(" map ")[0])
    assert run(["profile", "--help"]) == 0
    assert "Untested" in capsys.readouterr().out
