"""Deriving a model: types, bytes, names, values; and what happens to bad sources."""

from __future__ import annotations

import contextlib
import json
import resource
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, GGUFWriter
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize, quantize
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.errors import IntegrityError, PrerequisiteError, SeatrialError, UsageError
from seatrial.core.ids import sha256_file
from seatrial.model import derive as derivations
from seatrial.model.derive_hf import shortest, unpermute
from seatrial.model.derive_source import open_source
from seatrial.model.weights_identity import weights_sha256

HIDDEN, HEADS, KV_HEADS, FFN, LAYERS, VOCAB = 64, 4, 2, 256, 2, 40
HEAD_DIM = HIDDEN // HEADS


def write_llama(
    path: Path, *, arch: str = "llama", pre: str = "smollm", norms: float | None = None
) -> Path:
    """A llama of 2 layers with random weights: Q4_1 matrices, Q8_0 embedding, F32 norms."""
    rng = np.random.default_rng(7)
    writer = GGUFWriter(path, arch)
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(100000.0)
    writer.add_file_type(3)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    letters = [chr(ord("!") + i) for i in range(VOCAB - 3)]
    writer.add_token_list(["<|end|>", *letters, '!"', "<tool>"])
    writer.add_token_types([3, *[1] * (VOCAB - 2), 4])
    writer.add_token_merges(['! "', "# $"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_chat_template("{{ messages }}")
    shapes = {"token_embd.weight": (VOCAB, HIDDEN), "output_norm.weight": (HIDDEN,)}
    for n in range(LAYERS):
        shapes |= {
            f"blk.{n}.attn_norm.weight": (HIDDEN,),
            f"blk.{n}.ffn_norm.weight": (HIDDEN,),
            f"blk.{n}.attn_q.weight": (HIDDEN, HIDDEN),
            f"blk.{n}.attn_k.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{n}.attn_v.weight": (KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{n}.attn_output.weight": (HIDDEN, HIDDEN),
            f"blk.{n}.ffn_gate.weight": (FFN, HIDDEN),
            f"blk.{n}.ffn_up.weight": (FFN, HIDDEN),
            f"blk.{n}.ffn_down.weight": (HIDDEN, FFN),
        }
    for name, shape in shapes.items():
        values = rng.normal(0, 0.1, shape).astype(np.float32)
        if len(shape) == 1:
            if norms is not None:
                values = np.full(shape, norms, dtype=np.float32)
            writer.add_tensor(name, values)
            continue
        kind = "Q8_0" if name.startswith("token_embd") else "Q4_1"
        packed = quantize(values, GGMLQuantizationType[kind])
        writer.add_tensor(name, packed, raw_dtype=GGMLQuantizationType[kind])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def llama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "cache"))
    return write_llama(tmp_path / "tiny.Q4_1.gguf")


def tensors_of(path: Path) -> dict[str, Any]:
    return {t.name: t for t in GGUFReader(path).tensors}


@pytest.mark.parametrize("target", ["F16", "BF16", "Q8_0", "Q4_0"])
def test_every_tensor_is_the_source_dequantised_and_quantised_again(llama: Path, target: str):
    out = derivations.derive(llama, target)
    before, after = tensors_of(llama), tensors_of(out)
    assert list(before) == list(after)
    for name, tensor in before.items():
        values = dequantize(tensor.data, tensor.tensor_type)
        kind = after[name].tensor_type
        expected = quantize(np.asarray(values, dtype=np.float32), kind)
        got = np.asarray(after[name].data)
        assert got.tobytes() == np.asarray(expected).tobytes(), name


@pytest.mark.parametrize(
    ("target", "matrix", "embedding"),
    [
        ("F16", "F16", "F16"),
        ("BF16", "BF16", "BF16"),
        ("Q8_0", "Q8_0", "Q8_0"),
        ("Q4_0", "Q4_0", "Q8_0"),  # tied embeddings stay finer, as llama-quantize keeps them
    ],
)
def test_types_follow_llama_quantize(llama: Path, target: str, matrix: str, embedding: str):
    after = tensors_of(derivations.derive(llama, target))
    assert after["blk.0.ffn_down.weight"].tensor_type.name == matrix
    assert after["token_embd.weight"].tensor_type.name == embedding
    assert after["blk.1.attn_norm.weight"].tensor_type.name == "F32"


def test_metadata_is_copied_byte_for_byte_but_for_the_file_type(llama: Path):
    out = derivations.derive(llama, "Q8_0")
    before, after = open_source(llama), open_source(out)
    own = {"general.file_type", "general.quantization_version"}
    assert set(before.entries) | own == set(after.entries)
    for key, entry in before.entries.items():
        if key not in own:
            assert before.raw(entry) == after.raw(after.entries[key])
    assert after.value("general.file_type") == 7


def test_the_record_states_the_loss_and_the_second_call_makes_nothing(llama: Path):
    out = derivations.derive(llama, "F16")
    record = derivations.derivation(out)
    assert 0 < record.loss.relative_rms < 2**-11  # float16 keeps 11 bits
    assert "not from the original weights" in record.says
    stamp = out.stat().st_mtime_ns
    assert derivations.derive(llama, "F16") == out
    assert out.stat().st_mtime_ns == stamp
    assert list(out.parent.parent.glob(".*")) == []


def test_a_source_that_has_the_types_already_is_returned(llama: Path):
    assert derivations.derive(llama, "Q4_1") == llama


def test_unpermute_puts_each_row_where_the_formula_says():
    rows = np.arange(2 * 8, dtype=np.float32).reshape(16, 1)
    turned = unpermute(rows, head_dim=8)
    for head in range(2):
        for i in range(4):
            for j in range(2):
                assert turned[head * 8 + j * 4 + i, 0] == rows[head * 8 + 2 * i + j, 0]


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__")
    found = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        raw = np.frombuffer(data[8 + length + start : 8 + length + end], dtype="<u2")
        values = (raw.astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(entry["shape"])
    return found


def test_the_hugging_face_folder_holds_the_same_weights(llama: Path):
    folder = derivations.derive(llama, "hf-bf16")
    found, before = read_safetensors(folder / "model.safetensors"), tensors_of(llama)
    assert len(found) == len(before)
    plain = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.layers.1.mlp.down_proj.weight": "blk.1.ffn_down.weight",
        "model.layers.0.self_attn.v_proj.weight": "blk.0.attn_v.weight",
        "model.layers.1.input_layernorm.weight": "blk.1.attn_norm.weight",
    }
    for mine, theirs in plain.items():
        values = dequantize(before[theirs].data, before[theirs].tensor_type)
        np.testing.assert_allclose(found[mine], values, rtol=2**-8)
    query = before["blk.0.attn_q.weight"]
    values = dequantize(query.data, query.tensor_type)
    order = [
        head * HEAD_DIM + 2 * i + j
        for head in range(HEADS)
        for j in range(2)
        for i in range(HEAD_DIM // 2)
    ]
    np.testing.assert_allclose(
        found["model.layers.0.self_attn.q_proj.weight"], values[order], rtol=2**-8
    )


def test_config_and_tokenizer_say_what_the_gguf_says(llama: Path):
    folder = derivations.derive(llama, "hf-bf16")
    config = json.loads((folder / "config.json").read_bytes())
    assert config["rms_norm_eps"] == 1e-5
    assert config["rope_theta"] == 100000.0
    assert config["num_key_value_heads"] == KV_HEADS
    assert config["tie_word_embeddings"] is True
    assert config["vocab_size"] == VOCAB
    tokenizer = json.loads((folder / "tokenizer.json").read_bytes())
    assert tokenizer["model"]["vocab"]['!"'] == VOCAB - 2
    assert tokenizer["model"]["merges"] == [["!", '"'], ["#", "$"]]
    special = {t["content"]: t["special"] for t in tokenizer["added_tokens"]}
    assert special == {"<|end|>": True, "<tool>": False}
    settings_ = json.loads((folder / "tokenizer_config.json").read_bytes())
    assert settings_["eos_token"] == "<|end|>"
    assert settings_["chat_template"] == "{{ messages }}"


def test_shortest_decimal():
    assert shortest(9.999999747378752e-06) == 1e-05


@pytest.mark.parametrize(("arch", "pre"), [("qwen2", "smollm"), ("llama", "tekken")])
def test_what_has_no_exact_counterpart_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: str, pre: str
):
    monkeypatch.setenv("SEATRIAL_CACHE", str(tmp_path / "cache"))
    path = write_llama(tmp_path / "other.gguf", arch=arch, pre=pre)
    with pytest.raises(UsageError):
        derivations.derive(path, "hf-bf16")
    assert not list((tmp_path / "cache").rglob("*.safetensors"))


def test_unknown_target_and_missing_file(llama: Path):
    with pytest.raises(UsageError, match="Q3_K"):
        derivations.derive(llama, "Q3_K")
    with pytest.raises(UsageError, match="there is no model file"):
        derivations.derive(llama.with_name("gone.gguf"), "F16")
    text = llama.with_name("text.gguf")
    text.write_bytes(b"hello")
    with pytest.raises(UsageError, match="not a GGUF"):
        derivations.derive(text, "F16")


@pytest.mark.parametrize("share", [0.0001, 0.01, 0.2, 0.5, 0.999])
def test_a_file_cut_short_is_an_integrity_error_that_says_where(llama: Path, share: float):
    data = llama.read_bytes()
    cut = llama.with_name("cut.gguf")
    cut.write_bytes(data[: max(8, int(len(data) * share))])
    with pytest.raises(IntegrityError, match="cut short") as caught:
        derivations.derive(cut, "F16")
    assert caught.value.where == str(cut)
    assert caught.value.remedy


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.integers(0, 2500), value=st.integers(0, 255))
def test_a_damaged_header_never_escapes_as_another_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, value: int
):
    base = tmp_path_factory.getbasetemp() / "fuzz-source.gguf"
    if not base.exists():
        write_llama(base)
    data = bytearray(base.read_bytes())
    data[place] = value
    hurt = base.with_name("fuzz-hurt.gguf")
    hurt.write_bytes(data)
    with contextlib.suppress(SeatrialError):
        source = open_source(hurt)
        for key in source.entries:
            source.value(key)


