"""Weight-only kernels work on tiles: a width that is no whole number of them has no kernel.

Marlin (vLLM's weight-only path for FP8 below compute 8.9 and for FP4 below 10.0) takes its input in
tiles of 64 or 128 and its output in tiles of 64 to 256 (marlin_utils.py GPTQ_MARLIN_MIN_THREAD_K
and _N, and the configurations of the kernel). What tensor parallelism leaves of a feed-forward
width may be no whole number of them; later versions pad it.
"""

from __future__ import annotations

from seatrial.facts import Fact
from seatrial.gate.case import Case


def native_from(case: Case, family: str) -> Fact | None:
    """From which capability a precision is computed in: blocks of scales have a kernel of their
    own, which may begin later than the plain one's."""
    plain = case.known.get("min_capability", f"{family}:native")
    blocks = case.quant is not None and case.quant.scheme == "fp8-block"
    own = case.known.get("min_capability", "fp8-block:native") if blocks else None
    return own or plain


def off_the_tiles(case: Case, family: str) -> tuple[str | None, Fact | None]:
    """(what does not fill whole tiles, in words, and the fact that this version pads nothing);
    null where every width does, or where the precision is native."""
    native, capability = native_from(case, family), case.capability or 0
    if native is None or not isinstance(native.value, int) or capability >= native.value:
        return None, None
    tile = case.known.get("requires", "weight_only_tile")
    odd = _odd_width(case, tile.value if tile and isinstance(tile.value, int) else None)
    if odd is None:
        return None, None
    says = (
        f"{family} on compute {capability / 10:.1f} needs the weight-only kernel (Marlin), whose "
        f"tiles are {odd[1]} deep: {odd[0]} is no whole number of them"
    )
    return says, tile


def off_integer_tiles(case: Case) -> tuple[str | None, Fact | None]:
    """As above for integer weight-only checkpoints whose method has no kernel behind Marlin that
    takes any width (groups that are cut are another rule's word)."""
    quant = case.quant
    if quant is None or quant.scheme not in {"w4a16", "w8a16"} or case.capability is None:
        return None, None
    fact = case.known.get("requires", f"weight_only_tile:{quant.method}")
    if fact is None or not isinstance(fact.value, int) or case.capability // 10 == 9:
        return None, None  # Hopper has a kernel of its own before it
    if quant.scheme in fact.detail.get("but", []) and not quant.group_size:
        return None, None
    odd = _odd_width(case, fact.value)
    if odd is None:
        return None, None
    says = f"{quant.method} {quant.scheme}: {odd[0]} is no whole number of tiles: {fact.condition}"
    return says, fact


def _odd_width(case: Case, tile: int | None) -> tuple[str, int] | None:
    """(a width per rank, the depth of the tile that it does not fill); null if none is seen. With
    blocks of scales a tile is 128 deep; without, it is what the fact says, and nothing is asked
    where widths are padded."""
    shape = case.model.shape if case.model else None
    if case.engine != "vllm" or shape is None or case.quant is None:
        return None
    deep = 128 if case.quant.block else tile
    if deep is None:
        return None
    cut = 1 if case.set.ep else case.tp
    widths = [("expert intermediate size", shape.expert_intermediate, cut)]
    if not shape.experts or shape.dense_layers:
        widths.append(("intermediate size", shape.intermediate, case.tp))
    for name, width, ways in widths:
        if width and width % ways == 0 and (width // ways) % deep:
            return f"{name} {width} / {ways} = {width // ways}", deep
    return None
