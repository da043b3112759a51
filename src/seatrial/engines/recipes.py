"""What to install for an engine: distributions, pins, and what has to be put right afterwards.

A recipe is data. Versions that a recipe does not know are asked for as they are; pip says
whether they exist.
"""

from __future__ import annotations

import re
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


RECIPES: dict[str, Callable[[str | None], Recipe]] = {
    "llama.cpp": _llamacpp,
    "xllamacpp": _llamacpp,
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
