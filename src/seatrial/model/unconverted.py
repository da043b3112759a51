"""What a quantised checkpoint leaves in 16 bits, from the list of modules its configuration names.

The list holds whole names (``model.layers.0.self_attn.q_proj``), parts of names (``self_attn``,
``model.layers.0.mlp``), globs (``model.layers.*.self_attn``) or, after ``re:``, regular
expressions: transformers and compressed-tensors (``is_match``) take any of these. A pattern comes
from a file that is not trusted, so an expression is never compiled: its ``.*`` is read as a glob,
and one that says more than that counts for nothing, which leaves the weights a little too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from seatrial.model.info import ModelInfo

_FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")
_PREFIXES = ("model.", "language_model.model.", "model.language_model.")
_GLOBS = 64
"""More globs than this in one list are not looked at: each is tried on each module."""


def unconverted(model: ModelInfo) -> int:
    """Elements of attention and of the dense feed-forward that stay in 16 bits; routed experts
    are never counted here."""
    count, shape = model.parameters, model.shape
    skipped = model.quantization.skipped if model.quantization else []
    if count is None or not shape.layers or not skipped:
        return 0
    heads = shape.heads or 1
    kept = shape.kv_heads or heads
    attention, fed = _shares(tuple(skipped), shape.layers, heads, kept)
    dense = 0 if count.experts else max(count.linear - count.attention, 0)
    return round(count.attention * attention + dense * fed)


@lru_cache(maxsize=64)
def _shares(skipped: tuple[str, ...], layers: int, heads: int, kept: int) -> tuple[float, float]:
    """Of all layers' attention and feed-forward, how much is listed; kept, since a list may name
    every module of every layer and each candidate asks again."""
    listed = _Listed(skipped)
    attention = {"q_proj": heads, "k_proj": kept, "v_proj": kept, "o_proj": heads}
    fed = dict.fromkeys(_FEED_FORWARD, 1)
    every = range(layers)
    return (
        sum(listed.share(n, "self_attn", attention) for n in every) / layers,
        sum(listed.share(n, "mlp", fed) for n in every) / layers,
    )


class _Listed:
    """The names of one list, sorted by how they are to be compared."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = {name for name in names if "*" not in name and not name.startswith("re:")}
        self._names -= {"lm_head", "model.embed_tokens", "visual"}  # most lists say only this
        self._globs = [glob for name in names for glob in _globs(name)][:_GLOBS]

    def share(self, layer: int, block: str, parts: dict[str, int]) -> float:
        """Of one layer's block, which share is listed; ``parts``: name -> relative size."""
        if not self._names and not self._globs:
            return 0.0
        listed = sum(n for part, n in parts.items() if self._has(layer, f"{block}.{part}"))
        return listed / sum(parts.values())

    def _has(self, layer: int, module: str) -> bool:
        inside = f"layers.{layer}.{module}"
        if any(name in self._names for name in _runs(layer, inside)):
            return True
        return any(fnmatchcase(p + inside, glob) for p in _PREFIXES for glob in self._globs)


def _runs(layer: int, inside: str) -> Iterator[str]:
    """Every run of whole words in a module's name, with and without what stands before."""
    for prefix in _PREFIXES:
        words = (prefix + inside).split(".")
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                run = words[start:end]
                if run != [str(layer)] and not _COMMON.issuperset(run):
                    yield ".".join(run)


_COMMON = {"model", "language_model", "layers"}
"""Words that stand in every module's name and name none."""


def _globs(name: str) -> Iterator[str]:
    """A glob for a name with a star, or for an expression that is one in other signs."""
    if not name.startswith("re:"):
        if "*" in name:
            yield name
            yield f"{name}.*"
        return
    text = name[3:].removeprefix("^").replace("\\.", "\0").replace(".*", "*")
    whole = text.endswith("$")
    text = text.removesuffix("$")
    if any(sign in text for sign in "\\()[]{}|+?$^"):
        return
    text = text.replace("\0", ".")
    yield text if whole or text.endswith("*") else f"{text}*"
