import pytest

from seatrial.facts.version import build_name, is_prerelease, key, same, within

ORDERED = [
    "0c1e57098", "0.8.5", "0.9.0.dev3", "0.9.0rc1", "0.9.0rc2", "0.9.0", "0.9.0.post1", "0.9.0.1",
    "0.10.0", "0.24.0", "0.26.1rc1.dev608", "0.26.1rc1", "0.26.1", "1.2.1", "1.3.0rc4",
    "1.3.0rc29", "1.3.0", "v3.3.7", "b4000", "b11549",
]  # fmt: skip


def test_order():
    assert sorted([*ORDERED[10:], *ORDERED[:10]], key=key) == ORDERED


def test_same():
    assert same("0.33", "0.33.0")
    assert same("v3.3.7", "3.3.7")
    assert same("b11549", "2026.10.11549")
    assert same("11549", "b11549")
    assert not same("0.33.0", "0.33.0rc1")
    assert not same("deadbeef", "cafebabe")
    assert same("deadbeef", "deadbeef")


def test_build_name():
    assert build_name("2026.4.8672.1") == "b8672"
    assert build_name("0c1e57098") == "0c1e57098"


def test_prereleases():
    assert is_prerelease("1.3.0rc29")
    assert is_prerelease("0.9.0.dev1")
    assert not is_prerelease("0.9.0.post1")
    assert not is_prerelease("b11549")


@pytest.mark.parametrize(
    ("version", "since", "until", "expected"),
    [
        ("0.23.0", None, "0.24.0", True),
        ("0.24.0", None, "0.24.0", False),
        ("0.24.0", "0.24.0", None, True),
        ("0.24.0rc1", "0.24.0", None, False),
        ("0.19.1", "0.8", "0.20.0", True),
    ],
)
def test_within(version, since, until, expected):
    assert within(version, since, until) is expected
