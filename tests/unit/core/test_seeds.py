from __future__ import annotations

from seatrial.core.seeds import derive_seed, stream


def test_same_seed_and_name_give_the_same_draws() -> None:
    first, again = stream(7, "arrivals"), stream(7, "arrivals")
    assert first.integers(0, 1 << 60, 50).tolist() == again.integers(0, 1 << 60, 50).tolist()


def test_streams_of_other_names_or_masters_are_other_streams() -> None:
    seeds = {derive_seed(m, n) for m in range(20) for n in ("arrivals", "prompts", "order")}
    assert len(seeds) == 60


def test_the_seed_of_a_name_never_changes_between_versions() -> None:
    assert derive_seed(1, "prompts") == derive_seed(1, "prompts")
    assert derive_seed(1, "a", "b") == derive_seed(1, "a/b")
    assert derive_seed(1, "prompts") == 8743724037496169340
