"""Log lines that betray a fallback: short fragments, looked for in the source of each version.

A fragment is a fact of a version only if its text is in a string literal there; adjacent literals
are joined first, since long messages are split over lines. What stands in the table is our
reading of the line: ``evidence`` (says what was chosen), ``degraded`` (runs slower or with another
format than asked for), ``failure`` (a required feature is silently off).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from seatrial.facts.extract.findings import Findings, Missing
from seatrial.facts.extract.textscan import Text


class Signature(msgspec.Struct, frozen=True):
    """A fragment as it appears in a log, what it means, and where to look for it (globs)."""

    fragment: str
    severity: str
    means: str
    places: tuple[str, ...]


_Q = "vllm/model_executor/layers/quantization/"
_K = "vllm/model_executor/kernels/linear/"

VLLM: tuple[Signature, ...] = (
    Signature(
        "attention backend out of potential backends",
        "evidence",
        "attention backend chosen",
        ("vllm/platforms/cuda.py",),
    ),
    Signature(
        "for mixed-precision linear",
        "evidence",
        "kernel of a mixed-precision linear layer",
        (_K + "__init__.py", _Q + "kernels/mixed_precision/__init__.py"),
    ),
    Signature(
        "precluded higher-priority backend",
        "degraded",
        "a slower attention backend because of the block size",
        ("vllm/platforms/cuda.py",),
    ),
    Signature(
        "does not have native support for FP8 computation",
        "degraded",
        "weight-only FP8: memory is saved, no FP8 compute",
        (_Q + "utils/marlin_utils_fp8.py",),
    ),
    Signature(
        "does not have native support for FP4",
        "degraded",
        "weight-only FP4: memory is saved, no FP4 compute",
        (_K + "nvfp4/marlin.py", _Q + "utils/marlin_utils_fp4.py"),
    ),
    Signature(
        "unoptimized emulation backend",
        "degraded",
        "NVFP4 linear layers are emulated",
        (_K + "__init__.py",),
    ),
    Signature(
        "dequantize weights on the fly",
        "degraded",
        "MoE layers are emulated",
        ("vllm/model_executor/layers/fused_moe/*emulation*.py",),
    ),
    Signature(
        "Falling back to unoptimized AWQ kernels",
        "degraded",
        "slower AWQ kernels",
        (_Q + "auto_awq.py", _Q + "awq_marlin.py"),
    ),
    Signature(
        "Falling back to Moe WNA16 kernels",
        "degraded",
        "slower MoE kernels",
        (_Q + "auto_gptq.py", _Q + "gptq_marlin.py", _Q + "awq_marlin.py", _Q + "auto_awq.py"),
    ),
    Signature(
        "MXFP4 linear layer is not implemented",
        "degraded",
        "linear layers stay unquantised",
        (_Q + "mxfp4.py",),
    ),
    Signature(
        "falling back to Transformers implementation",
        "degraded",
        "generic model code",
        ("vllm/model_executor/model_loader/utils.py", "vllm/model_executor/models/registry.py"),
    ),
    Signature(
        "Falling back to %s",
        "degraded",
        "another dtype than asked for",
        ("vllm/config/model.py", "vllm/config/__init__.py", "vllm/config.py"),
    ),
    Signature(
        "Falling back to PyTorch-native",
        "degraded",
        "slower sampler",
        ("vllm/v1/sample/ops/topk_topp_sampler.py",),
    ),
    Signature(
        "Using default MoE config. Performance might be sub-optimal",
        "degraded",
        "MoE kernel not tuned for this GPU",
        ("vllm/model_executor/layers/fused_moe/fused_moe.py",),
    ),
    Signature(
        "Falling back to AllGather+ReduceScatter",
        "degraded",
        "expert parallelism without its all-to-all kernel",
        ("vllm/model_executor/layers/fused_moe/all2all_utils.py",),
    ),
    Signature(
        "quantization is not fully optimized yet",
        "degraded",
        "slow quantisation method",
        ("vllm/config.py", "vllm/config/__init__.py", "vllm/config/model.py"),
    ),
    Signature(
        "Cannot use FlashAttention-2 backend",
        "degraded",
        "another attention backend",
        ("vllm/platforms/cuda.py",),
    ),
    Signature(
        "Falling back to slow implementation", "degraded", "slow GGUF kernels", (_Q + "gguf.py",)
    ),
)

_SQ = "sglang/srt/layers/quantization/"

SGLANG: tuple[Signature, ...] = (
    Signature(
        "quantization is not fully optimized yet",
        "degraded",
        "slow quantisation method",
        ("sglang/srt/configs/model_config.py",),
    ),
    Signature(
        "Compute capability below sm80",
        "degraded",
        "float16 instead of bfloat16",
        (
            "sglang/srt/model_executor/model_runner_components/load_model_utils.py",
            "sglang/srt/model_executor/model_runner.py",
        ),
    ),
    Signature(
        "falling back to Transformers implementation",
        "degraded",
        "generic model code",
        ("sglang/srt/model_loader/utils.py",),
    ),
    Signature(
        "Falling back to slow implementation", "degraded", "slow GGUF kernels", (_SQ + "gguf.py",)
    ),
    Signature(
        "unoptimized AWQ kernels",
        "degraded",
        "slower AWQ kernels",
        (_SQ + "awq/awq.py", _SQ + "awq.py"),
    ),
    Signature(
        "weight-only",
        "degraded",
        "weight-only compute through a Marlin kernel",
        (_SQ + "compressed_tensors/compressed_tensors.py", _SQ + "marlin_utils_fp8.py"),
    ),
    Signature(
        "Falling back to grammar_backend='none'",
        "failure",
        "structured output is silently not enforced",
        ("sglang/srt/constrained/base_grammar_backend.py",),
    ),
    Signature(
        "Using default MoE kernel config",
        "degraded",
        "MoE kernel not tuned for this GPU",
        ("sglang/srt/layers/moe/*fused_moe_triton_config.py",),
    ),
)

LMDEPLOY: tuple[Signature, ...] = (
    Signature(
        "Fallback to pytorch engine because",
        "degraded",
        "another engine than asked for",
        ("lmdeploy/archs.py",),
    ),
    Signature(
        "disable guided decoding",
        "failure",
        "structured output is silently not enforced for that request",
        ("lmdeploy/turbomind/turbomind.py",),
    ),
)

LLAMA_CPP: tuple[Signature, ...] = (
    Signature(
        "layers to GPU",
        "evidence",
        "offloaded %d/%d: compare the two numbers",
        ("src/llama-model.cpp",),
    ),
    Signature(
        "usually due to missing support",
        "degraded",
        "flash attention off for a device",
        ("src/llama-context.cpp",),
    ),
    Signature("no usable GPU found", "degraded", "CPU only", ("common/arg.cpp",)),
    Signature(
        "NCCL not compiled in",
        "degraded",
        "tensor split runs slower",
        ("ggml/src/ggml-cuda/ggml-cuda.cu",),
    ),
)

OLLAMA: tuple[Signature, ...] = (
    Signature(
        "retrying with projector CPU offload",
        "degraded",
        "vision runs on the CPU",
        ("llm/llama_server.go",),
    ),
    Signature(
        "no per-device buffer sizes",
        "degraded",
        "placement of the model is not known",
        ("llm/llama_server.go",),
    ),
)

TGI: tuple[Signature, ...] = (
    Signature(
        "GPU does not support FP8, using Marlin FP8 kernel",
        "degraded",
        "weight-only FP8",
        ("server/text_generation_server/layers/fp8.py",),
    ),
    Signature(
        "Could not import Flash Attention enabled models",
        "degraded",
        "no flash attention",
        ("server/text_generation_server/models/__init__.py",),
    ),
    Signature(
        "Disabling CUDA Graphs",
        "degraded",
        "no CUDA graphs (LoRA)",
        ("server/text_generation_server/cli.py",),
    ),
)


def add_signatures(
    findings: Findings, signatures: tuple[Signature, ...], *, prefix: str = ""
) -> None:
    """Facts ``log_signature``: fragment -> severity, for those whose text is in this version.

    Raises:
        Missing: none of the places is there any more.
    """
    source = findings.source
    places = {s: [p for g in s.places for p in source.glob(prefix + g)] for s in signatures}
    source.fetch([p for found in places.values() for p in found])
    if not any(places.values()):
        raise Missing("none of the files that held them")
    for signature, paths in places.items():
        for path in paths:
            line = _find(findings, path, signature.fragment)
            if line is not None:
                findings.add(
                    "log_signature",
                    signature.fragment,
                    signature.severity,
                    path,
                    line,
                    detail={"means": signature.means},
                )
                break


def _find(findings: Findings, path: str, fragment: str) -> int | None:
    """The line on which a literal that holds the fragment begins."""
    for text, line in _strings(findings, path):
        if fragment in " ".join(text.split()):
            return line
    return None


def _strings(findings: Findings, path: str) -> Iterator[tuple[str, int]]:
    """String literals of a file, adjacent ones joined; docstrings do not count."""
    if path.endswith(".py"):
        module = findings.source.module(path)
        for node in ast.walk(module.tree) if module else ():
            if isinstance(node, ast.Call):
                for argument in [*node.args, *(k.value for k in node.keywords)]:
                    yield from _literals(argument)
        return
    text = Text(path, findings.source.text(path))
    for hit in text.find(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*'):
        yield text.code[hit.start : hit.end].replace('"', ""), hit.line


def _literals(node: ast.expr) -> Iterator[tuple[str, int]]:
    """A constant, or an f-string and a sum of strings with their gaps as ``%s``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, node.lineno
    elif isinstance(node, ast.JoinedStr):
        parts = [v.value if isinstance(v, ast.Constant) else "%s" for v in node.values]
        yield "".join(map(str, parts)), node.lineno
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        pieces = [*_literals(node.left), *_literals(node.right)]
        yield "".join(p for p, _ in pieces), node.lineno
