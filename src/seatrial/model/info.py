"""What a model's own files say of it: shapes, attention, experts, quantisation, sizes.

Read from config.json, safetensors headers or a GGUF header; never from a repository's name.
Sizes are bytes, dimensions are elements. A value the files do not give is null, never 0.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Format = Literal[
    "safetensors", "gguf", "pytorch", "tensorrt-engine", "mlc", "mlx", "config", "unknown"
]
CacheKind = Literal["full", "sliding", "latent", "indexer", "state", "shared", "cross"]


class CacheGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Layers that keep their attention state in the same way.

    Attributes:
        kind: full (grows with each token), sliding (up to ``window`` tokens), latent (MLA: one
            vector per token, no heads to shard), indexer (sparse attention's key index), state
            (recurrent: a constant per sequence), shared (reads another layer's cache), cross
            (attends to an encoder's output).
        layers: how many layers.
        heads: KV heads; 1 for latent and indexer, 0 for state and shared.
        key_dim, value_dim: elements per head and token. A latent has no value of its own.
        window: tokens kept, for sliding.
        recurrent_elements, conv_elements: state elements per layer and sequence.
        state_heads, state_groups: Mamba-2's heads, and the groups that share their B and C.
    """

    kind: CacheKind
    layers: int
    heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    window: int | None = None
    recurrent_elements: int = 0
    conv_elements: int = 0
    state_heads: int = 0
    state_groups: int = 0

    @property
    def elements_per_token(self) -> int:
        """Cache elements that one more token adds in one layer."""
        return self.heads * (self.key_dim + self.value_dim)


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Dimensions of the language model (of a multimodal one: its text part); ``vision_heads`` are
    those of the image encoder, ``index_topk`` the tokens that sparse attention keeps."""

    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    vocabulary: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    max_positions: int | None = None
    sliding_window: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    expert_intermediate: int | None = None
    shared_expert_intermediate: int | None = None
    dense_layers: int = 0
    draft_layers: int = 0
    tied_embeddings: bool = False
    vision_heads: int | None = None
    index_topk: int | None = None


class Quantization(msgspec.Struct, frozen=True, kw_only=True):
    """How the weights are stored, as the checkpoint's own configuration says.

    Attributes:
        method: ``quant_method`` as written (awq, gptq, fp8, modelopt, compressed-tensors, ...);
            ``gguf`` for a GGUF file.
        scheme: what is stored, one word per family: w4a16, w8a16, w8a8-int8, fp8, fp8-block,
            nvfp4, mxfp4, w4a8-fp8, bnb-nf4, bnb-int8, gguf, or the method itself.
        bits: bits per weight of the quantised layers.
        group_size: weights that share a scale along the input, null if per channel or tensor.
        block: rows and columns of a two-dimensional scale block.
        symmetric: whether there are zero points to keep.
        act_order: whether GPTQ reordered the columns (``desc_act``).
        kv_cache: the KV dtype the checkpoint carries scales for.
        skipped: module names left in 16 bits.
        expert_bits: bits per weight of routed experts where they are stored otherwise.
    """

    method: str
    scheme: str
    bits: float
    group_size: int | None = None
    block: tuple[int, int] | None = None
    expert_bits: float | None = None
    symmetric: bool = True
    act_order: bool = False
    kv_cache: str | None = None
    skipped: list[str] = []


class TensorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor of a file: its type as the format spells it, its shape, its bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of elements by what a loader does with them.

    Attributes:
        linear: what a quantisation recipe quantises, ``experts`` (routed ones) and ``attention``
            (its projections) among it.
        embedding: the input table and the output head. other: norms, biases, routers.
        tower: vision or audio encoders. draft: multi-token heads, in no other sum.
        exact: the family's layer equations are known to the last element (towers apart).
    """

    linear: int
    experts: int
    embedding: int
    other: int
    tower: int
    draft: int
    exact: bool
    attention: int = 0

    @property
    def total(self) -> int:
        """All but the draft heads."""
        return self.linear + self.embedding + self.other + self.tower


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the gate, the simulator and the dossier need to know of a model.

    Attributes:
        name: last part of its path; for people only, nothing is decided by it.
        format: of the weights; ``config`` if only a configuration is there.
        architecture: ``architectures[0]`` of config.json, or GGUF's ``general.architecture``.
        parameters: counts from the dimensions; null if a dimension is missing.
        dtype: of the unquantised weights (bfloat16, float16, float32).
        weight_bytes: bytes of the tensors that are loaded; null if no tensor was seen.
        weight_parameters: elements of those tensors; null likewise.
        files, shards: files of weights, and shards of a split set (1 if not split).
        vision, audio: the checkpoint has such a tower.
        built_for: compute capability a prebuilt engine was compiled for.
        findings: what the reader noticed and a person should know.
        traits: parts of the configuration that came after its class and that an older release of
            an engine does not read: ``rope:TYPE``, ``head-dim`` (not width over heads),
            ``experts``, ``partial-rotary``, ``vision``.
    """

    path: str
    name: str
    format: Format
    architecture: str | None
    model_type: str | None
    shape: Shape
    cache: list[CacheGroup]
    cache_known: bool
    parameters: Parameters | None
    quantization: Quantization | None
    dtype: str | None
    weight_bytes: int | None
    weight_parameters: int | None
    disk_bytes: int | None
    files: list[str]
    shards: int
    tensors: list[TensorInfo]
    types: dict[str, int]
    vision: bool
    audio: bool
    embedding: bool
    encoder_only: bool
    remote_code: bool
    tokenizer: bool
    chat_template: bool
    thinking: bool
    built_for: int | None
    built_with: str | None
    license: str | None
    projector: str | None
    findings: list[str]
    traits: list[str] = []

    def trait(self, name: str) -> str | None:
        """What is said of a trait that has a value (``name:value``); null if it is not there."""
        found = (t.partition(":") for t in self.traits)
        return next((value for key, colon, value in found if colon and key == name), None)

    @property
    def recurrent(self) -> bool:
        """Whether some of its layers keep a state instead of a cache that grows."""
        return any(group.kind == "state" for group in self.cache)
