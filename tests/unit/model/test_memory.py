"""KV bytes per token against published values, exactly (weights: test_weights.py).

``source`` is where the figure stands; dimensions are those of the published config.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seatrial.model import ModelInfo, memory, read

GIB = 1 << 30
_PLAIN = {"torch_dtype": "bfloat16"}


def _llama(h: int, n: int, a: int, kv: int, i: int, v: int, **more: Any) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": h,
        "num_hidden_layers": n,
        "num_attention_heads": a,
        "num_key_value_heads": kv,
        "intermediate_size": i,
        "vocab_size": v,
        "tie_word_embeddings": False,
        **more,
    }


def _gpt_oss(layers: int, experts: int) -> dict[str, Any]:
    return _llama(
        2880,
        layers,
        64,
        8,
        2880,
        201088,
        model_type="gpt_oss",
        head_dim=64,
        num_local_experts=experts,
        num_experts_per_tok=4,
        sliding_window=128,
        quantization_config={"quant_method": "mxfp4"},
    )


def _deepseek(**more: Any) -> dict[str, Any]:
    base = _llama(
        7168,
        61,
        128,
        128,
        18432,
        129280,
        model_type="deepseek_v3",
        moe_intermediate_size=2048,
        n_routed_experts=256,
        n_shared_experts=1,
        num_experts_per_tok=8,
        first_k_dense_replace=3,
        kv_lora_rank=512,
        q_lora_rank=1536,
        qk_rope_head_dim=64,
        qk_nope_head_dim=128,
        v_head_dim=128,
        topk_method="noaux_tc",
        num_nextn_predict_layers=1,
    )
    return {**base, **more}


def _qwen3_moe(h: int, n: int, a: int, kv: int, width: int, experts: int) -> dict[str, Any]:
    return _llama(
        h,
        n,
        a,
        kv,
        3 * h,
        151936,
        model_type="qwen3_moe",
        head_dim=128,
        moe_intermediate_size=width,
        num_experts=experts,
        num_experts_per_tok=8,
    )


def _delta(layers: int, kv: int, values: int, keys: int, **more: Any) -> dict[str, Any]:
    base = _llama(
        5120,
        layers,
        24,
        kv,
        17408,
        248320,
        head_dim=256,
        full_attention_interval=4,
        linear_num_value_heads=values,
        linear_num_key_heads=keys,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        linear_conv_kernel_dim=4,
    )
    return {**base, "model_type": "qwen3_5_text", **more}


_NEMOTRON = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"

KV_PER_TOKEN: list[tuple[str, dict[str, Any], int, str]] = [
    ("Llama-2-7B (MHA)", _llama(4096, 32, 32, 32, 11008, 32000), 524_288, "gpu_poor remark x2"),
    ("Llama-3.1-8B (GQA)", _llama(4096, 32, 32, 8, 14336, 128256), 131_072, "KAITO tests"),
    (
        "Mistral-7B",
        _llama(4096, 32, 32, 8, 14336, 32768, model_type="mistral"),
        131_072,
        "KAITO generator_test.go",
    ),
    (
        "Mixtral-8x7B",
        _llama(
            4096,
            32,
            32,
            8,
            14336,
            32000,
            model_type="mixtral",
            num_local_experts=8,
            num_experts_per_tok=2,
        ),
        131_072,
        "kvcache-ai test",
    ),
    ("Llama-3.3-70B", _llama(8192, 80, 64, 8, 28672, 128256), 327_680, "ridgepoint output"),
    (
        "Qwen2.5-72B",
        _llama(8192, 80, 64, 8, 29568, 152064, model_type="qwen2"),
        327_680,
        "ridgepoint output",
    ),
    ("Llama-3.1-405B", _llama(16384, 126, 128, 8, 53248, 128256), 516_096, "AIC bundled config"),
    (
        "Mistral-Small-3.2-24B",
        _llama(5120, 40, 32, 8, 32768, 131072, model_type="mistral", head_dim=128),
        163_840,
        "vLLM: 28.20 GiB / 184,832 tokens",
    ),
    (
        "Qwen3-8B",
        _llama(4096, 36, 32, 8, 12288, 151936, model_type="qwen3", head_dim=128),
        147_456,
        "KAITO test",
    ),
    (
        "Qwen3-32B",
        _llama(5120, 64, 64, 8, 25600, 151936, model_type="qwen3", head_dim=128),
        262_144,
        "AIC memory API",
    ),
    ("Qwen3-30B-A3B", _qwen3_moe(2048, 48, 32, 4, 768, 128), 98_304, "KAITO test"),
    ("Qwen3-235B-A22B", _qwen3_moe(4096, 94, 64, 4, 1536, 128), 192_512, "AIC config"),
    (
        "Qwen3-Coder-480B",
        _qwen3_moe(6144, 62, 96, 8, 2560, 160),
        253_952,
        "62.00 GiB for 262,144 tokens",
    ),
    (
        "Qwen2.5-7B",
        _llama(3584, 28, 28, 4, 18944, 152064, model_type="qwen2"),
        57_344,
        "kvcache-ai models.yaml",
    ),
    ("Phi-4", _llama(5120, 40, 40, 10, 17920, 100352, model_type="phi3"), 204_800, "KAITO test"),
    (
        "Falcon-7B (MQA)",
        {
            "model_type": "falcon",
            "hidden_size": 4544,
            "num_hidden_layers": 32,
            "num_attention_heads": 71,
            "multi_query": True,
            "vocab_size": 65024,
        },
        8_192,
        "KAITO test",
    ),
    ("DeepSeek-V3 (MLA)", _deepseek(), 70_272, "KAITO test"),
    (
        "Kimi-K2",
        _deepseek(
            model_type="kimi_k2",
            num_attention_heads=64,
            num_key_value_heads=64,
            n_routed_experts=384,
        ),
        70_272,
        "KAITO test",
    ),
    (
        "DeepSeek-V2-Lite",
        _deepseek(num_hidden_layers=27, num_attention_heads=16, num_key_value_heads=16),
        31_104,
        "BLIS config",
    ),
    (
        "DeepSeek-V3.2 with its indexer",
        _deepseek(index_head_dim=128, index_n_heads=64),
        85_888,
        "kvcache-ai formula",
    ),
    ("gpt-oss-120b, beyond its window", _gpt_oss(36, 128), 36_864, "AIC config"),
    ("gpt-oss-20b, beyond its window", _gpt_oss(24, 32), 24_576, "AIC config"),
    (
        "Gemma-3-27B, beyond its window",
        _llama(
            5376,
            62,
            32,
            16,
            21504,
            262208,
            head_dim=128,
            model_type="gemma3_text",
            sliding_window=1024,
            sliding_window_pattern=6,
        ),
        81_920,
        "10 global layers of 62",
    ),
    (
        "Gemma-3-4B, beyond its window",
        _llama(
            2560,
            34,
            8,
            4,
            10240,
            262208,
            head_dim=256,
            model_type="gemma3_text",
            sliding_window=1024,
            sliding_window_pattern=6,
        ),
        20_480,
        "5 global layers of 34",
    ),
    (
        "Gemma-2-9B, beyond its window",
        _llama(
            3584, 42, 16, 8, 14336, 256000, head_dim=256, model_type="gemma2", sliding_window=4096
        ),
        172_032,
        "half of 344,064",
    ),
    (
        "Gemma-4-26B-A4B, beyond its window",
        _llama(
            2816,
            30,
            16,
            8,
            2112,
            262144,
            head_dim=256,
            model_type="gemma4_text",
            sliding_window=1024,
            global_head_dim=512,
            num_global_key_value_heads=2,
            layer_types=[
                "full_attention" if n % 6 == 5 else "sliding_attention" for n in range(30)
            ],
        ),
        20_480,
        "AIC config",
    ),
    (
        "Qwen3.6-27B (Gated DeltaNet)",
        _delta(64, 4, 48, 16),
        65_536,
        "llama.cpp log: 16,384 MiB at 262,144 cells",
    ),
    ("Qwen3-Next-80B-A3B", _delta(48, 2, 32, 16), 24_576, "12 of 48 layers"),
    (
        "Jamba-v0.1 (Mamba)",
        _llama(
            4096,
            32,
            32,
            8,
            14336,
            65536,
            model_type="jamba",
            attn_layer_period=8,
            attn_layer_offset=4,
            mamba_d_state=16,
            mamba_d_conv=4,
            mamba_expand=2,
        ),
        16_384,
        "Jamba paper: 4 GiB at 256K",
    ),
    (
        "Nemotron-3-Nano-30B (Mamba-2)",
        _llama(
            2688,
            52,
            32,
            2,
            1856,
            131072,
            head_dim=128,
            model_type="nemotron_h",
            hybrid_override_pattern=_NEMOTRON,
            mamba_num_heads=64,
            mamba_head_dim=64,
            ssm_state_size=128,
            n_groups=8,
            conv_kernel=4,
        ),
        6_144,
        "AIC config",
    ),
]


def _model(folder: Path, config: dict[str, Any]) -> ModelInfo:
    (folder / "config.json").write_text(json.dumps({**_PLAIN, **config}))
    return read(folder)


@pytest.mark.parametrize(
    ("name", "config", "want", "source"), KV_PER_TOKEN, ids=[row[0] for row in KV_PER_TOKEN]
)
def test_kv_bytes_of_one_more_token(
    name: str, config: dict[str, Any], want: int, source: str, tmp_path: Path
) -> None:
    model = _model(tmp_path, config)
    assert model.cache_known
    assert memory.kv_bytes_per_token(model, tokens=100_000) == want, (name, source)


def test_one_long_request_of_qwen3_coder_takes_62_gib(tmp_path: Path) -> None:
    model = _model(tmp_path, _qwen3_moe(6144, 62, 96, 8, 2560, 160))
    assert memory.kv_bytes(model, 262_144) / GIB == 62.0


@pytest.mark.parametrize(
    ("name", "config", "constant"),
    [
        ("Gemma-3-27B", KV_PER_TOKEN[22][1], 436_207_616),
        ("Gemma-3-4B", KV_PER_TOKEN[23][1], 121_634_816),
        ("Gemma-4-26B", KV_PER_TOKEN[25][1], 209_715_200),
    ],
)
def test_a_full_window_is_a_constant(
    name: str, config: dict[str, Any], constant: int, tmp_path: Path
) -> None:
    model = _model(tmp_path, config)
    per_token = memory.kv_bytes_per_token(model, tokens=50_000)
    assert memory.kv_bytes(model, 50_000) - 50_000 * per_token == constant, name


@pytest.mark.parametrize(
    ("name", "config", "recurrent"),
    [
        ("Qwen3-Next, 75,497,472 recurrent", KV_PER_TOKEN[27][1], 75_497_472),
        ("Nemotron-3-Nano, 48,234,496 SSM", KV_PER_TOKEN[29][1], 48_234_496),
        ("Jamba-v0.1, 28 layers of 8192 x 16", KV_PER_TOKEN[28][1], 28 * 8192 * 16 * 4),
        ("Qwen3.6-27B, 144 MiB recurrent", KV_PER_TOKEN[26][1], 144 << 20),
    ],
)
def test_recurrent_state_per_sequence(
    name: str, config: dict[str, Any], recurrent: int, tmp_path: Path
) -> None:
    model = _model(tmp_path, config)
    state = sum(g.layers * g.recurrent_elements * 4 for g in model.cache if g.kind == "state")
    assert state == recurrent, name


def test_convolution_state_has_one_column_less_than_its_kernel(tmp_path: Path) -> None:
    """llama.cpp's log of Qwen3.6-27B: 149.625 MiB a sequence, 5.625 of it convolution (fp32)."""
    model = _model(tmp_path, KV_PER_TOKEN[26][1])
    assert memory.state_bytes(model, conv_bytes=4) == int(149.625 * (1 << 20))


