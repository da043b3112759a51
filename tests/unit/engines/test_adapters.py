"""Launch lines, constraints, read-back and log signatures of every adapter."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from seatrial.core.errors import UsageError
from seatrial.engines import ADAPTERS, Environment, LoraAdapter, Settings, adapter
from seatrial.engines.adapter import argv_of, merged, tokens_of
from seatrial.engines.effective import KEYS, normalise, template_sha256
from seatrial.engines.signatures import scan
from seatrial.engines.vllm import Vllm
from seatrial.workload.spec import CandidateSpec

STARTED = sorted(set(ADAPTERS) - {"endpoint"})
FULL = Settings(
    context_tokens=4096,
    concurrency=8,
    tp=2,
    kv_cache_dtype="fp8",
    prefix_cache=False,
    dtype="bfloat16",
    seed=7,
    max_lora_adapters=2,
    lora=[LoraAdapter(name="a", path="/adapters/a")],
)
EXPECTED = {
    "llama.cpp": ["--ctx-size 32768", "--parallel 8", "--cache-type-k fp8", "--no-cache-prompt"],
    "vllm": [
        "serve /m --host 127.0.0.1 --port 1",
        "--max-model-len 4096",
        "--max-num-seqs 8",
        "--tensor-parallel-size 2",
        "--no-enable-prefix-caching",
        "--enable-prompt-tokens-details",
        "--lora-modules a=/adapters/a",
        "--max-loras 2",
    ],
    "sglang": [
        "serve --model-path /m",
        "--context-length 4096",
        "--max-running-requests 8",
        "--tp-size 2",
        "--disable-radix-cache",
        "--enable-metrics",
        "--random-seed 7",
        "--lora-paths a=/adapters/a",
    ],
    "tensorrt-llm": [
        "/m --host 127.0.0.1",
        "--max_seq_len 4096",
        "--max_batch_size 8",
        "--tp_size 2",
        "--extra_llm_api_options @scratch@/llm-options.yaml",
    ],
    "lmdeploy": [
        "serve api_server /m --server-name 127.0.0.1 --server-port 1",
        "--session-len 4096",
        "--max-batch-size 8",
        "--tp 2",
        "--adapters a=/adapters/a",
    ],
    "tgi": ["--model-id /m", "--max-total-tokens 4096", "--num-shard 2", "--kv-cache-dtype fp8"],
    "ollama": ["serve"],
    "mlc-llm": [
        "serve /m",
        "--mode server",
        "--prefix-cache-mode disable",
        "context_window_size=4096;max_num_sequence=8;tensor_parallel_shards=2",
    ],
    "transformers": ["serve /m --host 127.0.0.1", "--continuous-batching", "--dtype bfloat16"],
}


def _line(name: str, settings: Settings, **args: object) -> tuple[str, dict[str, str]]:
    one = adapter(name)
    candidate = CandidateSpec(engine=name, args=args)  # type: ignore[arg-type]
    place = Environment(engine=name, version="", kind="binary", program=f"/bin/{name}")
    flags = one.flags(candidate, Path("/m"), settings)
    launch = one.launch(place, Path("/m"), flags, "127.0.0.1", 1)
    return " ".join(launch.argv), launch.own_env


@pytest.mark.parametrize("name", STARTED)
def test_neutral_settings_become_the_engines_own_flags(name: str) -> None:
    line, _ = _line(name, FULL)
    missing = [part for part in EXPECTED[name] if part not in line]
    assert missing == [], line


@pytest.mark.parametrize("name", STARTED)
def test_what_nobody_asked_for_is_left_to_the_engine(name: str) -> None:
    line, env = _line(name, Settings())
    assert "None" not in line
    assert "None" not in env.values()


def test_a_candidates_own_args_win_in_any_spelling() -> None:
    line, _ = _line("vllm", FULL, **{"max-num-seqs": 3, "enforce_eager": True})
    assert "--max-num-seqs 3" in line
    assert "--max-num-seqs 8" not in line
    assert "--enforce-eager" in line


def test_ollama_is_told_by_variables() -> None:
    _, env = _line("ollama", FULL)
    assert env["OLLAMA_HOST"] == "127.0.0.1:1"
    assert env["OLLAMA_CONTEXT_LENGTH"] == "4096"
    assert env["OLLAMA_NUM_PARALLEL"] == "8"


def test_tensorrt_llm_gets_an_options_file() -> None:
    one = adapter("tensorrt-llm")
    flags = one.flags(CandidateSpec(engine="tensorrt-llm"), Path("/m"), FULL)
    place = Environment(engine=one.name, version="", kind="binary", program="trtllm-serve")
    text = one.launch(place, Path("/m"), flags, "127.0.0.1", 1).files["llm-options.yaml"]
    assert "guided_decoding_backend: xgrammar" in text
    assert "enable_block_reuse: false" in text
    assert "extra.dtype" not in one.flag_names(flags)


def test_an_unknown_flag_is_refused_before_the_start_with_the_nearest_one() -> None:
    place = Environment(engine="llama.cpp", version="11549", kind="venv", program="/x/bin/python")
    with pytest.raises(UsageError, match="'cache_type_q'; the nearest is 'cache_type_[kv]'"):
        adapter("llama.cpp").check_flags(place, {"cache_type_q": "f16"})
    adapter("llama.cpp").check_flags(place, {"no_warmup": True, "ctx-size": 1})


def test_flags_as_arguments() -> None:
    flags = {"a_b": 1, "on": True, "off": False, "gone": None, "l": [1, "x"], "d": {"k": 1}}
    assert argv_of(flags) == [
        *("--a-b", "1", "--on", "--no-off", "--l", "1", "x", "--d", '{"k":1}'),
    ]
    assert merged({"a": None, "b": 1}, {"--b-c": 2}) == {"b": 1, "b_c": 2}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"tokens": [1, 2]}, [1, 2]),
        ({"input_ids": [3]}, [3]),
        ([{"id": 4, "text": "x"}], [4]),
        ({"tokens": ["a"]}, None),
        ({"error": "no"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_token_ids_in_every_engines_shape(answer: object, expected: list[int] | None) -> None:
    assert tokens_of(answer) == expected


CONSTRAINTS = {
    ("llama.cpp", "grammar"): {"grammar": "g"},
    ("vllm", "regex"): {"structured_outputs": {"regex": "g"}},
    ("vllm", "choice"): {"structured_outputs": {"choice": "g"}},
    ("sglang", "grammar"): {"ebnf": "g"},
    ("lmdeploy", "regex"): {"response_format": {"type": "regex_schema", "regex_schema": "g"}},
    ("tgi", "regex"): {"response_format": {"type": "regex", "value": "g"}},
    ("transformers", "json_schema"): None,
    ("llama.cpp", "regex"): None,
}


@pytest.mark.parametrize(("name", "kind"), CONSTRAINTS)
def test_constraints_in_the_engines_own_words(name: str, kind: str) -> None:
    assert adapter(name).constraint(kind, "g") == CONSTRAINTS[name, kind]


LINES = [
    ("vllm", "Using FLASH_ATTN attention backend out of potential backends: [...]", True),
    ("vllm", "GPU does not have native support for FP8 computation but ... Weight-only", False),
    ("vllm", "Llama has no vLLM implementation, falling back to Transformers implement", False),
    ("sglang", "Compute capability below sm80. Use float16 due to lack of bfloat16", False),
    ("sglang", "ServerArgs(attention_backend='fa3', x=1)", True),
    ("lmdeploy", "Fallback to pytorch engine because `m` not supported by turbomind", False),
    ("llama.cpp", "resolve_fused_ops: Flash Attention enabled", True),
    ("llama.cpp", "layer 3 is assigned to device CPU but the Flash Attention tensor", False),
    ("tgi", "GPU does not support FP8, using Marlin FP8 kernel", False),
]


@pytest.mark.parametrize(("name", "line", "optimised"), LINES)
def test_a_telling_line_is_noticed(name: str, line: str, optimised: bool) -> None:
    found = scan(f"noise\nINFO 11-30 {line}\nnoise", adapter(name).signatures)
    assert [m.optimised for m in found] == [optimised]


def test_a_grammar_switched_off_is_a_failure() -> None:
    text = "WARNING Falling back to grammar_backend='none' because ...\n" * 3
    found = scan(text, adapter("sglang").signatures)
    assert [(m.level, m.count) for m in found] == [("failure", 3)]


def test_groups_of_a_line_fill_its_meaning_and_long_lines_are_cut() -> None:
    text = "load_tensors: offloaded 12/31 layers to GPU" + "x" * 10_000
    found = scan(text, adapter("llama.cpp").signatures)
    assert found[0].says == "12 of 31 layers are on the GPU"
    assert len(found[0].line) <= 2000


VLLM_LOG = """
(EngineCore pid=9) INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: \
model='/m', dtype=torch.bfloat16, max_seq_len=1024, tensor_parallel_size=1, quantization=None, \
enforce_eager=True, kv_cache_dtype=auto, device_config=cpu, \
structured_outputs_config=StructuredOutputsConfig(backend='auto', x=1), \
enable_prefix_caching=True, enable_chunked_prefill=True, pooler_config=None
(Worker pid=9) INFO [default_loader.py:501] Loading weights took 1.16 seconds
(EngineCore pid=9) INFO [kv.py:1] CPU KV cache size: 46,592 tokens, Maximum concurrency
(EngineCore pid=9) INFO init engine (profile, create kv cache, warmup model) took 3.08 s
"""


def test_vllm_is_read_back_from_its_log() -> None:
    found = Vllm().effective("http://127.0.0.1:9", VLLM_LOG)
    assert found["kv_capacity_tokens"] == 46592
    assert found["dtype"] == "torch.bfloat16"
    assert found["prefix_cache"] is True
    assert found["weights"] is None
    assert found["structured_output_backend"] == "auto"
    assert found["backend"] == "cpu"
    assert Vllm().cold_start(VLLM_LOG) == {"weights": 1.16, "warmup": 3.08}


LLAMA_LOG = """0.00.010.444 I srv    load_model: loading model '/m'
0.00.738.639 I llama_kv_cache: size = 45 MiB ( 1024 cells), K (f16): 22.5 MiB, V (q8_0): 22.5 MiB
0.00.749.151 I cmn  common_init_: warming up the model with an empty run - please wait ...
1.02.850.520 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 1024
"""


def test_llama_cpp_tells_phases_on_its_own_clock() -> None:
    split = adapter("llama.cpp").cold_start(LLAMA_LOG)
    assert split["weights"] == pytest.approx(0.738707)
    assert split["warmup"] == pytest.approx(62.850520 - 0.749151)
    assert adapter("llama.cpp").cold_start("") == {}
    assert (
        adapter("llama.cpp").effective("http://127.0.0.1:9", LLAMA_LOG)["kv_cache_dtype"]
        == "f16/q8_0"
    )


def test_effective_settings_stand_side_by_side_and_hold_no_secret() -> None:
    env = {"HF_TOKEN": "hf_abc", "OMP_NUM_THREADS": "1"}
    flags = {"api_key": "hf_abc", "max_num_batched_tokens": 8}
    rows = [normalise({"slots": 4, "odd": 1}, flags, env), normalise({}, {}, {})]
    assert rows[0]["flags"] == {"api_key": "(set)", "max_num_batched_tokens": 8}
    assert all(list(row)[: len(KEYS)] == list(KEYS) for row in rows)
    assert rows[0]["env"] == {"HF_TOKEN": "(set)", "OMP_NUM_THREADS": "1"}
    assert "hf_abc" not in json.dumps(rows)


def test_two_engines_with_the_same_weights_say_the_same() -> None:
    gguf = normalise({"weights": "BF16", "kv_cache_dtype": "bf16"}, {}, {})
    folder = normalise({"dtype": "torch.bfloat16", "kv_cache_dtype": "auto"}, {}, {})
    assert gguf["weights"] == folder["weights"] == "bf16"
    assert gguf["kv_cache_dtype"] == folder["kv_cache_dtype"] == "bf16"
    assert normalise({"weights": "awq", "dtype": "half"}, {}, {})["weights"] == "awq"


def test_the_template_of_a_folder_is_hashed(tmp_path: Path) -> None:
    assert template_sha256(tmp_path) is None
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "x"}')
    from_config = template_sha256(tmp_path)
    assert from_config == hashlib.sha256(b"x").hexdigest()
    (tmp_path / "chat_template.jinja").write_text("y")
    assert template_sha256(tmp_path) == hashlib.sha256(b"y").hexdigest()
    (tmp_path / "chat_template.jinja").unlink()
    (tmp_path / "tokenizer_config.json").write_text("{")
    assert template_sha256(tmp_path) is None
