"""Laws of the readers: hostile bytes give an integrity error or a result, never anything else."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.errors import IntegrityError
from seatrial.facts.extract.pyast import Module, Unresolved
from seatrial.facts.extract.textscan import Text
from seatrial.facts.fatbin import Scanner, targets
from seatrial.facts.reach.zipfile_range import RangeZip
from seatrial.facts.version import key, within

versions = st.from_regex(
    r"v?[0-9]{1,2}(\.[0-9]{1,3}){0,3}(rc[0-9]|\.post[0-9]|\.dev[0-9])?", fullmatch=True
)
names = st.text("abc/._-", min_size=1, max_size=12).filter(
    lambda n: not n.startswith("/") and ".." not in n.split("/") and not n.endswith("/")
)


def archive(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members.items():
            made.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def opened(data: bytes) -> RangeZip:
    return RangeZip(lambda a, b: data[a:b], len(data), "law")


@given(st.dictionaries(names, st.binary(max_size=2000), max_size=8))
def test_every_archive_that_zipfile_writes_reads_back(members):
    assert opened(archive(members)).read_many(members) == members


@settings(max_examples=150)
@given(
    st.dictionaries(names, st.binary(max_size=300), min_size=1, max_size=4),
    st.data(),
)
def test_a_changed_byte_is_an_error_or_changes_nothing(members, data):
    raw = bytearray(archive(members))
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    try:
        found = opened(bytes(raw))
        for name in found.entries:
            content = found.read(name)
            if name in members:
                assert content == members[name]
    except IntegrityError:
        pass


@given(st.binary(max_size=3000))
def test_arbitrary_bytes_are_no_archive(data):
    with suppress(IntegrityError):
        opened(data)


@given(st.binary(max_size=4000), st.integers(1, 500))
def test_the_fatbin_scan_does_not_depend_on_chunks(data, size):
    data = data.replace(b"\x01", b"\x50\xed\x55\xba")  # plenty of chance magics
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    assert targets(chunks) == targets([data])


@given(st.binary(max_size=2000))
def test_the_fatbin_scan_ends(data):
    scanner = Scanner()
    scanner.feed(data)
    scanner.result()


@settings(max_examples=60)
@given(versions, versions, versions)
def test_versions_are_totally_ordered(a, b, c):
    assert (key(a) < key(b)) + (key(b) < key(a)) + (key(a) == key(b)) == 1
    if key(a) <= key(b) <= key(c):
        assert key(a) <= key(c)


@settings(max_examples=60)
@given(versions, versions, versions)
def test_a_range_is_since_up_to_until(version, since, until):
    inside = within(version, since, until)
    assert inside == (key(since) <= key(version) < key(until))


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_source_that_is_no_python_is_refused_and_nothing_else(text):
    try:
        module = Module("x.py", text.encode())
        for node in module.assigned.values():
            with suppress(Unresolved):
                module.literal(node)
            module.choices(node)
    except (SyntaxError, ValueError):
        pass


@given(st.text('ab"/*\\\n{}', max_size=120))
def test_blanking_comments_keeps_every_offset(text):
    scanned = Text("x", text)
    assert len(scanned.code) == len(text)
    assert scanned.code.count("\n") == text.count("\n")