def test_kimi_delta_attention_state(tmp_path: Path) -> None:
    """kvcache-ai's test of Kimi-K3: 24 MLA layers of 93, 15,261,696 + 434,110,464 bytes."""
    full = [*(4 * n for n in range(1, 24)), 93]
    config = _deepseek(
        num_hidden_layers=93,
        model_type="kimi_linear",
        linear_attn_config={
            "full_attn_layers": full,
            "num_heads": 96,
            "head_dim": 128,
            "short_conv_kernel_size": 4,
        },
    )
    model = _model(tmp_path, config)
    state = next(g for g in model.cache if g.kind == "state")
    assert state.layers * state.recurrent_elements * 4 == 434_110_464
    assert state.layers * state.conv_elements * 2 == 15_261_696
    assert memory.kv_bytes_per_token(model, tokens=10) == 27_648


@pytest.mark.parametrize(
    ("dtype", "want"), [("fp8", 65_536), ("q8_0", 69_632), ("q4_0", 36_864), ("bf16", 131_072)]
)
def test_cache_types(dtype: str, want: int, tmp_path: Path) -> None:
    model = _model(tmp_path, KV_PER_TOKEN[1][1])
    element = memory.kv_element_bytes(dtype)
    assert element is not None
    assert memory.kv_bytes_per_token(model, element_bytes=element, tokens=2) == want


