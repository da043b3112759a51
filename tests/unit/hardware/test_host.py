import os
from pathlib import Path

from seatrial.hardware import detect
from seatrial.hardware.cgroup import read_limits
from seatrial.hardware.devices import name_in_table, parse_nvidia_smi, parse_rocm_smi


def write(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_this_machine():
    host = detect()
    assert host.cores == os.cpu_count()
    assert 0 < host.usable_cores <= host.cores
    assert 0 < host.usable_memory_bytes <= host.memory_bytes
    assert host.arch


def test_x86_and_arm_cpuinfo(tmp_path):
    write(tmp_path, "proc/cpuinfo", "processor: 0\nmodel name\t: A CPU\nflags\t\t: avx2 fma\n")
    host = detect(root=tmp_path)
    assert host.cpu_name == "A CPU"
    assert host.has_flags("avx2", "fma")
    assert not host.has_flags("amx_tile")
    write(tmp_path, "proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd sve\n")
    assert detect(root=tmp_path).flags == ["asimd", "fp", "sve"]


def test_nothing_there_is_not_an_error(tmp_path):
    host = detect(root=tmp_path)
    assert host.flags == []
    assert host.gpus == []
    assert host.numa_nodes is None
    assert host.limits.version is None


def test_cgroup_v2_takes_the_smallest_on_the_way_down(tmp_path):
    write(tmp_path, "sys/fs/cgroup/cgroup.controllers", "cpu memory")
    write(tmp_path, "proc/self/cgroup", "0::/a/b\n")
    write(tmp_path, "sys/fs/cgroup/a/cpu.max", "150000 100000\n")
    write(tmp_path, "sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
    write(tmp_path, "sys/fs/cgroup/a/memory.max", "max\n")
    write(tmp_path, "sys/fs/cgroup/a/b/memory.max", f"{2 << 30}\n")
    limits = read_limits(tmp_path)
    assert limits.cpus == 1.5
    assert limits.memory_bytes == 2 << 30
    assert limits.version == 2


def test_cgroup_v1_and_its_way_of_saying_no_limit(tmp_path):
    write(tmp_path, "proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/x\n")
    write(tmp_path, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    write(tmp_path, "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n")
    write(tmp_path, "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n")
    write(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    limits = read_limits(tmp_path)
    assert limits.cpus == 0.5
    assert limits.memory_bytes is None


def test_a_cgroup_path_cannot_lead_out(tmp_path):
    write(tmp_path, "sys/fs/cgroup/cgroup.controllers", "cpu")
    write(tmp_path, "proc/self/cgroup", "0::/../../etc\n")
    write(tmp_path, "etc/cpu.max", "1 100000\n")
    assert read_limits(tmp_path).cpus is None


def test_nvidia_smi_lines():
    text = (
        "0, NVIDIA H100 80GB HBM3, 9.0, 81559, GPU-1, 580.65.06\n"
        "garbage\n"
        "1, NVIDIA A100-SXM4-40GB, 8.0, 40960, GPU-2, 580.65.06\n"
    )
    devices, driver = parse_nvidia_smi(text)
    assert [(d.gpu, d.capability) for d in devices] == [("h100-80gb", 90), ("a100-40gb", 80)]
    assert driver == "580.65.06"
    assert parse_nvidia_smi("NVIDIA-SMI has failed") == ([], None)


def test_rocm_smi_json():
    text = (
        '{"card0": {"Card Series": "AMD Instinct MI300X", "VRAM Total Memory (B)": '
        '"206141652992", "Unique ID": "0x1"}, "system": {"Driver version": "6.12"}}'
    )
    devices, driver = parse_rocm_smi(text)
    assert devices[0].gpu == "mi300x"
    assert driver == "6.12"
    assert parse_rocm_smi("not json") == ([], None)
    assert parse_rocm_smi('{"card0": 3}') == ([], None)


def test_product_names():
    def named(product, mib=None):
        return name_in_table(product, mib << 20 if mib else None)

    assert named("Tesla V100-SXM2-32GB", 32768) == "v100-32gb"
    assert named("Tesla V100-SXM2-16GB", 16384) == "v100-16gb"
    assert named("NVIDIA RTX 6000 Ada Generation", 49140) == "rtx-6000-ada"
    assert named("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887) == "rtx-pro-6000"
    assert named("NVIDIA GeForce RTX 4090", 24564) == "rtx-4090"
    assert named("NVIDIA GeForce GT 710", 2048) is None
