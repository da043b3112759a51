"""One model family under two names: GGUF's ``general.architecture`` and transformers' class.

Only what the gate needs to compare one model in two formats. Source: llama.cpp
src/llama-arch.cpp (LLM_ARCH_NAMES) and conversion/__init__.py (TEXT_MODEL_MAP).
"""

from __future__ import annotations

HF_TO_GGUF: dict[str, str] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
    "MixtralForCausalLM": "llama",
    "Llama4ForConditionalGeneration": "llama4",
    "Llama4ForCausalLM": "llama4",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2MoeForCausalLM": "qwen2moe",
    "Qwen2VLForConditionalGeneration": "qwen2vl",
    "Qwen2_5_VLForConditionalGeneration": "qwen2vl",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3moe",
    "Qwen3NextForCausalLM": "qwen3next",
    "Qwen3VLForConditionalGeneration": "qwen3vl",
    "Qwen3VLMoeForConditionalGeneration": "qwen3vlmoe",
    "Qwen3_5ForConditionalGeneration": "qwen35",
    "Qwen3_5MoeForConditionalGeneration": "qwen35moe",
    "GemmaForCausalLM": "gemma",
    "Gemma2ForCausalLM": "gemma2",
    "Gemma3ForCausalLM": "gemma3",
    "Gemma3ForConditionalGeneration": "gemma3",
    "Gemma3nForConditionalGeneration": "gemma3n",
    "Gemma4ForConditionalGeneration": "gemma4",
    "PhiForCausalLM": "phi2",
    "Phi3ForCausalLM": "phi3",
    "PhiMoEForCausalLM": "phimoe",
    "DeepseekV2ForCausalLM": "deepseek2",
    "DeepseekV3ForCausalLM": "deepseek2",
    "GptOssForCausalLM": "gpt-oss",
    "FalconForCausalLM": "falcon",
    "FalconH1ForCausalLM": "falcon-h1",
    "GPT2LMHeadModel": "gpt2",
    "GPTBigCodeForCausalLM": "starcoder",
    "Starcoder2ForCausalLM": "starcoder2",
    "StableLmForCausalLM": "stablelm",
    "CohereForCausalLM": "command-r",
    "Cohere2ForCausalLM": "cohere2",
    "Glm4ForCausalLM": "glm4",
    "Glm4MoeForCausalLM": "glm4moe",
    "GraniteForCausalLM": "granite",
    "GraniteMoeForCausalLM": "granitemoe",
    "GraniteMoeHybridForCausalLM": "granitehybrid",
    "JambaForCausalLM": "jamba",
    "MambaForCausalLM": "mamba",
    "Mamba2ForCausalLM": "mamba2",
    "NemotronForCausalLM": "nemotron",
    "NemotronHForCausalLM": "nemotron_h",
    "OlmoForCausalLM": "olmo",
    "Olmo2ForCausalLM": "olmo2",
    "Exaone4ForCausalLM": "exaone4",
    "InternLM2ForCausalLM": "internlm2",
    "MiniCPMForCausalLM": "minicpm",
    "BloomForCausalLM": "bloom",
    "MPTForCausalLM": "mpt",
    "BertModel": "bert",
    "XLMRobertaForSequenceClassification": "bert",
    "XLMRobertaModel": "bert",
    "KimiLinearForCausalLM": "kimi-linear",
    "MiniMaxM2ForCausalLM": "minimax-m2",
    "SmolLM3ForCausalLM": "smollm3",
}

GGUF_TO_HF: dict[str, str] = {}
for _hf, _gguf in HF_TO_GGUF.items():
    GGUF_TO_HF.setdefault(_gguf, _hf)


def hf_name(architecture: str | None) -> str | None:
    """The transformers class of either name; the name itself if it is not in the table."""
    if architecture is None:
        return None
    return GGUF_TO_HF.get(architecture, architecture)


def gguf_name(architecture: str | None) -> str | None:
    """GGUF's name of either name; null if a transformers class is not in the table."""
    if architecture is None or architecture in GGUF_TO_HF:
        return architecture
    known = HF_TO_GGUF.get(architecture)
    return known or (architecture if architecture.islower() else None)
