"""The shipped snapshot and the documented facts, held against what is known of the engines."""

from __future__ import annotations

import time
import zipfile

import msgspec
import pytest

from seatrial.facts import ENGINES, load
from seatrial.facts.factfile import decode
from seatrial.facts.record import PREDICATES, RANK
from seatrial.facts.store import snapshot_path

VLLM_KEYS = {
    "0.8.5": 155, "0.9.2": 178, "0.10.2": 219, "0.11.2": 247, "0.13.0": 257, "0.15.1": 282,
    "0.17.1": 315, "0.19.1": 334, "0.20.2": 355, "0.21.0": 367, "0.22.1": 373, "0.23.0": 376,
    "0.24.0": 370, "0.25.1": 367, "0.26.0": 372, "0.27.1": 377, "0.28.0": 388, "0.29.0": 385,
    "0.30.0": 395, "0.31.0": 396, "0.33.0": 423,
}  # fmt: skip
"""Keys in the registry's tables, counted independently of this extractor."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = load(user=tmp_path_factory.mktemp("none"))
    yield made
    made.close()


def registered(store, engine, version):
    facts = store.engine(engine, version)
    assert facts.exact
    return [
        f
        for f in facts.facts
        if f.predicate == "architecture"
        and f.state == "extracted"
        and f.value in ("native", "fallback")
    ]


def test_small_and_quick(store):
    assert snapshot_path().stat().st_size < 5_000_000
    begin = time.perf_counter()
    loaded = load()
    for engine in ENGINES:
        assert loaded.engine(engine).facts
    assert time.perf_counter() - begin < 2.0  # the figure is the benchmark's; this is a guard


@pytest.mark.parametrize("engine", ENGINES)
def test_newest_and_four_earlier_of_every_engine(store, engine):
    assert len(store.versions(engine)) >= 5


@pytest.mark.parametrize(("version", "count"), VLLM_KEYS.items())
def test_registry_counts_of_vllm(store, version, count):
    assert len(registered(store, "vllm", version)) == count


@pytest.mark.parametrize(("version", "count"), [("0.5.9", 178), ("0.5.15", 225), ("0.5.23", 290)])
def test_registry_counts_of_sglang(store, version, count):
    assert len(registered(store, "sglang", version)) == count


def test_every_record_has_its_source(store):
    with zipfile.ZipFile(snapshot_path()) as archive:
        for name in archive.namelist():
            file = decode(archive.read(name))
            assert file.released, name
            assert file.artefacts, name
            for member in file.members:
                assert 0 <= member.artefact < len(file.artefacts)
                assert member.kind in RANK
                assert member.path, name
            for predicate, rows in file.rows.items():
                assert predicate in PREDICATES, (name, predicate)
                for cells in rows:
                    assert isinstance(cells[0], str)
                    assert cells[0]
                    assert 0 <= cells[2] < len(file.members)


def test_no_fact_was_read_twice(store):
    for engine in store.engines():
        for version in store.versions(engine):
            ids = [f.id for f in store.engine(engine, version).facts]
            assert len(set(ids)) == len(ids), (engine, version)


def test_nothing_of_a_newest_release_is_stale(store):
    for engine in ENGINES:
        assert store.engine(engine).stale == [], engine


GATES = [
    ("vllm", "0.33.0", "awq", 75), ("vllm", "0.33.0", "awq_marlin", 75),
    ("vllm", "0.33.0", "fp8", 75), ("vllm", "0.33.0", "modelopt", 80),
    ("vllm", "0.33.0", "modelopt_fp4", 75), ("vllm", "0.33.0", "mxfp4", 80),
    ("vllm", "0.33.0", "compressed-tensors", 70), ("vllm", "0.33.0", "torchao", 75),
    ("vllm", "0.33.0", "quark", 70),
    ("vllm", "0.20.2", "gptq", 75), ("vllm", "0.20.2", "gptq_marlin", 75),
    ("vllm", "0.20.2", "modelopt", 89), ("vllm", "0.20.2", "bitsandbytes", 70),
    ("vllm", "0.11.2", "awq", 75), ("vllm", "0.11.2", "awq_marlin", 80),
    ("vllm", "0.11.2", "gptq", 60), ("vllm", "0.11.2", "fp8", 80),
    ("vllm", "0.11.2", "modelopt_fp4", 80), ("vllm", "0.11.2", "gguf", 60),
    ("sglang", "0.5.23", "awq", 75), ("sglang", "0.5.23", "awq_marlin", 80),
    ("sglang", "0.5.23", "gptq_marlin", 80), ("sglang", "0.5.23", "fp8", 80),
    ("sglang", "0.5.23", "mxfp8", 100), ("sglang", "0.5.23", "modelopt", 89),
    ("sglang", "0.5.23", "modelopt_fp4", 80), ("sglang", "0.5.23", "mxfp4", 80),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "version", "method", "floor"), GATES)
def test_capability_gates(store, engine, version, method, floor):
    assert store.engine(engine, version).get("min_capability", method).value == floor


READINGS = [
    ("vllm", "0.33.0", None, "LlamaForCausalLM", "native"),
    ("vllm", "0.33.0", None, "MiniMaxText01ForCausalLM", "removed"),
    ("vllm", "0.33.0", None, "MllamaForConditionalGeneration", "removed"),
    ("vllm", "0.33.0", None, "BartForConditionalGeneration", "plugin"),
    ("vllm", "0.33.0", None, "T5ForConditionalGeneration", "absent"),
    ("vllm", "0.33.0", None, "WhisperForConditionalGeneration", "native"),
    ("sglang", "0.5.23", None, "BaichuanForCausalLM", "native"),
    ("sglang", "0.5.23", None, "FalconForCausalLM", "absent"),
    ("sglang", "0.5.23", None, "MllamaForConditionalGeneration", "native"),
    ("lmdeploy", "0.18.0", "turbomind", "MistralForCausalLM", "absent"),
    ("lmdeploy", "0.13.0", "turbomind", "MistralForCausalLM", "native"),
    ("lmdeploy", "0.18.0", "pytorch", "MistralForCausalLM", "native"),
    ("lmdeploy", "0.18.0", "turbomind", "Glm4MoeLiteForCausalLM", "native"),
    ("lmdeploy", "0.18.0", "pytorch", "BaichuanForCausalLM", "removed"),
    ("llama.cpp", "b11549", None, "FalconForCausalLM", "native"),
    ("llama.cpp", "b11549", None, "WhisperForConditionalGeneration", "absent"),
    ("tensorrt-llm", "1.3.0rc29", None, "MiniMaxM2ForCausalLM", "native"),
    ("tgi", "3.3.7", None, "deepseek_v3", "native"),
    ("mlc-llm", "0.20.0", None, "llama4", "native"),
]


@pytest.mark.parametrize(("engine", "version", "layer", "name", "value"), READINGS)
def test_readings_of_architectures(store, engine, version, layer, name, value):
    assert store.engine(engine, version).architecture(name, layer=layer).value == value


TARGETS = [
    ("vllm", "0.33.0", "_C_stable_libtorch", [75, 80, 86, 89, 90, 100, 120]),
    ("vllm", "0.33.0", "_vllm_fa2_C", [80]),
    ("vllm", "0.33.0", "_vllm_fa3_C", [90]),
    ("vllm", "0.20.0", "_C", [75, 80, 86, 89, 90, 100, 120]),
    ("vllm", "0.11.0", "_C", [70, 75, 80, 87, 89, 90, 100, 120]),
    ("vllm-gguf-plugin", "0.0.5", "_C_gguf", [75, 80, 86, 87, 89, 90, 100, 110, 120]),
    ("sglang-kernel", "0.4.10", "flash_ops", [80, 86, 90]),
    ("lmdeploy", "0.18.0", "_turbomind", [70, 75, 80, 86, 89, 90, 100, 120]),
    ("tgi", "3.3.7", "image", [80, 86, 90]),
]


@pytest.mark.parametrize(("engine", "version", "name", "targets"), TARGETS)
def test_cuda_targets_of_released_binaries(store, engine, version, name, targets):
    assert store.engine(engine, version).get("cuda_targets", name).value == targets


def test_an_object_that_compiles_when_it_runs_is_unknown(store):
    fact = store.engine("vllm", "0.33.0").get("cuda_targets", "_C_extension")
    assert (fact.value, fact.state) == (None, "unresolved")


def test_what_left_and_what_came(store):
    assert store.engine("vllm", "0.23.0").value("quantization", "gguf") == "native"
    assert store.engine("vllm", "0.24.0").value("quantization", "gguf") == "plugin"
    assert store.engine("vllm", "0.27.1").value("quantization", "bitsandbytes") == "native"
    assert store.engine("vllm", "0.28.0").value("quantization", "bitsandbytes") == "plugin"
    assert store.engine("sglang", "0.5.15").value("quantization", "gptq") == "native"
    assert store.engine("sglang", "0.5.23").value("quantization", "gptq") == "absent"
    assert store.engine("tensorrt-llm", "1.3.0rc15").get("requires", "tensorrt") is not None
    assert store.engine("tensorrt-llm", "1.3.0rc22").get("requires", "tensorrt") is None
    assert store.engine("tgi").value("maintenance", "tgi") == "maintenance"


def test_surface_of_the_engines(store):
    vllm = store.engine("vllm", "0.33.0")
    for metric in ("vllm:num_requests_running", "vllm:kv_cache_usage_perc"):
        assert vllm.get("metric", metric)
    assert vllm.get("metric", "vllm:gpu_cache_usage_perc") is None
    assert store.engine("vllm", "0.11.2").get("flag", "--shutdown-timeout") is None
    assert vllm.get("flag", "--shutdown-timeout").value == 0
    gate = vllm.get("route", "/v1/load_lora_adapter").condition
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING" in gate
    assert "VLLM_SERVER_DEV_MODE" in vllm.get("route", "/sleep").condition
    assert vllm.get("route", "/v1/chat/completions").condition is None
    assert len(vllm.all("kv_cache_dtype")) == 22
    assert len(vllm.all("kv_connector")) == 17
    for engine in ("vllm", "sglang", "lmdeploy", "llama.cpp", "tgi"):
        assert store.engine(engine).get("route", "/metrics"), engine
    assert store.engine("sglang").get("route", "/ready")
    assert store.engine("llama.cpp").get("metric", "llamacpp:prompt_tokens_cached_total")
    assert store.engine("transformers").get("route", "/metrics") is None


def test_documented_facts_are_well_formed(store):
    for engine in ENGINES:
        for fact in store.engine(engine).facts:
            if fact.state == "documented":
                assert fact.predicate in PREDICATES, fact.id
                assert fact.source.kind in RANK, fact.id
                assert len(fact.source.artefact) > 5, fact.id
                assert fact.verified_on
    for engine in ENGINES:
        for vendor in ("nvidia", "cpu"):
            assert store.engine(engine).get("platform", vendor), (engine, vendor)


def test_the_snapshot_holds_facts_and_no_code():
    with zipfile.ZipFile(snapshot_path()) as archive:
        for name in archive.namelist():
            assert name.endswith(".json")
            file = msgspec.json.decode(archive.read(name), type=dict)
            for rows in file["rows"].values():
                for cells in rows:
                    for cell in cells:
                        if isinstance(cell, str):
                            assert len(cell) < 500, (name, cells[0])
