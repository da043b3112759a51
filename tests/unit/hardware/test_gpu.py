import pytest

from seatrial.core.errors import UsageError
from seatrial.hardware import all_gpus, driver_suffices, gpu, link_gb_s, min_driver

NAMED_IN_DESIGN = [
    "v100-32gb",
    "t4",
    "a100-80gb",
    "l4",
    "l40s",
    "rtx-4090",
    "rtx-5090",
    "rtx-6000-ada",
    "h20-141gb",
    "h100-80gb",
    "h200",
    "b200",
    "gb10",
    "jetson-thor",
    "mi300x",
    "mi355x",
    "apple-m4-max",
    "a10",
    "a100-40gb",
    "rtx-3090",
    "gb200",
    "rtx-pro-6000",
    "mi325x",
    "gaudi2",
    "gaudi3",
    "jetson-orin",
]

CAPABILITY = {
    "v100-16gb": 70, "v100-32gb": 70, "t4": 75, "a100-40gb": 80, "a100-80gb": 80, "a10": 86,
    "rtx-3090": 86, "jetson-orin": 87, "l4": 89, "l40s": 89, "rtx-4090": 89, "h100-80gb": 90,
    "h200": 90, "b200": 100, "gb200": 100, "jetson-thor": 110, "rtx-5090": 120,
    "rtx-pro-6000": 120, "gb10": 121,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED_IN_DESIGN)
def test_every_gpu_the_contract_names_is_in_the_table(name):
    assert gpu(name).name == name


@pytest.mark.parametrize(("name", "capability"), CAPABILITY.items())
def test_compute_capability(name, capability):
    assert gpu(name).capability == capability


def test_figures_are_dense_and_consistent():
    for record in all_gpus().values():
        flops = record.dense_tflops
        assert record.source
        assert record.bandwidth_gb_s > 0
        assert record.memory_gb > 0
        if "fp16" in flops and "bf16" in flops and record.vendor != "intel":
            assert flops["fp16"] == flops["bf16"], record.name
        if "fp8" in flops and "fp16" in flops:  # FP8 units do twice FP16, never four times
            assert 1.9 <= flops["fp8"] / flops["fp16"] <= 2.1, record.name
        if record.capability is not None and record.capability < 89:
            assert "fp8" not in flops, record.name
        if record.capability is not None and record.capability < 80:
            assert "bf16" not in flops, record.name


def test_usable_memory_is_what_drivers_report():
    assert gpu("h100-80gb").memory_bytes == int(79.18 * 2**30)
    for record in all_gpus().values():
        assert 0.85 < record.memory_bytes / (record.memory_gb * 2**30) <= 1.0, record.name


def test_spelling_is_forgiven_and_an_unknown_name_gets_a_suggestion():
    assert gpu("RTX 4090").name == "rtx-4090"
    assert gpu("h100").name == "h100-80gb"
    with pytest.raises(UsageError) as caught:
        gpu("h1000-80gb")
    assert "h100-80gb" in caught.value.remedy


def test_links():
    assert link_gb_s("nvlink", gpu("h100-80gb")) == 450
    assert link_gb_s("pcie", gpu("l4")) == 31.5
    with pytest.raises(UsageError):
        link_gb_s("nvlink", gpu("l4"))


@pytest.mark.parametrize(
    ("driver", "cuda", "expected"),
    [
        ("580.65.06", "13.0", True),
        ("575.57.08", "13", False),
        ("525.60.13", 12, True),
        ("525.60.12", "12.8", False),
        ("580.1", "12.4", True),
        ("", "12", None),
        ("580.1", "99", None),
    ],
)
def test_driver_rule(driver, cuda, expected):
    assert driver_suffices(driver, cuda) is expected


def test_min_driver():
    assert min_driver("13.0") == "580.65.06"
    assert min_driver("x") is None


@pytest.mark.parametrize(
    ("driver", "enough"),
    [("580.65", True), ("580", True), ("580.65.06", True), ("580.64", False), ("579", False)],
)
def test_a_driver_is_compared_by_the_parts_that_are_given(driver, enough):
    assert driver_suffices(driver, 13) is enough


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("m1-pro", "apple-m1-pro"),
        ("M5 Max", "apple-m5-max"),
        ("radeon-rx-6750-xt", "rx-6750-xt"),
        ("gtx-1060", "gtx-1060-6gb"),
        ("arc-a580", "arc-a580"),
    ],
)
def test_whole_families_are_known(spelled, name):
    assert gpu(spelled).name == name
