"""The workload file: every error at once, and hostile YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial import workload
from seatrial.core.errors import UsageError
from seatrial.workload.schema import FOLDER, generate

HEAD = "schema: seatrial/workload/1\nname: w\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "workload.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as error:
        workload.load(write(folder, text))
    return str(error.value)


def test_all_errors_are_named_at_once(tmp_path: Path) -> None:
    text = refusal(
        tmp_path,
        HEAD + "model: {path: org/name, precison: bf16}\n"
        "traffic: {people: 20, scale: fast}\n"
        "slo: {ttft_ms: {p96: 500}}\n"
        "requires: {context_tokens: 3.5, lora: {max_rnk: 8}}\n"
        "candidates: [{engine: vlm}, {engine: vllm, version: 0.10}]\n",
    )
    for part in (
        "model.precison: unknown key; did you mean precision?",
        "traffic.scale: must be a number, is the text 'fast'",
        "slo.ttft_ms.p96",
        "requires.context_tokens: must be a whole number",
        "requires.lora.max_rnk: unknown key; did you mean max_rank?",
        "candidates[0].engine: must be one of",
        "candidates[1].version: write it in quotes",
        "7 errors",
    ):
        assert part in text


def test_files_are_looked_for_beside_the_workload(tmp_path: Path) -> None:
    body = HEAD + "model: {path: ./m.gguf}\ntraffic: {trace: [a.csv, 'b*.csv']}\n"
    text = refusal(tmp_path, body)
    assert "model.path: no such file" in text
    assert "a.csv" in text
    assert "b*.csv" in text
    for name in ("m.gguf", "a.csv", "b1.csv"):
        (tmp_path / name).touch()
    loaded = workload.load(write(tmp_path, body))
    assert loaded.resolve("a.csv") == tmp_path / "a.csv"
    assert loaded.raw == body.encode()


def test_whole_number_versions_become_text(tmp_path: Path) -> None:
    loaded = workload.load(
        write(
            tmp_path,
            HEAD + "model: {path: org/name}\nhardware: {driver: 580.1}\n"
            "candidates: [{engine: llama.cpp, version: 11549}]\n",
        )
    )
    assert loaded.spec.candidates is not None
    assert loaded.spec.candidates[0].version == "11549"
    assert loaded.spec.hardware.driver == "580.1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("a: 1\na: 2\n", "the key a twice"),
        ("a: !!python/object/apply:os.system ['true']\n", "not valid YAML"),
        ("- 1\n", "not a mapping"),
        ("{" * 2000, "levels"),
        ("a: [" * 40, "levels"),
        ("1: 2\n", "no text"),
        ("a: \x01", "not valid YAML"),
        ("", "not a mapping"),
        ("? [a]\n: b\n", "no text"),
        ("<<: {a: 1}\n", "not valid YAML"),
    ],
)
def test_hostile_yaml_is_refused_with_a_reason(tmp_path: Path, text: str, why: str) -> None:
    assert why in refusal(tmp_path, text)


def test_a_large_or_foreign_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        workload.load(path)
    path.write_bytes(b"#" * (1 << 20) + b"\n" * 10)
    with pytest.raises(UsageError, match="1 MiB"):
        workload.load(path)
    with pytest.raises(UsageError, match="cannot be read"):
        workload.load(tmp_path)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("traffic: {people: 3, trace: x.csv}\n", "takes one of trace, synthetic, people"),
        ("traffic: {}\n", "has none of them"),
        ("traffic: {people: 0}\n", "must be above 0"),
        ("traffic: {synthetic: {input_tokens: 5, output_tokens: 5}}\n", "one of rate_per_s"),
        (
            "traffic: {synthetic: {rate_per_s: 1, input_tokens: {mean: 9, p99: 3}, "
            "output_tokens: 5}}\n",
            "p99 lies below the mean",
        ),
        ("trial: {margin: 3}\n", "between 0 and 1"),
        ("slo: {error_rate: 5}\n", "is a share"),
        ("candidates: []\n", "an empty list"),
        ("slo: {ttft_ms: {p95: .inf}}\n", "must be a number"),
        ("requires: {lora: {max_adapters: -1}}\n", "must be above 0"),
    ],
)
def test_contradictions_are_found(tmp_path: Path, body: str, why: str) -> None:
    assert why in refusal(tmp_path, HEAD + "model: {path: org/name}\n" + body)


def test_published_schemas_have_not_drifted() -> None:
    for name, text in generate().items():
        path = FOLDER / name
        assert path.read_text() == text, f"run python -m seatrial.workload.schema ({name})"
