"""llama.cpp: C++ tables out of a source tree.

The tree is the artefact: the sdist of xllamacpp vendors it at a named build, llama-cpp-python's at
a named commit, and a git checkout is one itself; the prefix is found from where llama-arch.cpp
stands. Architectures are Hugging Face class names, from the converter's table; names of GGUF
architectures are facts of their own, with the condition that says so.
"""

from __future__ import annotations

import re

from seatrial.facts.extract.findings import Findings, Floor, Missing
from seatrial.facts.extract.llama_cpp_flags import flags
from seatrial.facts.extract.logs import LLAMA_CPP, add_signatures
from seatrial.facts.extract.textscan import Text

NAME = "llama.cpp"
VERSION = 2

_FILES = (
    "src/llama-arch.cpp",
    "src/llama-context.cpp",
    "conversion/__init__.py",
    "convert_hf_to_gguf.py",
    "ggml/include/ggml.h",
    "include/llama.h",
    "common/arg.cpp",
    "common/common.h",
    "ggml/src/ggml-cuda/CMakeLists.txt",
    "tools/server/server.cpp",
    "tools/server/server-task.cpp",
    "tools/server/server-context.cpp",
    "examples/server/server.cpp",
)


def prefix_of(names: list[str]) -> str:
    """The folder of the tree inside the artefact, "" or ending in "/"."""
    found = sorted((n for n in names if n.endswith("src/llama-arch.cpp")), key=len)
    if not found:
        raise Missing("src/llama-arch.cpp")
    return found[0].removesuffix("src/llama-arch.cpp")


class Trunk:
    """Files of the tree by their path in it."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.prefix = prefix_of(findings.source.names)
        findings.source.fetch([self.prefix + f for f in _FILES])

    def text(self, *paths: str) -> Text:
        """The first of these files that exists. Raises Missing."""
        for path in paths:
            if self.findings.source.has(self.prefix + path):
                return Text(self.prefix + path, self.findings.source.text(self.prefix + path))
        raise Missing(" or ".join(paths))

    def optional(self, path: str) -> Text | None:
        """A file, None if this tree has none of that name."""
        return self.text(path) if self.findings.source.has(self.prefix + path) else None


def extract(findings: Findings, *, deep: bool = True) -> None:
    """Everything; ``deep`` off: architectures and types."""
    trunk = Trunk(findings)
    findings.step(
        "architecture",
        lambda: architectures(trunk),
        floor=Floor(150, ("LlamaForCausalLM", "llama")),
        looked_at=_FILES[:4],
    )
    findings.step(
        "quantization", lambda: types(trunk), floor=Floor(20, ("Q4_K",)), looked_at=_FILES[4:6]
    )
    findings.step(
        "kv_cache_dtype", lambda: kv_types(trunk), floor=Floor(5, ("f16",)), looked_at=_FILES[6:7]
    )
    if deep:
        deeper(trunk)


def deeper(trunk: Trunk) -> None:
    """Flags, routes, metrics, speculative kinds, CUDA targets, backends."""
    findings = trunk.findings
    findings.step(
        "flag",
        lambda: flags(findings, trunk.text("common/arg.cpp"), trunk.optional("common/common.h")),
        floor=Floor(150, ("--ctx-size", "--port")),
    )
    findings.step(
        "route", lambda: routes(trunk), floor=Floor(15, ("/v1/chat/completions", "/health"))
    )
    findings.step(
        "metric", lambda: metrics(trunk), floor=Floor(8, ("llamacpp:requests_processing",))
    )
    findings.step("speculative_method", lambda: speculative(trunk), floor=Floor(2))
    findings.step("cuda_targets", lambda: cuda_targets(trunk), floor=Floor(1))
    findings.step("log_signature", lambda: add_signatures(findings, LLAMA_CPP, prefix=trunk.prefix))
    findings.step("platform", lambda: backends(trunk), floor=Floor(4, ("backend:cuda",)))


def architectures(trunk: Trunk) -> None:
    """Converter's classes (text, and multimodal projectors), and the GGUF names that run."""
    path = trunk.prefix + "conversion/__init__.py"
    module = trunk.findings.source.module(path)
    if module is not None:
        for table, what in (("TEXT_MODEL_MAP", None), ("MMPROJ_MODEL_MAP", "as a projector")):
            node = module.assigned.get(table)
            for item in module.entries(node) if node is not None else ():
                trunk.findings.add(
                    "architecture",
                    item.key,
                    "native",
                    path,
                    item.line,
                    condition=what and f"{what} (mmproj GGUF) for images or audio",
                    detail={"converter": str(item.value), "via": "conversion to GGUF"},
                )
    else:
        _registered(trunk)
    text = trunk.text("src/llama-arch.cpp")
    inside = text.block(r"LLM_ARCH_NAMES\s*=\s*\{")
    for hit in text.find(r'\{\s*(LLM_ARCH_\w+)\s*,\s*"([^"]+)"', *(inside or (0, 0))):
        if hit[2] != "(unknown)":
            trunk.findings.add(
                "architecture",
                hit[2],
                "native",
                text.path,
                hit.line,
                detail={"gguf": "general.architecture"},
            )


