"""Cards that people name: each is in the table, by its usual spellings, with its capability."""

import pytest

from seatrial.hardware import all_gpus, gpu

CAPABILITY = {
    "rtx-2060": 75, "rtx-2080": 75, "quadro-rtx-8000": 75, "titan-rtx": 75, "titan-v": 70,
    "p4": 61, "tesla-k80": 37, "a2": 86, "a16": 86, "a30": 80, "rtx-a4000": 86, "rtx-a5000": 86,
    "rtx-3060": 86, "rtx-3070": 86, "rtx-3080": 86, "rtx-3080-ti": 86, "rtx-4060": 89,
    "rtx-4070-ti-super": 89, "rtx-4080-super": 89, "rtx-4000-ada": 89, "l20": 89,
    "rtx-5060-ti-16gb": 120, "rtx-5070-ti": 120, "rtx-5080": 120, "rtx-pro-5000": 120,
    "jetson-orin-nano-8gb": 87,
}  # fmt: skip


@pytest.mark.parametrize(("name", "capability"), CAPABILITY.items())
def test_capability(name, capability):
    assert gpu(name).capability == capability


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("NVIDIA GeForce RTX 3080", "rtx-3080"),
        ("geforce-rtx-5080", "rtx-5080"),
        ("Tesla P40", "p40"),
        ("AMD Radeon RX 9070 XT", "rx-9070-xt"),
        ("mi50", "mi50-16gb"),
        ("rtx-4060-ti", "rtx-4060-ti-8gb"),
    ],
)
def test_spellings(spelled, name):
    assert gpu(spelled).name == name


def test_chips_of_one_generation_agree():
    """A capability belongs to a generation; AMD chips have a target and no capability."""
    by = {"turing": {75}, "ada": {89}, "hopper": {90}}
    for record in all_gpus().values():
        if record.architecture in by:
            assert record.capability in by[record.architecture], record.name
        if record.vendor == "amd":
            assert record.capability is None
            assert record.gfx is not None, record.name
