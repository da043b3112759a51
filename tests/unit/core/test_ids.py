from __future__ import annotations

import hashlib
from pathlib import Path

from seatrial.core.ids import canonical_json, sha256_file, sha256_value, short_id


def test_a_value_has_one_hash_whatever_the_order_of_its_keys() -> None:
    assert sha256_value({"a": 1, "b": [2, 3]}) == sha256_value({"b": [2, 3], "a": 1})
    assert canonical_json({"b": 1, "a": 2}) == b'{"a":2,"b":1}'


def test_a_file_hash_is_the_one_that_sha256sum_prints(tmp_path: Path) -> None:
    data = bytes(range(256)) * 9000
    (tmp_path / "f").write_bytes(data)
    assert sha256_file(tmp_path / "f", chunk_bytes=1000) == hashlib.sha256(data).hexdigest()


def test_short_ids_are_prefixes_of_the_hash() -> None:
    assert sha256_value("x").startswith(short_id("x"))
    assert len(short_id("x")) == 12