def _registered(trunk: Trunk) -> None:
    """Before the converter became a package: ``@ModelBase.register("A", "B")``."""
    text = trunk.text("convert_hf_to_gguf.py")
    for hit in text.find(r"@\w+\.register\((?P<names>[^)]*)\)"):
        for name in re.finditer(r'"(\w+)"', hit["names"]):
            line = hit.line_of("names") + hit["names"].count("\n", 0, name.start())
            trunk.findings.add(
                "architecture",
                name[1],
                "native",
                text.path,
                line,
                detail={"via": "conversion to GGUF"},
            )


def types(trunk: Trunk) -> None:
    """Tensor types of ``enum ggml_type``; subject as in file names (Q4_K), value its number."""
    text = trunk.text("ggml/include/ggml.h")
    inside = text.block(r"enum ggml_type \{")
    for hit in text.find(r"GGML_TYPE_(\w+)\s*=\s*(\d+)", *(inside or (0, 0))):
        if hit[1] != "COUNT":
            trunk.findings.add(
                "quantization",
                hit[1],
                "native",
                text.path,
                hit.line,
                detail={"ggml_type": int(hit[2])},
            )
    if (recipes := trunk.optional("include/llama.h")) is not None:
        _recipes(trunk, recipes)


def _recipes(trunk: Trunk, text: Text) -> None:
    """File types that mix tensor types (Q4_K_M): what a GGUF file is called by its quantisation."""
    inside = text.block(r"enum llama_ftype \{")
    known = {cells[0] for cells in trunk.findings.rows.get("quantization", [])}
    for hit in text.find(r"LLAMA_FTYPE_MOSTLY_(\w+)\s*=\s*(\d+)", *(inside or (0, 0))):
        if hit[1] not in known:
            trunk.findings.add(
                "quantization",
                hit[1],
                "native",
                text.path,
                hit.line,
                detail={"llama_ftype": int(hit[2])},
            )


def kv_types(trunk: Trunk) -> None:
    """What ``--cache-type-k`` and ``--cache-type-v`` accept."""
    text = trunk.text("common/arg.cpp")
    inside = text.block(r"kv_cache_types\s*=\s*\{")
    for hit in text.find(r"GGML_TYPE_(\w+)", *(inside or (0, 0))):
        trunk.findings.add(
            "kv_cache_dtype", hit[1].lower(), "native", text.path, hit.line, kind="cli"
        )


def routes(trunk: Trunk) -> None:
    """``ctx_http.get("/health", ...)`` (before: ``svr->Get("/health", ...)``)."""
    text = trunk.text("tools/server/server.cpp", "examples/server/server.cpp")
    for hit in text.find(
        r"(?:ctx_http\.|svr->|svr\.)(get|post|del|put|Get|Post|Delete|Put)\s*\(\s*"
        r'(?:[\w.]+\s*\+\s*)?"(/[^"]*)"'
    ):
        verb = {"del": "DELETE"}.get(hit[1].lower(), hit[1].upper())
        trunk.findings.add("route", hit[2], [verb], text.path, hit.line)


_METRIC_FILES = (
    "tools/server/server-task.cpp",
    "tools/server/server-context.cpp",
    "tools/server/server.cpp",
    "examples/server/server.cpp",
)


def metrics(trunk: Trunk) -> None:
    """Names in the lists of counters and gauges of the metrics writer, wherever it stands."""
    for path in _METRIC_FILES:
        if trunk.findings.source.has(trunk.prefix + path):
            _metrics(trunk, trunk.text(path))


