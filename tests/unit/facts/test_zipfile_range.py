import io
import struct
import zipfile

import pytest

from seatrial.core.errors import IntegrityError
from seatrial.facts.reach.zipfile_range import RangeZip


def make(members: dict[str, bytes], *, stored: tuple[str, ...] = ()) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            kind = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=kind)
    return out.getvalue()


class Reader:
    """Byte ranges of a byte string, counted."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def __call__(self, start: int, stop: int) -> bytes:
        self.asked.append((start, stop))
        return self.data[start:stop]


def opened(data: bytes) -> RangeZip:
    return RangeZip(Reader(data), len(data), "test.whl")


BIG = bytes(range(256)) * 4000


def test_members_without_reading_the_rest():
    filler = {f"f{i}": struct.pack("<Q", i * 2654435761) * 40000 for i in range(3)}
    data = make({"a.py": b"A = 1\n", **filler, "z.py": b"Z = 2\n"}, stored=tuple(filler))
    reader = Reader(data)
    archive = RangeZip(reader, len(data), "x")
    assert archive.read_many(["a.py", "z.py"]) == {"a.py": b"A = 1\n", "z.py": b"Z = 2\n"}
    read = sum(stop - start for start, stop in reader.asked)
    assert read < len(data) / 4


def test_neighbours_are_fetched_together():
    data = make({f"m{i:03}.py": b"x = %d\n" % i for i in range(200)})
    reader = Reader(data)
    archive = RangeZip(reader, len(data), "x")
    before = len(reader.asked)
    assert len(archive.read_many(list(archive.entries))) == 200
    assert len(reader.asked) == before + 1


def test_stored_and_deflated_and_streamed():
    archive = opened(make({"s": BIG, "d": BIG}, stored=("s",)))
    assert archive.read("s") == archive.read("d") == BIG
    assert b"".join(archive.stream("s", block=1000)) == BIG
    assert b"".join(archive.stream("d", block=1000)) == BIG


def test_it_agrees_with_zipfile_on_a_directory_larger_than_the_tail():
    members = {f"folder/{'n' * 150}{i:04}": b"%d" % i for i in range(600)}
    data = make(members)
    archive = opened(data)
    assert archive.read_many(members) == members


def test_an_absent_member_is_a_key_error():
    with pytest.raises(KeyError):
        opened(make({"a": b"1"})).read("b")


@pytest.mark.parametrize("name", ["../evil.py", "/abs.py", "a/../../b", "C:/x", "..\\x"])
def test_a_name_that_leaves_the_archive(name):
    data = make({"x" * len(name): b"1"}).replace(b"x" * len(name), name.encode())
    with pytest.raises(IntegrityError, match="leaves the archive"):
        opened(data)


def test_truncated_in_every_way():
    data = make({"a.py": b"A = 1\n" * 50, "b.py": b"B = 2\n" * 50})
    for cut in range(1, len(data)):
        with pytest.raises(IntegrityError):
            opened(data[:cut]).read_many(["a.py", "b.py"])


def test_wrong_checksum():
    data = bytearray(make({"a.py": b"hello world"}, stored=("a.py",)))
    at = data.find(b"hello")
    data[at] ^= 1
    with pytest.raises(IntegrityError, match="checksum"):
        opened(bytes(data)).read("a.py")
    with pytest.raises(IntegrityError, match="checksum"):
        list(opened(bytes(data)).stream("a.py"))


def patched_sizes(data: bytes, size: int) -> bytes:
    """The directory entry of the only member with another unpacked size."""
    out = bytearray(data)
    at = data.find(b"PK\1\2")
    struct.pack_into("<L", out, at + 24, size)
    return bytes(out)


def test_a_member_that_inflates_to_more_than_it_says():
    data = patched_sizes(make({"a.py": bytes(100_000)}), 10)
    with pytest.raises(IntegrityError, match="another number of bytes"):
        opened(data).read("a.py")
    with pytest.raises(IntegrityError, match="more than it says"):
        list(opened(data).stream("a.py"))


def test_a_bomb_is_refused_before_it_is_inflated():
    bomb = make({"a.py": bytes(3 << 20)})
    with pytest.raises(IntegrityError, match="says it holds"):
        opened(bomb).read("a.py", limit=1 << 20)
    with pytest.raises(IntegrityError, match="impossible ratio"):
        opened(patched_sizes(make({"a.py": b"1234"}), 1 << 30)).read("a.py", limit=2 << 30)


def test_offsets_that_do_not_fit_and_doubled_names():
    data = bytearray(make({"a.py": b"1"}))
    at = data.find(b"PK\1\2")
    struct.pack_into("<L", data, at + 42, 1 << 30)
    with pytest.raises(IntegrityError, match="does not fit"):
        opened(bytes(data))
    doubled = make({"a.py": b"1", "b.py": b"2"}).replace(b"b.py", b"a.py")
    with pytest.raises(IntegrityError, match="twice"):
        opened(doubled)


def test_members_that_share_bytes():
    data = bytearray(make({"a.py": b"1" * 500, "b.py": b"2" * 500}, stored=("a.py", "b.py")))
    first = data.find(b"PK\1\2")
    second = data.find(b"PK\1\2", first + 4)
    struct.pack_into("<L", data, second + 42, 10)
    with pytest.raises(IntegrityError, match="shares its bytes"):
        opened(bytes(data))


def test_another_method_than_wheels_use():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", b"1" * 100)
    with pytest.raises(IntegrityError, match="method"):
        opened(out.getvalue()).read("a")


def as_zip64(data: bytes) -> bytes:
    """The same archive with its end record in the 64-bit form."""
    at = data.rfind(b"PK\5\6")
    _, _, _, _, count, length, offset, _ = struct.unpack_from("<4s4H2LH", data, at)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, length, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, at, 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return data[:at] + record + locator + end


def test_zip64_directory():
    data = as_zip64(make({"a.py": b"A = 1", "last.py": b"L = 1"}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:  # zipfile agrees that it is one
        assert archive.read("last.py") == b"L = 1"
    assert opened(data).read("last.py") == b"L = 1"
    for cut in (1, 25, 45):
        with pytest.raises(IntegrityError):
            opened(data[:-cut])
    damaged = data.replace(b"PK\6\6", b"PK\6\0")
    with pytest.raises(IntegrityError, match="64-bit"):
        opened(damaged)