def test_a_damaged_cache_is_not_used(llama: Path):
    out = derivations.derive(llama, "F16")
    out.write_bytes(out.read_bytes()[:-10])
    with pytest.raises(IntegrityError, match="cache"):
        derivations.derive(llama, "F16")


CHILD = """
import sys
from pathlib import Path
from seatrial.model.derive import derive
derive(Path(sys.argv[1]), "F16")
"""


def test_a_kill_before_the_end_leaves_nothing_that_is_taken_for_whole(llama: Path, tmp_path: Path):
    env = {"SEATRIAL_CACHE": str(tmp_path / "cache"), "SEATRIAL_CRASH_AT": "before-folder-rename"}
    done = subprocess.run([sys.executable, "-c", CHILD, str(llama)], env=env, check=False)
    assert done.returncode == -9
    models = tmp_path / "cache" / "models"
    assert [p.name for p in models.iterdir() if not p.name.startswith(".")] == []
    out = derivations.derive(llama, "F16")
    assert out.is_file()
    assert [p.name for p in models.iterdir() if p.name.startswith(".")] == []


def test_a_full_disk_is_said_and_leaves_nothing(llama: Path, tmp_path: Path):
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(PrerequisiteError, match="file-size limit"):
            derivations.derive(llama, "F16")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def identity(path: Path) -> str | None:
    weights = path / "model.safetensors" if path.is_dir() else path
    return weights_sha256(path, sha256_file(weights))