def _metrics(trunk: Trunk, text: Text) -> None:
    for which, kind in (("counters?", "counter"), ("gauges?", "gauge")):
        inside = text.block(rf"vector<metric_item>\s+{which}\s*=\s*\{{")
        for hit in text.find(r'\{\s*"([a-z][a-z0-9_]*)"\s*,\s*"', *(inside or (0, 0))):
            trunk.findings.add("metric", f"llamacpp:{hit[1]}", kind, text.path, hit.line_of(1))
    for hit in text.find(r'\{"name",\s*"([a-z][a-z0-9_]*)"\}'):  # as JSON, before August 2026
        trunk.findings.add("metric", f"llamacpp:{hit[1]}", "unknown", text.path, hit.line)
    for hit in text.find(r"# TYPE llamacpp:([a-z0-9_]+) (counter|gauge)"):
        trunk.findings.add("metric", f"llamacpp:{hit[1]}", hit[2], text.path, hit.line)


def speculative(trunk: Trunk) -> None:
    """Members of the enum of speculative types."""
    text = trunk.text("common/common.h")
    inside = text.block(r"enum common_speculative_type \{")
    for hit in text.find(r"COMMON_SPECULATIVE_TYPE_(\w+)", *(inside or (0, 0))):
        if hit[1] not in ("NONE", "COUNT"):
            name = hit[1].lower().replace("_", "-")
            trunk.findings.add("speculative_method", name, "native", text.path, hit.line)


_ARCHS = r"list\(APPEND CMAKE_CUDA_ARCHITECTURES ([^)]*)\)"


def cuda_targets(trunk: Trunk) -> None:
    """What a portable build compiles, by CUDA toolkit: CMake's branches evaluated for 12.9, 13.0.

    ``86-real`` is machine code, ``75-virtual`` is PTX (runs on that capability and above after
    the driver has compiled it), a bare number is both (CMake, CUDA_ARCHITECTURES).
    """
    text = trunk.text("ggml/src/ggml-cuda/CMakeLists.txt")
    lines = text.raw.splitlines()
    for toolkit in ("12.9", "13.0"):
        real, virtual, first = _evaluate(lines, toolkit)
        if real or virtual:
            trunk.findings.add(
                "cuda_targets",
                f"cuda-{toolkit.split('.')[0]}",
                sorted(real),
                text.path,
                first,
                condition=f"portable build (GGML_NATIVE off) with CUDA {toolkit}",
                detail={"ptx": sorted(virtual)},
            )


def _evaluate(lines: list[str], toolkit: str) -> tuple[set[int], set[int], int]:
    """Architectures that the branches for one toolkit append: (real, virtual, first line)."""
    real: set[int] = set()
    virtual: set[int] = set()
    first = 0
    stack: list[bool] = []
    for number, line in enumerate(lines, start=1):
        code = line.partition("#")[0].strip()
        if found := re.match(r"if\s*\((.*)\)", code):
            stack.append(_holds(found[1], toolkit))
        elif code.startswith("else") and stack:
            stack[-1] = not stack[-1]
        elif code.startswith("endif") and stack:
            stack.pop()
        elif (appended := re.match(_ARCHS, code)) and all(stack):
            first = first or number
            for word in re.findall(r"(\d+)[a-z]?(-real|-virtual)?", appended[1]):
                if word[1] != "-virtual":
                    real.add(int(word[0]))
                if word[1] != "-real":
                    virtual.add(int(word[0]))
    return real, virtual, first


def _holds(test: str, toolkit: str) -> bool:
    """A CMake test on the toolkit's version; ``GGML_NATIVE`` is off; others hold."""
    if "GGML_NATIVE" in test:
        return False
    for op, number in re.findall(r'CUDAToolkit_VERSION VERSION_(\w+) "([\d.]+)"', test):
        mine, theirs = (tuple(map(int, v.split("."))) for v in (toolkit, number))
        padded = (*theirs, 0)[:2] if len(theirs) == 1 else theirs
        ok = {
            "GREATER_EQUAL": mine >= padded,
            "LESS": mine < padded,
            "GREATER": mine > padded,
            "LESS_EQUAL": mine <= padded,
            "EQUAL": mine == padded,
        }.get(op, True)
        if not ok:
            return False
    return True


def backends(trunk: Trunk) -> None:
    """Folders ``ggml/src/ggml-X``: kernels for X."""
    seen = set()
    for name in trunk.findings.source.names:
        found = re.match(re.escape(trunk.prefix) + r"ggml/src/ggml-([a-z0-9]+)/", name)
        if found and found[1] not in seen and name.endswith("CMakeLists.txt"):
            seen.add(found[1])
            trunk.findings.add("platform", f"backend:{found[1]}", "native", name, None)
