import pytest

from seatrial.facts.extract.pyast import Module, Unresolved

SOURCE = b'''\xef\xbb\xbf"""A file that starts with a BOM."""
import torch
from .other import Thing as Other

BASE = ["a", "b"]
NAMES = [*BASE, "c"]
TEXT = "two " "literals"
SUM = "x" + "y"
TABLE = {
    "A": ("mod", "Cls"),
    "B": ("mod", "Same"),
}
MERGED = {
    **TABLE,
    **{k: (m, c) for k, (m, c) in TABLE.items() if c == "Same"},
    "C": torch.half,
    "D": compute(1),
}
CALL = dict(First="one", Second="two")
PAIRS = OrderedDict([("p", "P"), ("q", ["Q1", "Q2"]), *list(TABLE.items())])
if True:
    HIDDEN = Literal["x", Inner, None, 8]
Inner = Literal["y", "z"]
'''


@pytest.fixture
def module():
    return Module("m.py", SOURCE)


def value(module, name):
    return module.literal(module.assigned[name])


def test_literals(module):
    assert value(module, "NAMES") == ["a", "b", "c"]
    assert value(module, "TEXT") == "two literals"
    assert value(module, "SUM") == "xy"
    assert value(module, "TABLE") == {"A": ["mod", "Cls"], "B": ["mod", "Same"]}


def test_spreads_and_comprehension_are_expanded_and_marked(module):
    items = module.entries(module.assigned["MERGED"])
    assert [(i.key, i.copied) for i in items] == [
        ("A", True), ("B", True), ("B", True), ("C", False), ("D", False)
    ]  # fmt: skip
    assert items[3].value == "torch.half"
    assert not items[4].resolved
    assert items[4].value == "compute(1)"


def test_lines_are_those_of_the_keys(module):
    lines = {i.key: i.line for i in module.entries(module.assigned["TABLE"])}
    assert lines == {"A": 10, "B": 11}


def test_dict_call_and_ordered_pairs(module):
    assert [i.key for i in module.entries(module.assigned["CALL"])] == ["First", "Second"]
    assert [i.key for i in module.entries(module.assigned["PAIRS"])] == ["p", "q", "A", "B"]


def test_choices_flatten_nested_aliases_and_drop_none(module):
    assert [c for c, _ in module.choices(module.assigned["HIDDEN"])] == ["x", "y", "z", "8"]


def test_a_computed_value_is_unresolved_with_its_text(module):
    node = Module("x.py", b"X = {k: f(k) for k in NAMES}").assigned["X"]
    with pytest.raises(Unresolved):
        module.entries(node)
    with pytest.raises(Unresolved, match=r"f\(1\)"):
        module.literal(Module("x.py", b"X = f(1)").assigned["X"])


def test_self_reference_ends():
    module = Module("x.py", b"A = [*A]\nB = {**B}\nC = Literal[C]\n")
    for name in "AB":
        with pytest.raises(Unresolved):
            value(module, name)
    assert module.choices(module.assigned["C"]) == []


def test_nothing_is_run(tmp_path):
    mark = tmp_path / "ran"
    module = Module("x.py", f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nA=1".encode())
    assert value(module, "A") == 1
    assert not mark.exists()


def test_a_name_that_an_import_binds_later_is_the_imported_one():
    module = Module(
        "m.py",
        b"Config = Dummy\nfrom .real import Config\nTABLE = {'a': Config}\n"
        b"try:\n    from .fast import Kernel\nexcept ImportError:\n    Kernel = Slow\n",
    )
    assert value(module, "TABLE") == {"a": "Config"}
    assert value(module, "Kernel") == "Slow"
