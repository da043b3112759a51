"""Pages and their JSON twins, and the stream of a running trial."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from seatrial.dossier import build
from seatrial.web import create_app, trials
from seatrial.web.app import STATIC, stream
from seatrial.web.views import Views


@pytest.fixture(scope="module")
def root(made_up: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("served") / "trials"
    for case, folder in made_up.items():
        shutil.copytree(folder, base / f"made-up-{case}")
    return base


@pytest.fixture
def app(root: Path) -> Any:
    return create_app(root, token="t", port=8642)


def test_every_page_is_the_shell_and_has_a_json_twin(app: Any, ask: Callable[..., Any]) -> None:
    twins = {
        "/": "/index.json",
        "/trials/made-up-tie": "/trials/made-up-tie.json",
        "/fingerprint/made-up-tie": "/fingerprint/made-up-tie.json",
        "/facts": "/facts.json",
        "/facts/vllm": "/facts/vllm.json",
        "/compare": "/compare.json",
        "/compare?old=made-up-selected&new=made-up-selected": (
            "/compare.json?old=made-up-selected&new=made-up-selected"
        ),
        "/profile": "/profile.json",
        "/new": "/new.json",
    }
    shell = ask(app, "/").body
    for page, twin in twins.items():
        assert ask(app, page).body == shell
        answer = ask(app, twin)
        assert answer.status == 200, (twin, answer.body[:300])
        assert answer.headers["content-type"] == "application/json"
        assert answer.json()


def test_the_list_says_what_each_trial_is(app: Any, ask: Callable[..., Any]) -> None:
    lines = {t["name"]: t for t in ask(app, "/index.json").json()["trials"]}
    assert lines["made-up-selected"]["outcome"] == "selected"
    assert lines["made-up-selected"]["state"] == "finished"
    assert (lines["made-up-selected"]["cells"], lines["made-up-selected"]["planned"]) == (9, 9)
    assert lines["made-up-none_feasible"]["outcome"] == "none_feasible"


def test_a_damaged_trial_is_listed_as_damaged_and_hides_no_other(
    tmp_path: Path, ask: Callable[..., Any]
) -> None:
    for name in ("good", "bad"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "workload.yaml").write_text("")
    (tmp_path / "bad" / "decision.json").write_text("{")
    app = create_app(tmp_path, token="t")
    states = {t["name"]: t["state"] for t in ask(app, "/index.json").json()["trials"]}
    assert states == {"good": "stopped", "bad": "damaged"}
    assert ask(app, "/trials/bad/dossier.json").status == 422


def test_the_dossier_served_is_the_dossier_written(
    root: Path, app: Any, ask: Callable[..., Any]
) -> None:
    served = ask(app, "/trials/made-up-regression/dossier")
    written = build(root / "made-up-regression").html.read_text()
    strip = lambda text: text.split('id="dossier-data"')[0]  # noqa: E731
    assert strip(served.body.decode()) == strip(written)
    assert "default-src 'none'" in served.headers["content-security-policy"]
    again = ask(app, "/trials/made-up-regression/dossier.json").json()
    kept = json.loads((root / "made-up-regression" / "dossier.json").read_bytes())
    assert again["figures"] == kept["figures"]


def test_a_page_is_drawn_once_and_anew_when_an_artefact_changes(
    tmp_path: Path, make_trial: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_trial(tmp_path / "t", "none_feasible")
    drawn: list[str] = []
    monkeypatch.setattr("seatrial.web.views.page", lambda d: drawn.append(d.trial) or d.trial)
    views = Views(tmp_path)
    for _ in range(3):
        assert views.dossier_page("t", "en") == "made-up-none_feasible"
    assert len(drawn) == 1
    (folder / "quality").mkdir(exist_ok=True)
    (folder / "quality" / "x.json").write_text("{}")
    views.dossier_page("t", "en")
    views.dossier_page("t", "zh")
    assert len(drawn) == 3


def test_live_charts_draw_from_the_rows_of_the_dossier(app: Any, ask: Callable[..., Any]) -> None:
    figures = {
        f["id"]: f["rows"] for f in ask(app, "/trials/made-up-tie/dossier.json").json()["figures"]
    }
    source = files("seatrial.web").joinpath("static", "pages.js").read_text()
    for name, keys in (
        ("ttft_ms-over-time", {"candidate", "t_s", "p95"}),
        ("tpot_ms-over-time", {"candidate", "t_s", "p95"}),
        ("memory", {"candidate", "t_s", "rss_mib"}),
    ):
        assert f'"{name}"' in source
        assert keys <= set(figures[name][0])


def test_facts_are_searched_and_two_versions_compared(app: Any, ask: Callable[..., Any]) -> None:
    found = ask(app, "/facts/vllm.json?version=0.33.0&predicate=quantization&q=awq").json()
    assert found["facts"]
    for fact in found["facts"]:
        assert fact["predicate"] == "quantization"
        assert "awq" in f"{fact['subject']} {fact['value']}".lower()
        assert fact["source"]["artefact"]
        assert fact["verified_on"]
    versions = next(
        e["versions"] for e in ask(app, "/facts.json").json()["engines"] if e["engine"] == "vllm"
    )
    older = ask(app, f"/facts/vllm.json?version={versions[0]}&against={versions[-1]}").json()
    assert {c["kind"] for c in older["changes"]} <= {"added", "removed", "changed"}
    assert older["changes"]
    same = ask(app, f"/facts/vllm.json?version={versions[0]}&against={versions[0]}").json()
    assert same["changes"] == []


def test_an_unknown_thing_is_said_in_one_form(app: Any, ask: Callable[..., Any]) -> None:
    for path in ("/trials/nobody.json", "/facts/nobody.json", "/compare.json?old=made-up-tie"):
        answer = ask(app, path)
        assert answer.status == 404
        assert {"error", "what", "do"} <= set(answer.json())


def event(seq: int, text: str) -> bytes:
    return json.dumps({"seq": seq, "t_ns": seq, "stage": "bench", "text": text}).encode() + b"\n"


def test_the_stream_says_each_event_once_and_resumes_where_it_was_left(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes(event(1, "one") + event(2, "two") + b'{"seq": 3, "t_')

    async def collect(after: int, rounds: int) -> list[bytes]:
        left = rounds

        async def gone() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        return [part async for part in stream(tmp_path, after, gone)]

    first = asyncio.run(collect(-1, 2))
    assert [p.split(b"\n")[0] for p in first] == [b"id: 1", b"id: 2", b"event: cells"]
    log.write_bytes(event(1, "one") + event(2, "two") + event(3, "three"))
    assert [p.split(b"\n")[0] for p in asyncio.run(collect(2, 1))] == [b"id: 3", b"event: cells"]


def test_hostile_events_and_logs_are_made_visible(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(
        event(1, "\x1b[2J\u202e<script>") + b"not json\n" + b"x" * 70_000 + b"\n" + event(4, "ok")
    )
    found = trials.events(tmp_path, after=-1)
    assert [e.seq for e in found] == [1, 4]
    assert found[0].text == "\\x1b[2J\\u202e<script>"
    cell = tmp_path / "cells" / "a" / ".001.7.tmp"
    cell.mkdir(parents=True)
    (cell / "engine.log").write_bytes(b"\xff\x1b[31m" + b"y" * 900 + b"\nlast \x07line\n")
    tail = trials.log_tail(tmp_path)
    assert tail.splitlines()[-1] == "last \\x07line"
    assert "(+" in tail.splitlines()[0]
    (cell / "engine.log").write_bytes(b"start\n" + b"z\n" * 20_000)
    assert len(trials.log_tail(tmp_path)) <= trials.LOG_TAIL_BYTES


def test_the_vendored_files_are_those_of_the_manifest() -> None:
    folder = files("seatrial.web").joinpath("static", "vendor")
    entries = json.loads(folder.joinpath("manifest.json").read_bytes())["files"]
    names = {e["file"] for e in entries}
    assert names == {p.name for p in folder.iterdir()} - {"manifest.json"}
    for entry in entries:
        data = folder.joinpath(entry["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == entry["sha256"], entry["file"]
    assert {"htm.LICENSE", "preact.LICENSE", "uplot.LICENSE"} <= names


def test_every_file_that_pages_load_is_served(app: Any, ask: Callable[..., Any]) -> None:
    for path in STATIC:
        answer = ask(app, f"/static/{path}")
        assert answer.status == 200
        if path.endswith(".js"):
            assert "javascript" in answer.headers["content-type"]


def test_no_page_writes_html_from_data() -> None:
    for name in ("app.js", "pages.js", "facts.js", "parts.js"):
        source = files("seatrial.web").joinpath("static", name).read_text()
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert sink not in source, (name, sink)
        assert "http://" not in source
        assert "https://" not in source
