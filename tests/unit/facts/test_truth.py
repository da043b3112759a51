"""An independent table of architectures by engine, read by people in released artefacts.

Columns: vLLM 0.33.0, SGLang 0.5.23, LMDeploy 0.18.0 TurboMind and PyTorch, llama.cpp's converter,
TensorRT-LLM's index. y: registered, -: not registered, p: only in earlier versions.
"""

from __future__ import annotations

import pytest

from seatrial.facts import load

COLUMNS = (
    ("vllm", "0.33.0", None),
    ("sglang", "0.5.23", None),
    ("lmdeploy", "0.18.0", "turbomind"),
    ("lmdeploy", "0.18.0", "pytorch"),
    ("llama.cpp", "b11549", None),
    ("tensorrt-llm", "1.3.0rc29", None),
)

TABLE = """
LlamaForCausalLM                             y y y y y y
Llama4ForConditionalGeneration               y y - y y y
Qwen3MoeForCausalLM                          y y y y y y
Qwen3NextForCausalLM                         y y - y y y
Qwen3_5MoeForConditionalGeneration           y y y y y y
DeepseekV3ForCausalLM                        y y - y y y
DeepseekV4ForCausalLM                        y y - y y y
GptOssForCausalLM                            y y y y y y
Gemma3ForConditionalGeneration               y y - y y y
Gemma4ForConditionalGeneration               y y - - y y
MambaForCausalLM                             y y - - y -
Phi3ForCausalLM                              y y - y y y
PhiMoEForCausalLM                            y y - y y -
MistralForCausalLM                           y y p y y y
MixtralForCausalLM                           y y y y y y
Glm4MoeForCausalLM                           y y - y y y
Glm4MoeLiteForCausalLM                       y y y y y -
GlmMoeDsaForCausalLM                         y y - y y y
KimiK25ForConditionalGeneration              y y - y y y
KimiLinearForCausalLM                        y y - - y y
MiniMaxM2ForCausalLM                         y y - - y y
MiniMaxM3SparseForConditionalGeneration      y y - - y y
MiniMaxText01ForCausalLM                     p - - - y -
WhisperForConditionalGeneration              y y - - - y
NemotronHForCausalLM                         y y - - y y
T5ForConditionalGeneration                   - - - - y y
BaichuanForCausalLM                          p y p p y -
FalconForCausalLM                            y - - - y -
JambaForCausalLM                             y - - - y -
MllamaForConditionalGeneration               p y - p - y
"""

ANSWERS = {"y": ("native",), "-": ("absent",), "p": ("removed", "absent")}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    made = load(user=tmp_path_factory.mktemp("none"))
    yield made
    made.close()


@pytest.mark.parametrize("line", TABLE.strip().splitlines(), ids=lambda text: text.split()[0])
def test_readings(store, line):
    name, *marks = line.split()
    for (engine, version, layer), mark in zip(COLUMNS, marks, strict=True):
        fact = store.engine(engine, version).architecture(name, layer=layer)
        assert fact.value in ANSWERS[mark], (engine, layer, name)
        # TensorRT-LLM's table was entered by hand: a name outside it is not known to be absent.
        assert fact.state != "unresolved" or engine == "tensorrt-llm"
