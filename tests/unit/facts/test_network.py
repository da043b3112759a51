"""Against the real package index: ``make test-network``. A few requests, a few megabytes."""

from __future__ import annotations

import pytest

from seatrial.facts.reach.index import Index
from seatrial.facts.store import FactStore, snapshot_path
from seatrial.facts.sweep import counts
from seatrial.facts.sync import read_release
from seatrial.facts.verify import verify_version

pytestmark = pytest.mark.network

VLLM = {
    "0.8.5": 155, "0.9.2": 178, "0.10.2": 219, "0.11.2": 247, "0.13.0": 257, "0.15.1": 282,
    "0.17.1": 315, "0.19.1": 334, "0.20.2": 355, "0.21.0": 367, "0.22.1": 373, "0.23.0": 376,
    "0.24.0": 370, "0.25.1": 367, "0.26.0": 372, "0.27.1": 377, "0.28.0": 388, "0.29.0": 385,
    "0.30.0": 395, "0.31.0": 396, "0.33.0": 423,
}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index(cache=tmp_path_factory.mktemp("cache"))


def test_the_sweep_over_21_releases_costs_less_than_ten_megabytes(index, tmp_path_factory):
    cache = tmp_path_factory.mktemp("artefacts")
    found = {v: counts("vllm", v, index, cache=cache)["architectures"] for v in VLLM}
    assert found == VLLM
    assert index.client.bytes_in < 10_000_000
    print(f"{index.client.requests} requests, {index.client.bytes_in} bytes")


def test_a_small_release_from_end_to_end(index):
    file = read_release("vllm-bnb-plugin", "0.0.3", index)
    assert not file.stale
    assert [r[0] for r in file.rows["quantization"]] == ["bitsandbytes"]
    assert file.members[0].checked


def test_what_is_shipped_still_follows_from_its_artefact(index, tmp_path):
    store = FactStore(snapshot_path(), tmp_path)
    report = verify_version(store, "lmdeploy", "0.18.0", index)
    assert not report.hash_changed
    assert report.drifted == []
    assert report.same > 300