def test_the_same_weights_in_two_formats_have_one_identity(tmp_path: Path) -> None:
    source = write_llama(tmp_path / "m.gguf")
    one = identity(derivations.derive(source, "BF16"))
    assert one is not None
    assert identity(derivations.derive(source, derivations.HF_TARGET)) != identity(source)
    # norms are F32 in a GGUF and bf16 in the folder: equal once they are values of bf16
    rounded = write_llama(tmp_path / "r.gguf", norms=np.float16(0.5))
    pair = [derivations.derive(rounded, t) for t in ("BF16", derivations.HF_TARGET)]
    assert identity(pair[0]) == identity(pair[1])
    assert len({one, identity(derivations.derive(source, "F16")), identity(source)}) == 3


def test_an_identity_is_kept_and_unreadable_weights_have_none(tmp_path: Path) -> None:
    source = write_llama(tmp_path / "m.gguf")
    sha256 = sha256_file(source)
    first = weights_sha256(source, sha256)
    source.unlink()
    assert weights_sha256(source, sha256) == first  # from the cache, by the artefact's hash
    assert identity(write_llama(tmp_path / "q.gguf", arch="qwen3")) is None
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + b"\xff" * 64)
    assert identity(tmp_path / "broken.gguf") is None
    folder = derivations.derive(write_llama(tmp_path / "m.gguf"), derivations.HF_TARGET)
    cut = tmp_path / "cut"
    cut.mkdir()
    data = (folder / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(data[:-64])
    assert identity(cut) is None