def test_a_latent_is_kept_whole_on_every_rank_and_heads_are_repeated(tmp_path: Path) -> None:
    latent = _model(tmp_path, _deepseek())
    assert memory.kv_bytes(latent, 1000, tp=8) == memory.kv_bytes(latent, 1000)
    (tmp_path / "b").mkdir()
    grouped = _model(tmp_path / "b", KV_PER_TOKEN[1][1])
    assert memory.kv_bytes(grouped, 1000, tp=8) * 8 == memory.kv_bytes(grouped, 1000)
    assert memory.kv_bytes(grouped, 1000, tp=16) == memory.kv_bytes(grouped, 1000, tp=8)


def test_awq_is_six_bits_over_all_and_not_four(tmp_path: Path) -> None:
    """Qwen3-8B-AWQ: the file has 5.68 GiB, 5.96 bits per weight: embeddings stay in 16 bits."""
    quant = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    model = _model(tmp_path, {**KV_PER_TOKEN[8][1], "quantization_config": quant})
    band = memory.weight_bytes(model)
    assert band is not None
    assert band.best / GIB == pytest.approx(5.68, abs=0.02)


def test_draft_layers_are_loaded_only_on_demand(tmp_path: Path) -> None:
    """DeepSeek-R1 FP8: 641.30 GiB in the repository with its MTP layer; without it less is
    loaded (a tool that prints 624.9 for the repository leaves it out)."""
    quant = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    model = _model(tmp_path, _deepseek(quantization_config=quant))
    without, with_it = memory.weight_bytes(model), memory.weight_bytes(model, draft=True)
    assert without is not None
    assert with_it is not None
    assert with_it.best / GIB == pytest.approx(641.30, rel=0.01)
    assert without.best < with_it.best


def test_state_on_one_rank_is_cut_by_heads_and_by_stages(tmp_path: Path) -> None:
    model = _model(tmp_path, KV_PER_TOKEN[26][1])
    whole = memory.state_bytes(model)
    assert model.recurrent
    assert memory.state_bytes(model, tp=2) == memory.state_bytes(model, pp=2) == whole // 2
    assert memory.state_bytes(model, recurrent_bytes=2) == whole - (72 << 20)
    assert not _model(tmp_path, KV_PER_TOKEN[0][1]).recurrent
