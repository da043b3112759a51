"""Every option of every verb says what it is for: cyclopts drops a docstring it cannot read."""

from __future__ import annotations

import keyword
from importlib import import_module

import pytest
from cyclopts import App

from seatrial.cli.main import VERBS


def silent(app: App, words: str) -> list[str]:
    """Options without a help text, of a command and of those under it."""
    found: list[str] = []
    if app.default_command is not None:
        arguments = app.assemble_argument_collection(parse_docstring=True)
        found += [f"{words} {a.name}" for a in arguments if a.show and not a.parameter.help]
    for name in app:
        if not name.startswith("-"):
            found += silent(app[name], f"{words} {name}")
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_explained(verb: str) -> None:
    module = import_module(
        f"seatrial.cli.{verb}_" if keyword.iskeyword(verb) else f"seatrial.cli.{verb}"
    )
    assert silent(module.app, verb) == []
