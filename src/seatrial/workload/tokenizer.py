"""Tokens of a text, counted by the model's own tokenizer.

Some logs carry texts and no counts. Given a ``tokenizer.json`` (Hugging Face's format, which any
engine's model folder holds) or a GGUF file, whose vocabulary is rebuilt into one, texts are counted
exactly; without, they are estimated and marked. What a chat template and special tokens add is not
in the text and is not counted. The library is an extra, because most logs have counts.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from seatrial.core.errors import PrerequisiteError, UsageError

MAX_BYTES = 256 << 20
PIP = "pip install 'seatrial[tokenizers]'"


class Tokenizer:
    """Counts tokens; an instance is a ``trace.rows.TokenCounter``.

    Attributes:
        name, sha256: of the file it was made of. texts: how many it has counted so far.
    """

    def __init__(self, path: Path) -> None:
        """Read the tokenizer.

        Raises:
            UsageError: no such file, none that can be read, or a GGUF whose tokenizer cannot be
                rebuilt exactly.
            PrerequisiteError: the extra ``tokenizers`` is not installed.
        """
        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise UsageError(
                "there is no such tokenizer",
                where=str(file),
                remedy="give a tokenizer.json, a model folder that holds one, or a .gguf file",
            )
        library = _library()
        self.name = file.name
        self.texts = 0
        text = _text(file)
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        self._encode = _made(library, text, file)

    def __call__(self, text: str) -> int:
        """Tokens of this text, without special ones."""
        self.texts += 1
        sound = text.encode("utf-8", "replace").decode()  # a lone surrogate is no text to Rust
        return len(self._encode(sound, add_special_tokens=False).ids)

    def notes(self) -> list[str]:
        """What the fingerprint says about it."""
        if not self.texts:
            return [f"{self.name} was not used: this trace has counts, or no texts"]
        return [
            f"tokens of {self.texts} texts were counted with {self.name} (vocabulary "
            f"{self.sha256[:12]}), without what a chat template or special tokens add"
        ]


def _library() -> Any:
    try:
        import tokenizers
    except ImportError:
        raise PrerequisiteError(
            "counting tokens of texts needs the library tokenizers, which is not installed",
            unchanged="nothing was read",
            remedy=f"{PIP}; or leave out --tokenizer: tokens are then estimated and marked",
        ) from None
    return tokenizers


def _text(file: Path) -> str:
    if file.suffix.lower() == ".gguf":
        from seatrial.model.derive_source import open_source
        from seatrial.model.derive_tokenizer import tokenizer_files

        return json.dumps(tokenizer_files(open_source(file))["tokenizer.json"])
    if file.stat().st_size > MAX_BYTES:
        raise _unreadable(file, f"it has more than {MAX_BYTES >> 20} MiB")
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise _unreadable(file, "it is not UTF-8 text") from None


def _made(library: Any, text: str, file: Path) -> Any:
    try:
        made = library.Tokenizer.from_str(text)
        made.no_truncation()
        made.no_padding()
        made.encode("a", add_special_tokens=False)
    except BaseException as error:  # the border to Rust: it raises Exception or its own panic
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise _unreadable(file, "it is no tokenizer.json that the library reads") from None
    return made.encode


def _unreadable(file: Path, why: str) -> UsageError:
    return UsageError(
        f"the tokenizer cannot be read: {why}",
        where=file.name,
        remedy="give the tokenizer.json of the model, a folder that holds one, or a .gguf file",
    )
