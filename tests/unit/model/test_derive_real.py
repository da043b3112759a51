"""The Hugging Face folder, run by twenty lines of numpy, says what llama.cpp says of the GGUF.

A forgotten or wrong turn of the query and key rows, a wrong rope base or a transposed matrix would
load and run as well; only the numbers show it. The forward pass below follows Hugging Face's
convention (halves of a head rotate against each other), llama.cpp follows its own.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from seatrial.engines import Settings, start
from seatrial.model.derive import derive
from seatrial.quality.ask import Asker
from seatrial.quality.prompts import Prompt
from seatrial.workload.spec import CandidateSpec

pytestmark = pytest.mark.real
Floats = NDArray[np.float32]
TEXT = "The capital of France is"


class Folder:
    """Weights of a safetensors file, one at a time."""

    def __init__(self, path: Path) -> None:
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        (length,) = struct.unpack("<Q", self.data[:8].tobytes())
        self.header = json.loads(self.data[8 : 8 + length].tobytes())
        self.base = 8 + length

    def __getitem__(self, name: str) -> Floats:
        entry = self.header[name]
        start_, end = (self.base + offset for offset in entry["data_offsets"])
        raw = self.data[start_:end].view("<u2").astype(np.uint32) << 16
        return raw.view(np.float32).reshape(entry["shape"])


def rotate(x: Floats, theta: float) -> Floats:
    tokens, _, dim = x.shape
    angle = np.outer(np.arange(tokens), theta ** (-np.arange(0, dim, 2) / dim))
    cos, sin = (np.tile(f(angle), 2)[:, None, :] for f in (np.cos, np.sin))
    half = dim // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return (x * cos + turned * sin).astype(np.float32)


def last_logprobs(folder: Path, ids: list[int]) -> Floats:
    config = json.loads((folder / "config.json").read_bytes())
    weights = Folder(folder / "model.safetensors")
    heads, kv, dim = (config[k] for k in ("num_attention_heads", "num_key_value_heads", "head_dim"))

    def norm(x: Floats, name: str) -> Floats:
        scale = np.sqrt((x * x).mean(-1, keepdims=True) + config["rms_norm_eps"])
        return x / scale * weights[name]

    x = weights["model.embed_tokens.weight"][ids]
    mask = np.triu(np.full((len(ids), len(ids)), -np.inf, dtype=np.float32), 1)
    for n in range(config["num_hidden_layers"]):
        at = f"model.layers.{n}."
        y = norm(x, at + "input_layernorm.weight")
        q, k, v = (
            (y @ weights[f"{at}self_attn.{p}_proj.weight"].T).reshape(len(ids), -1, dim)
            for p in "qkv"
        )
        q, k = rotate(q, config["rope_theta"]), rotate(k, config["rope_theta"])
        k, v = (np.repeat(z, heads // kv, axis=1) for z in (k, v))
        score = np.einsum("ihd,jhd->hij", q, k) / math.sqrt(dim) + mask
        share = np.exp(score - score.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        out = np.einsum("hij,jhd->ihd", share, v).reshape(len(ids), -1)
        x = x + out @ weights[at + "self_attn.o_proj.weight"].T
        y = norm(x, at + "post_attention_layernorm.weight")
        gate = y @ weights[at + "mlp.gate_proj.weight"].T
        up = y @ weights[at + "mlp.up_proj.weight"].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ weights[at + "mlp.down_proj.weight"].T
    logits = norm(x, "model.norm.weight")[-1] @ weights["model.embed_tokens.weight"].T
    return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def test_the_folder_says_what_llama_cpp_says(
    small_model: Path, model_cache: Path, engine_home: Path, tmp_path: Path
):
    folder = derive(small_model, "hf-bf16")
    vocabulary = json.loads((folder / "tokenizer.json").read_bytes())["model"]["vocab"]
    with start(
        CandidateSpec(engine="llama.cpp"),
        artefact=derive(small_model, "BF16"),
        settings=Settings(context_tokens=256, concurrency=1, threads=1),
        log=tmp_path / "engine.log",
    ) as engine:
        ids = engine.tokenize(TEXT)
        with Asker(engine.base_url, engine.model) as asker:
            prompt = Prompt(id="a", route="text", text=TEXT)
            (position,) = asker.positions(prompt, tokens=1, top=10, seed=1)
    mine = last_logprobs(folder, ids)
    for token, theirs in position.top:
        text = bytes.fromhex(token).decode().replace(" ", "\u0120")
        assert mine[vocabulary[text]] == pytest.approx(theirs, abs=0.05), text
    assert int(mine.argmax()) == vocabulary["\u0120Paris"]
