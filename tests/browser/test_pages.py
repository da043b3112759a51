"""The local web application in Chromium: pages, live progress, stopping, small screens."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytestmark = pytest.mark.browser


class Served(NamedTuple):
    """A running ``seatrial serve``."""

    root: Path
    url: str
    base: str


@pytest.fixture(scope="module")
def served(made_up: dict[str, Path]) -> Iterator[Served]:
    root = made_up["selected"].parent
    process = subprocess.Popen(
        [sys.executable, "-m", "seatrial", "serve", str(root), "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    text = ""
    while not text.rstrip().endswith("}"):
        line = process.stdout.readline()
        assert line, "seatrial serve ended"
        text += line
    url = json.loads(text)["url"]
    yield Served(root, url, url.partition("/#")[0])
    process.send_signal(signal.SIGINT)
    process.wait(20)


def clean(chromium: Any, base: str) -> None:
    assert chromium.complaints() == []
    assert [url for url in chromium.requests() if not url.startswith(base)] == []


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize(
    ("path", "ready"),
    [
        ("/", "document.querySelectorAll('tbody tr').length >= 5"),
        ("/trials/made-up-selected", "document.querySelectorAll('figure canvas').length >= 3"),
        (
            "/compare?old=made-up-selected&new=made-up-selected",
            "document.querySelector('.head') !== null",
        ),
        ("/facts", "document.querySelectorAll('.engines li').length > 3"),
        (
            "/facts/vllm?version=0.33.0&predicate=quantization",
            "document.querySelectorAll('tbody tr').length > 5",
        ),
        ("/fingerprint/made-up-tie", "document.querySelectorAll('.pairs dt').length > 10"),
        ("/profile", "document.querySelector('input[name=path]') !== null"),
        ("/new", "document.querySelector('textarea') !== null"),
    ],
)
def test_a_page_opens_and_fits(
    path: str, ready: str, width: int, chromium: Any, served: Served, pictures: Path
) -> None:
    chromium.open(served.base + path, width=width, offline=False)
    chromium.until(ready, timeout_s=40)
    clean(chromium, served.base)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate("document.querySelectorAll('h1').length") == 1
    name = path.strip("/").partition("?")[0].replace("/", "-") or "index"
    chromium.screenshot(pictures / f"serve-{name}-{width}.png")


def test_a_running_trial_is_followed_and_stopped(
    chromium: Any, served: Served, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(served.root / "running", "tie", n=30, starts=2)
    (trial / "decision.json").unlink()
    sleeper = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(120)  # seatrial run, made up"]
    )
    (trial / ".lock").write_text(str(sleeper.pid))
    log = trial / "events.jsonl"
    log.write_text('{"seq":1,"t_ns":1,"stage":"gate","text":"three candidates"}\n')
    chromium.open(served.url.replace("/#", "/trials/running#"), offline=False)
    chromium.until("document.querySelector('.now')?.textContent.includes('three candidates')")
    assert chromium.evaluate("location.hash") == ""
    with log.open("a") as file:
        file.write(
            '{"seq":2,"t_ns":2,"stage":"bench","text":"<img src=x onerror=evil()> start 1"}\n'
        )
    chromium.until("document.querySelector('.now').textContent.includes('onerror')")
    assert chromium.evaluate("document.querySelectorAll('main img').length") == 0
    chromium.evaluate("window.confirm = () => true")
    chromium.evaluate("document.querySelector('main button:not(.sort)').click()")
    assert sleeper.wait(15) == -signal.SIGTERM
    # The answer stands beside the button, until the page has seen that the run is over.
    chromium.until(
        "[...document.querySelectorAll('[role=status]:not(.now), .verdict')]"
        ".some((e) => e.textContent.toLowerCase().includes('stop'))"
    )
    clean(chromium, served.base)


def test_without_the_token_the_button_says_why(
    chromium: Any, served: Served, make_trial: Callable[..., Path]
) -> None:
    trial = make_trial(served.root / "running-2", "none_feasible")
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)  # seatrial"])
    (trial / ".lock").write_text(str(sleeper.pid))
    chromium.open("about:blank", offline=False)
    chromium.open(served.base + "/trials/running-2", offline=False)
    chromium.evaluate("sessionStorage.clear()")
    chromium.open(served.base + "/trials/running-2", offline=False)
    chromium.until("document.querySelector('.verdict') !== null")
    assert chromium.evaluate("document.querySelector('.v-running') !== null")
    assert chromium.evaluate("document.querySelector('main button:not(.sort)').disabled")
    clean(chromium, served.base)
    sleeper.kill()
    sleeper.wait(10)


def test_the_form_asks_the_gate_while_it_is_filled_in(
    chromium: Any, served: Served, pictures: Path
) -> None:
    model = served.root / "model"
    model.mkdir(exist_ok=True)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "torch_dtype": "bfloat16",
    }
    (model / "config.json").write_text(json.dumps(config))
    chromium.open("about:blank", offline=False)
    chromium.open(served.url.replace("/#", "/new#"), offline=False)
    fill = (
        "for (const [k, v] of [['model', 'model'], ['gpu', 'h100-80gb'], ['name', 'a: {b: <i>']]) {"
        "const e = document.querySelector(`input[name=${k}]`); e.value = v;"
        "e.dispatchEvent(new Event('input', {bubbles: true})) } true"
    )
    chromium.until("document.querySelector('input[name=model]') !== null")
    chromium.evaluate(fill)
    chromium.until("document.querySelectorAll('tbody tr').length > 4", timeout_s=40)
    text = chromium.evaluate("document.querySelector('textarea').value")
    assert 'name: "a: {b: <i>"' in text
    assert "people ask for" in chromium.evaluate("document.querySelector('main').textContent")
    clean(chromium, served.base)
    chromium.screenshot(pictures / "serve-form.png")


def test_a_run_is_started_from_the_form_and_its_end_is_told(
    chromium: Any, served: Served, pictures: Path
) -> None:
    model = served.root / "hollow"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")  # nothing can be run from it: the end comes soon
    chromium.open("about:blank", offline=False)
    chromium.open(served.url.replace("/#", "/new#"), offline=False)
    chromium.until("document.querySelector('input[name=model]') !== null")
    chromium.evaluate(
        "for (const [k, v] of [['model', 'hollow'], ['name', 'from-the-form']]) {"
        "const e = document.querySelector(`input[name=${k}]`); e.value = v;"
        "e.dispatchEvent(new Event('input', {bubbles: true})) } true"
    )
    chromium.until("!document.querySelector('#start').disabled")
    chromium.evaluate("window.confirm = (said) => { window.asked = said; return true }")
    chromium.evaluate("document.querySelector('#start').focus()")
    for kind in ("keyDown", "keyUp"):
        chromium.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r")
    told = "document.querySelector('[aria-label=\"Runs started here\"] [role=status]')"
    chromium.until(f"{told} !== null", timeout_s=60)
    assert "from-the-form" in chromium.evaluate("window.asked")
    assert chromium.evaluate(f"{told}.textContent") in (
        "bad input",
        "done: no candidate is feasible",
        "undecided, or something to install first",
    )
    assert (served.root / "from-the-form.workload.yaml").is_file()
    clean(chromium, served.base)
    chromium.screenshot(pictures / "serve-run-started.png")


def test_a_table_is_sorted_by_keyboard(chromium: Any, served: Served) -> None:
    chromium.open(served.base + "/", offline=False)
    chromium.until("document.querySelectorAll('tbody tr').length >= 5")
    chromium.evaluate("document.querySelector('th button').focus()")
    for kind in ("keyDown", "keyUp"):
        chromium.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r")
    time.sleep(0.1)
    names = "[...document.querySelectorAll('tbody td:first-child')].map(t => t.textContent)"
    found = chromium.evaluate(names)
    assert found == sorted(found)
    assert chromium.evaluate("document.querySelector('th').getAttribute('aria-sort')")
