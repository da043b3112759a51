import random
import struct

from seatrial.facts.fatbin import Scanner, targets

CODE, PTX = 2, 1


def entry(kind: int, sm: int, payload: int = 64, header: int = 64) -> bytes:
    head = struct.pack("<HHIQ", kind, 0x101, header, payload)
    head += bytes(28 - len(head)) + struct.pack("<I", sm)
    return head.ljust(header, b"\0") + random.Random(sm).randbytes(payload)


def fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


OBJECT = (
    b"\x7fELF" + bytes(500)
    + fatbin(entry(CODE, 75), entry(CODE, 80), entry(PTX, 80, payload=5000))
    + bytes(333)
    + fatbin(entry(CODE, 90), entry(CODE, 120))
    + bytes(100)
)  # fmt: skip


def test_code_and_ptx_of_all_fat_binaries():
    found = targets([OBJECT])
    assert found.code == [75, 80, 90, 120]
    assert found.ptx == [80]
    assert found.fatbins == 2


def test_the_same_whatever_the_chunks():
    whole = targets([OBJECT])
    for size in (1, 7, 64, 1000):
        assert targets(chunks(OBJECT, size)) == whole


def test_an_object_without_device_code_is_unknown_not_none():
    found = targets([b"\x7fELF" + bytes(10_000)])
    assert found.fatbins == 0
    assert found.runs_on(90) is None


def test_a_chance_magic_is_skipped():
    noise = struct.pack("<I", 0xBA55ED50) + b"\xff" * 200
    found = targets([noise + OBJECT])
    assert found.code == [75, 80, 90, 120]


def test_nonsense_in_an_entry_ends_that_fat_binary():
    broken = fatbin(entry(CODE, 75), entry(CODE, 9999), entry(CODE, 80))
    found = targets([broken + OBJECT])
    assert 9999 not in found.code
    assert found.code == [75, 80, 90, 120]


def test_a_huge_payload_is_skipped_without_being_held():
    scanner = Scanner()
    big = fatbin(entry(CODE, 86, payload=3_000_000), entry(CODE, 89, payload=40_000))
    held = 0
    for chunk in chunks(big + bytes(200), 10_000):
        scanner.feed(chunk)
        held = max(held, len(scanner._buffer))
    assert scanner.result().code == [86, 89]
    assert held < 60_000


def test_what_runs_where():
    found = targets([OBJECT])
    assert found.runs_on(75)
    assert found.runs_on(86)  # code of sm_80 runs on the same major version
    assert found.runs_on(89)
    assert found.runs_on(100)  # by PTX of 80
    assert not found.runs_on(70)
    code_only = targets([fatbin(entry(CODE, 80), entry(CODE, 90)) + bytes(200)])
    assert not code_only.runs_on(75)
    assert not code_only.runs_on(120)


def test_a_stub_of_the_device_linker_is_not_a_target():
    big = fatbin(entry(CODE, 90, payload=30_000_000))
    found = targets([fatbin(entry(CODE, 52, payload=1400), entry(PTX, 52, payload=400)) + big])
    assert found.code == [90]
    assert found.ptx == []
    assert found.stubs == [52]
    assert not found.runs_on(60)
