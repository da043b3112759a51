"""The Hugging Face tokenizer files, rebuilt from a GGUF's vocabulary and merges.

A byte-level BPE tokenizer is: a vocabulary, a list of merges in order, special tokens, and a way
to cut text before merging. GGUF holds the first three and names the fourth in
``tokenizer.ggml.pre``; what each name means stands in llama.cpp (src/llama-vocab.cpp). Only names
whose cut can be said in ``tokenizer.json`` and was compared with the engine token by token are
taken; another one is refused, because a tokenizer that is nearly right is wrong.
"""

from __future__ import annotations

from typing import Any

from seatrial.core.errors import UsageError
from seatrial.model.derive_source import Source

_CONTROL, _USER_DEFINED = 3, 4  # gguf.constants.TokenType

_BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": True,
}
_DIGITS = {"type": "Digits", "individual_digits": True}
PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt-2": _BYTE_LEVEL,
    "smollm": {"type": "Sequence", "pretokenizers": [_DIGITS, _BYTE_LEVEL]},
}


def tokenizer_files(source: Source) -> dict[str, Any]:
    """File name -> JSON value: tokenizer.json, tokenizer_config.json, special_tokens_map.json.

    Raises:
        UsageError: the GGUF's tokenizer is not a byte-level BPE that is known here.
    """
    kind, pre = source.value("tokenizer.ggml.model"), source.value("tokenizer.ggml.pre", "gpt-2")
    if kind != "gpt2" or pre not in PRE_TOKENIZERS:
        raise UsageError(
            f"the tokenizer of {source.path.name} ({kind}, {pre}) cannot be rebuilt exactly",
            where=str(source.path),
            remedy="take the model's own Hugging Face folder for this engine; rebuilt here are "
            f"byte-level BPE with pre-tokenizer {', '.join(sorted(PRE_TOKENIZERS))}",
        )
    tokens: list[str] = source.value("tokenizer.ggml.tokens", [])
    kinds: list[int] = source.value("tokenizer.ggml.token_type", [])
    merges: list[str] = source.value("tokenizer.ggml.merges", [])
    if not tokens or len(kinds) != len(tokens):
        raise UsageError(
            f"{source.path.name} carries no complete vocabulary",
            where=str(source.path),
            remedy="take a GGUF with tokenizer.ggml.tokens and tokenizer.ggml.token_type",
        )
    added = [
        _added(number, text, special=kind == _CONTROL)
        for number, (text, kind) in enumerate(zip(tokens, kinds, strict=True))
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    special = _special(source, tokens)
    return {
        "tokenizer.json": _tokenizer(tokens, merges, added, PRE_TOKENIZERS[pre]),
        "tokenizer_config.json": _config(source, added, special),
        "special_tokens_map.json": special,
    }


def _tokenizer(
    tokens: list[str], merges: list[str], added: list[dict[str, Any]], pre: dict[str, Any]
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": pre,
        "post_processor": None,
        "decoder": {**_BYTE_LEVEL, "add_prefix_space": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {text: number for number, text in enumerate(tokens)},
            "merges": [merge.split(" ", 1) for merge in merges],
        },
    }


def _added(number: int, text: str, *, special: bool) -> dict[str, Any]:
    return {
        "id": number,
        "content": text,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def _special(source: Source, tokens: list[str]) -> dict[str, str]:
    names = {
        "bos_token": "bos_token_id",
        "eos_token": "eos_token_id",
        "unk_token": "unknown_token_id",
        "pad_token": "padding_token_id",
    }
    found = {}
    for name, key in names.items():
        number = source.value(f"tokenizer.ggml.{key}")
        if isinstance(number, int) and 0 <= number < len(tokens):
            found[name] = tokens[number]
    return found


def _config(source: Source, added: list[dict[str, Any]], special: dict[str, str]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "add_prefix_space": bool(source.value("tokenizer.ggml.add_space_prefix", False)),
        "add_bos_token": bool(source.value("tokenizer.ggml.add_bos_token", False)),
        "model_max_length": source.value("llama.context_length"),
        "added_tokens_decoder": {
            str(token["id"]): {key: token[key] for key in token if key != "id"} for token in added
        },
        **special,
    }
    if template := source.value("tokenizer.chat_template"):
        config["chat_template"] = template
    return config
