"""Laws between a vendor's own figures: a sparse figure, or one of another form factor, breaks one.

The ratios are properties of the architectures (multiply-adds of a tensor core a clock against those
of the FP32 lanes), so they hold whichever document the figures were copied from.
"""

import pytest

from seatrial.hardware import all_gpus, gpu_sources

GPUS = list(all_gpus().values())
TENSOR = [g for g in GPUS if g.vendor == "nvidia" and "fp16" in g.dense_tflops]

# Dense FP16 over FP32 of the lanes. GeForce from Turing on runs FP32 accumulation at half rate.
# Hopper's tensor figures are given at another clock than FP32's: 1830 and 1980 MHz.
FP16_OVER_FP32 = {
    "pascal": (2.0,),
    "volta": (8.0,),
    "turing": (8.0, 4.0),
    "ampere": (16.0, 4.0, 2.0, 8.0, 70 / 31.5),
    "ada": (4.0, 2.0),
    "hopper": (14.8, 13.9, 148 / 44),
    "blackwell": (30.0, 31.25, 4.0, 2.0),
}


@pytest.mark.parametrize(
    "gpu", [g for g in TENSOR if "fp32" in g.dense_tflops], ids=lambda g: g.name
)
def test_half_precision_is_a_known_multiple_of_single(gpu):
    ratio = gpu.dense_tflops["fp16"] / gpu.dense_tflops["fp32"]
    near = min(FP16_OVER_FP32[gpu.architecture], key=lambda r: abs(r - ratio))
    assert ratio == pytest.approx(near, rel=0.02), (gpu.name, ratio)


@pytest.mark.parametrize("gpu", GPUS, ids=lambda g: g.name)
def test_half_the_bits_are_twice_the_rate(gpu):
    flops = gpu.dense_tflops
    assert flops.get("bf16", flops.get("fp16")) == flops.get("fp16", flops.get("bf16"))
    if "tf32" in flops and gpu.vendor == "nvidia":
        # TF32 is half of FP16; GeForce and L40 give it no more than FP32.
        half = flops["fp16"] / flops["tf32"]
        assert half == pytest.approx(2.0, rel=0.02), gpu.name
    if "fp8" in flops and "bf16" in flops and gpu.name != "gaudi3":
        assert flops["fp8"] / flops["bf16"] == pytest.approx(2.0, rel=0.02), gpu.name
    if gpu.name == "gaudi3":  # the matrix engine does FP8 and BF16 at one rate
        assert flops["fp8"] == flops["bf16"]
    if "fp8" in flops and "int8" in flops and gpu.vendor == "nvidia":
        # B300 gave up INT8; GeForce's FP8 with FP32 accumulation is half of its INT8.
        assert flops["int8"] / flops["fp8"] == pytest.approx(
            {"b300": 153.5 / 4500, "rtx-4090": 2.0, "rtx-5090": 2.0}.get(gpu.name, 1.0), rel=0.01
        )
    if "fp4" in flops and "fp8" in flops:
        assert flops["fp4"] / flops["fp8"] == pytest.approx(
            {"b300": 3.0, "rtx-5090": 4.0}.get(gpu.name, 2.0), rel=0.02
        ), gpu.name


@pytest.mark.parametrize("gpu", GPUS, ids=lambda g: g.name)
def test_dtypes_exist_where_the_architecture_has_them(gpu):
    flops, capability = gpu.dense_tflops, gpu.capability
    if capability is None:
        return
    assert ("fp8" in flops) <= (capability >= 89)
    assert ("bf16" in flops) <= (capability >= 80)
    assert ("fp4" in flops) <= (capability >= 100)
    assert ("fp16" in flops) <= (capability not in (61,))


@pytest.mark.parametrize("gpu", GPUS, ids=lambda g: g.name)
def test_the_link_is_that_of_its_generation(gpu):
    both = {"volta": 300, "ampere": 600, "hopper": 900, "blackwell": 1800}
    if gpu.interconnect == "pcie":  # x16 both ways; x8 and x4 where the product has fewer lanes
        assert gpu.link_gb_s in {3: (32,), 4: (64, 32, 16), 5: (128, 64, 32)}[gpu.pcie]
    elif gpu.interconnect == "nvlink":
        assert gpu.link_gb_s <= both.get(gpu.architecture, 300), gpu.name


@pytest.mark.parametrize("gpu", GPUS, ids=lambda g: g.name)
def test_memory_reported_is_less_than_nominal_and_more_than_nine_tenths(gpu):
    if gpu.reported_gib is not None:
        assert 0.9 < gpu.reported_gib / gpu.memory_gb <= 1.0, gpu.name


def test_variants_of_one_chip_agree_where_the_chip_decides():
    table = all_gpus()
    for a, b in (("a100-40gb", "a100-80gb"), ("h100-80gb", "h200"), ("v100-16gb", "v100-32gb")):
        assert table[a].dense_tflops == table[b].dense_tflops
    assert table["a800-80gb"].link_gb_s < table["a100-80gb"].link_gb_s
    assert table["h100-pcie-80gb"].dense_tflops["fp16"] < table["h100-80gb"].dense_tflops["fp16"]
    assert table["h200"].bandwidth_gb_s > table["h100-80gb"].bandwidth_gb_s


@pytest.mark.parametrize("gpu", GPUS, ids=lambda g: g.name)
def test_every_figure_says_what_it_was_compared_with(gpu):
    assert gpu.checked >= "2026-11-30"
    assert set(gpu.read) <= set(gpu.figures)
    assert set(gpu.differs) <= set(gpu.figures)
    for keys in (*gpu.read.values(), *map(list, gpu.differs.values())):
        assert keys
        assert set(keys) <= set(gpu_sources())
    for figure, said in gpu.differs.items():
        assert not set(said) & set(gpu.read.get(figure, [])), (gpu.name, figure)
    assert sorted([*gpu.read, *gpu.unread]) == sorted(gpu.figures)


def test_no_source_is_named_for_nothing():
    used = {k for g in GPUS for group in g.read.values() for k in group}
    used |= {k for g in GPUS for said in g.differs.values() for k in said}
    assert used == set(gpu_sources())


def test_capability_and_memory_are_confirmed_for_every_nvidia_device_of_the_contract():
    for g in GPUS:
        if g.vendor == "nvidia" and not g.name.startswith("h20-"):
            assert {"capability", "memory_gb", "bandwidth_gb_s"} <= set(g.read), g.name
