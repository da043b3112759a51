"""transformers serve: the reference fallback.

Architectures are the class names of the causal-LM and conditional-generation mappings;
quantisation methods the keys of the quantizer mapping; routes those of the serving app, which has
no metrics route.
"""

from __future__ import annotations

import ast

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.metadata import add_metadata
from seatrial.facts.extract.routes import add_routes

NAME = "transformers"
VERSION = 1

_AUTO = "transformers/models/auto/modeling_auto.py"
_QUANTIZERS = "transformers/quantizers/auto.py"
_TABLES = {
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES": "text-generation",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES": "multimodal",
    "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES": "multimodal",
}


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: architectures, quantisers, requirements."""
    source = findings.source
    serving = source.glob(
        "*transformers/cli/serving/*.py",
        "*transformers/commands/serving.py",
        "*transformers/cli/serve.py",
    )
    auto, quantizers = _place(findings, _AUTO), _place(findings, _QUANTIZERS)
    source.fetch([p for p in (auto, quantizers) if p] + serving)
    findings.step(
        "architecture",
        lambda: architectures(findings, auto),
        floor=Floor(80, ("LlamaForCausalLM",)),
        looked_at=[_AUTO],
    )
    findings.step(
        "quantization",
        lambda: methods(findings, quantizers),
        floor=Floor(8, ("gptq", "awq")),
        looked_at=[_QUANTIZERS],
    )
    findings.step("requires", lambda: add_metadata(findings), floor=Floor(5))
    if deep and serving:
        findings.step(
            "route",
            lambda: add_routes(findings, serving),
            floor=Floor(2, ("/v1/chat/completions",)),
            looked_at=serving,
        )


def _place(findings: Findings, path: str) -> str | None:
    found = findings.source.glob(path, f"*/{path}")
    return found[0] if found else None


def architectures(findings: Findings, path: str | None) -> None:
    """Values of the mappings: one class name, or several for one model type."""
    module = findings.need(path or "")
    seen: set[str] = set()
    for table, task in _TABLES.items():
        node = module.assigned.get(table)
        for item in module.entries(node) if node is not None else ():
            for name in item.value if isinstance(item.value, list) else [item.value]:
                again = f"as a {task} model" if str(name) in seen else None
                findings.add(
                    "architecture",
                    str(name),
                    "native",
                    module.path,
                    item.line,
                    condition=again,
                    detail={"model_type": item.key, "tasks": [task]},
                )
                seen.add(str(name))


def methods(findings: Findings, path: str | None) -> None:
    """Keys of ``AUTO_QUANTIZER_MAPPING``."""
    module = findings.need(path or "")
    node = module.assigned.get("AUTO_QUANTIZER_MAPPING")
    if not isinstance(node, ast.Dict):
        raise Missing("AUTO_QUANTIZER_MAPPING")
    for item in module.entries(node):
        findings.add("quantization", item.key, "native", module.path, item.line)
