"""GGUF tensor types: id, name, elements per block, bytes per block.

Numbers from ggml/include/ggml.h (enum ggml_type) and ggml/src/ggml-common.h (block structs)
of llama.cpp at 0c1e57098; 31 to 33, Q4_0 laid out for one kind of CPU, are in older ones only
(ggml-org/llama.cpp#9921 took them out). A block's bytes over its elements is the type's bits per
weight.
"""

from __future__ import annotations

TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    31: ("Q4_0_4_4", 32, 18),
    32: ("Q4_0_4_8", 32, 18),
    33: ("Q4_0_8_8", 32, 18),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}

FILE_TYPES: dict[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    33: "Q4_0_4_4",
    34: "Q4_0_4_8",
    35: "Q4_0_8_8",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
}
"""``general.file_type`` (enum llama_ftype): the recipe a file was made with."""

FILE_BITS: dict[str, float] = {
    "F32": 32.0,
    "F16": 16.0005,
    "BF16": 16.0005,
    "Q8_0": 8.5008,
    "Q6_K": 6.5633,
    "Q5_K_M": 5.7036,
    "Q5_K_S": 5.5704,
    "Q4_K_M": 4.8944,
    "Q4_K_S": 4.6672,
    "Q4_0": 4.6441,
    "Q4_1": 5.1244,
    "IQ4_XS": 4.4597,
    "IQ4_NL": 4.6818,
    "Q3_K_L": 4.2979,
    "Q3_K_M": 3.9960,
    "Q3_K_S": 3.6429,
    "Q2_K": 3.1593,
    "IQ2_XXS": 2.3824,
    "MXFP4": 4.25,
}
"""Bits per weight of whole files, measured on Llama-3.1-8B (llama.cpp tools/quantize/README.md)."""


def bits_per_weight(name: str) -> float | None:
    """Bits per weight of one tensor type, or null for a type not known here."""
    for type_name, elements, size in TYPES.values():
        if type_name == name:
            return size * 8 / elements
    return None
