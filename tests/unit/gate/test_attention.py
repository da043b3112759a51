"""Attention backends: what a class says of itself, and what the gate makes of it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.gate.attention import admits


@pytest.mark.parametrize(
    ("expression", "capability", "expected"),
    [
        ("True", 75, True),
        ("capability.major in [9, 10]", 103, True),
        ("capability.major in [9, 10]", 120, False),
        ("capability.major == 12", 121, True),
        (
            "capability >= DeviceCapability(8, 0) and capability <= DeviceCapability(12, 1)",
            75,
            False,
        ),
        (
            "capability >= DeviceCapability(8, 0) and capability <= DeviceCapability(12, 1)",
            121,
            True,
        ),
        ("capability in (DeviceCapability(9, 0), DeviceCapability(10, 0))", 103, False),
        ("(capability.major, capability.minor) in ((12, 0), (12, 1))", 121, True),
        ("get_cdna_version() > 2", 90, None),
    ],
)
def test_what_a_class_says_of_its_chips(
    expression: str, capability: int, expected: bool | None
) -> None:
    assert admits(expression, capability) is expected


_FLASHMLA = {"VLLM_ATTENTION_BACKEND": "FLASHMLA"}


def asked(model: str, gpu: str, engine: str, version: str, **args: Any) -> dict[str, Any]:
    env = args.pop("env", {})
    return {
        "model": model,
        "hardware": {"gpu": gpu, "count": args.pop("count", 1)},
        "requires": {"context_tokens": 4096, **args.pop("requires", {})},
        "candidates": [{"engine": engine, "version": version, "args": args, "env": env}],
    }


@pytest.mark.parametrize(
    ("question", "verdict", "remedy"),
    [
        # gated delta layers on Blackwell: the list of the release, named or by default
        (asked("qwen36-27b", "b200", "sglang", "0.5.17", attention_backend="flashinfer"),
         "conditional", "triton"),
        (asked("qwen36-27b", "b200", "sglang", "0.5.17", attention_backend="trtllm_mha"),
         "feasible", ""),
        (asked("qwen36-27b", "b200", "sglang", "0.5.21", attention_backend="flashinfer"),
         "feasible", ""),
        (asked("qwen3-next-80b", "rtx-pro-6000", "sglang", "0.5.9", count=2, tp_size=2),
         "conditional", "triton"),
        # a backend for other chips, or for another kind of attention
        (asked("qwen3-8b", "b200", "sglang", "0.5.9", attention_backend="fa3"),
         "conditional", "triton"),
        (asked("qwen3-8b", "h100-80gb", "sglang", "0.5.9", attention_backend="trtllm_mla"),
         "conditional", "leave"),
        (asked("qwen3-06b", "t4", "vllm", "0.19.1", dtype="half", attention_backend="FLASH_ATTN"),
         "conditional", "TRITON_ATTN"),
        (asked("qwen3-8b", "h100-80gb", "vllm", "0.13.0", env=_FLASHMLA),
         "conditional", "FLASH_ATTN"),
        (asked("qwen3-8b", "h100-80gb", "vllm", "0.16.0", env=_FLASHMLA),
         "feasible", ""),
    ],
)  # fmt: skip
def test_named_and_default_backends(
    question: dict[str, Any], verdict: str, remedy: str, first: Any
) -> None:
    row = first(question)
    said = [f"{r.verdict} {r.constraint}: {r.says}" for r in row.reasons if r.verdict != "feasible"]
    assert row.verdict == verdict, said
    if verdict != "feasible":
        assert row.reasons[0].constraint == "kernel_missing_for_arch", said
        assert remedy.lower() in row.reasons[0].remedy.lower()


def test_sparse_attention_follows_the_table_of_the_release(first: Any) -> None:
    on_120 = {"count": 8, "tensor_parallel_size": 8, "max_model_len": 8192}
    before = first(asked("deepseek-v32", "rtx-pro-6000", "vllm", "0.21.0", **on_120))
    assert before.reasons[0].constraint == "kernel_missing_for_arch"
    assert before.verdict == "infeasible"
    later = first(asked("deepseek-v32", "rtx-pro-6000", "vllm", "0.25.1", **on_120))
    assert not any(
        r.constraint == "kernel_missing_for_arch" and r.verdict != "feasible" for r in later.reasons
    )


def test_an_image_encoder_without_a_kernel_is_out_only_if_images_are_needed(first: Any) -> None:
    question = asked("qwen25vl-7b", "rtx-5090", "vllm", "0.10.1", max_model_len=8192)
    text = first(question)
    assert text.verdict == "conditional"
    assert any("limit-mm-per-prompt" in r.remedy for r in text.reasons)
    question["requires"]["vision"] = True
    assert first(question).verdict == "infeasible"
