from __future__ import annotations

from seatrial.facts.shortened import plain, short_for


def test_what_one_flag_alone_begins_with_is_that_flag() -> None:
    names = {"tp_size", "pp_size", "pp_max_micro_batch_size"}
    assert short_for("tp", names) == "tp_size"
    assert short_for("pp", names) is None
    assert short_for("pp_max", names) == "pp_max_micro_batch_size"
    assert short_for("size", names) is None


def test_a_flag_is_the_same_with_dashes_and_with_underscores() -> None:
    assert {plain("--max-num-seqs"), plain("max_num_seqs"), plain("-max-num_seqs")} == {
        "max_num_seqs"
    }
    assert plain("-C") == "C", "another flag than -c"
