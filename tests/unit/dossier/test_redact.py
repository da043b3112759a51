from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.dossier import build, compose
from seatrial.dossier.redact import HIDDEN, redacted, text


@pytest.mark.parametrize(
    "private",
    [
        "http://gpu-07.example.internal:8000/v1",
        "10.2.3.4",
        "10.2.3.4:8000",
        "/home/anna/models/x.gguf",
        "~/models/small/x.gguf",
        "C:\\models\\x",
        "$12.50",
        "12 USD",
        "anna@example.com",
    ],
)
def test_hosts_paths_and_prices_are_hidden(private: str) -> None:
    said = text(f"measured at {private} today")
    assert private not in said
    assert HIDDEN in said
    assert said.startswith("measured at ")


@pytest.mark.parametrize(
    "public",
    ["llama.cpp==b11549", "vllm/_C.abi3.so:12", "3.25 / 4", "and/or", "2026-11-30", "TTFT P95 3/3"],
)
def test_numbers_and_names_stay(public: str) -> None:
    assert text(public) == public


def test_keys_that_speak_of_money_or_hosts_are_hidden_whole() -> None:
    value = redacted({"usd_per_hour": 1.5, "a": [["host.name", "x"]], "cost": {"low": 1}, "n": 2})
    assert value["usd_per_hour"] == HIDDEN
    assert value["a"] == [["host.name", HIDDEN]]
    assert value["cost"] == {"low": HIDDEN}
    assert value["n"] == 2


def test_a_redacted_dossier_shows_no_price_and_keeps_the_numbers(
    made_up: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatrial.charts.render.library", lambda: None)
    paths = build(made_up["selected"], redact=True)
    assert paths.html.name == "dossier.redacted.html"
    shown = paths.html.read_text() + paths.json.read_text() + paths.markdown.read_text()
    assert "0.99" not in str(compose(made_up["selected"], redact=True).decision["costs"])
    assert "'usd_per_hour': 0.25" not in str(compose(made_up["selected"], redact=True).workload)
    assert "are hidden" in paths.html.read_text()
    plain = compose(made_up["selected"])
    again = compose(made_up["selected"], redact=True)
    assert again.figures == plain.figures
    assert str(made_up["selected"]) not in shown
