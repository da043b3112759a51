"""The index client against a server of our own on loopback, with ranges, redirects and faults."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from seatrial.core.errors import IntegrityError, PrerequisiteError, UsageError
from seatrial.facts.reach.artefact import (
    Sdist,
    Tree,
    download,
    local_wheel,
    remote_sdist,
    remote_wheel,
)
from seatrial.facts.reach.http import Client
from seatrial.facts.reach.index import Index, parse_html, parse_json, version_in
from seatrial.facts.reach.settings import Settings

MODULE = b"A = 1\n" * 100


def wheel_bytes(record_hash: str | None = None) -> bytes:
    digest = base64.urlsafe_b64encode(hashlib.sha256(MODULE).digest()).rstrip(b"=").decode()
    record = f"pkg/a.py,sha256={record_hash or digest},{len(MODULE)}\npkg-1.0.dist-info/RECORD,,\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/a.py", MODULE)
        archive.writestr("pkg/big.bin", bytes(range(256)) * 2000, zipfile.ZIP_STORED)
        archive.writestr("pkg-1.0.dist-info/RECORD", record)
    return out.getvalue()


def sdist_bytes(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


class Site:
    """What the server serves: path -> bytes; faults by path."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.fail_first: dict[str, int] = {}
        self.redirect: dict[str, str] = {}
        self.no_ranges: set[str] = set()
        self.log: list[tuple[str, str | None]] = []
        self.base = ""


@pytest.fixture
def site():
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.log.append((self.path, wanted))
            if state.fail_first.get(self.path, 0) > 0:
                state.fail_first[self.path] -= 1
                self.answer(503, b"", {})
            elif self.path in state.redirect:
                self.answer(302, b"", {"Location": state.redirect[self.path]})
            elif self.path not in state.files:
                self.answer(404, b"", {})
            else:
                kind, data = state.files[self.path]
                if wanted and self.path not in state.no_ranges:
                    first, last = wanted.removeprefix("bytes=").split("-")
                    part = data[int(first) : int(last) + 1]
                    total = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
                    self.answer(206, part, total)
                else:
                    self.answer(200, data, {"Content-Type": kind})

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that hangs up in the middle is part of these tests."""

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    state.base = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def client():
    made = Client(sleep=lambda _: None)
    yield made
    made.close()


def page(site: Site, **more: object) -> dict[str, object]:
    data = wheel_bytes()
    site.files["/f/pkg-1.0-py3-none-any.whl"] = ("application/octet-stream", data)
    return {
        "filename": "pkg-1.0-py3-none-any.whl",
        "url": f"{site.base}/f/pkg-1.0-py3-none-any.whl",
        "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
        "size": len(data),
        "upload-time": "2026-01-02T03:04:05Z",
        "requires-python": ">=3.9",
        "yanked": False,
        **more,
    }


def index_of(site: Site, client: Client, tmp_path, files: list[object]) -> Index:
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "pkg", "files": files}).encode()
    site.files["/simple/pkg/"] = ("application/vnd.pypi.simple.v1+json", body)
    settings = Settings(indexes=[f"{site.base}/simple"], cafile=None, said_by="test")
    return Index(client=client, settings=settings, cache=tmp_path / "cache")


def test_a_member_by_range_with_both_levels_of_integrity(site, client, tmp_path):
    index = index_of(site, client, tmp_path, [page(site)])
    [file] = index.files("pkg")
    assert (file.version, file.uploaded) == ("1.0", "2026-01-02")
    wheel = remote_wheel(file, client, cache=tmp_path / "cache")
    data = wheel.read_many(["pkg/a.py", "not/there.py"])
    assert data == {"pkg/a.py": MODULE}
    assert wheel.checked("pkg/a.py", MODULE)
    assert wheel.ref.integrity == "claimed"
    assert len(wheel.ref.sha256) == 64


def test_a_second_time_asks_nothing(site, client, tmp_path):
    index = index_of(site, client, tmp_path, [page(site)])
    [file] = index.files("pkg")
    for _ in range(2):
        wheel = remote_wheel(file, client, cache=tmp_path / "cache")
        wheel.read_many(["pkg/a.py"])
        before = client.requests
    again = remote_wheel(file, client, cache=tmp_path / "cache")
    again.read_many(["pkg/a.py"])
    assert client.requests == before
    assert Index(client=client, settings=index.settings, cache=tmp_path / "cache").files("pkg")
    assert client.requests == before


def test_record_that_disagrees(site, client, tmp_path):
    data = wheel_bytes(record_hash="A" * 43)
    site.files["/f/pkg-1.0-py3-none-any.whl"] = ("x", data)
    index = index_of(site, client, tmp_path, [page(site) | {"size": len(data)}])
    site.files["/f/pkg-1.0-py3-none-any.whl"] = ("x", data)
    wheel = remote_wheel(index.files("pkg")[0], client, cache=tmp_path / "cache")
    content = wheel.read_many(["pkg/a.py"])["pkg/a.py"]
    with pytest.raises(IntegrityError, match="RECORD"):
        wheel.checked("pkg/a.py", content)


def test_yanked_files_and_unknown_projects(site, client, tmp_path):
    index = index_of(site, client, tmp_path, [page(site, yanked="broken")])
    assert index.files("pkg") == []
    with pytest.raises(PrerequisiteError, match="no package index here has other"):
        index.files("other")


def test_a_passing_fault_is_retried_and_a_lasting_one_said(site, client, tmp_path):
    index = index_of(site, client, tmp_path, [page(site)])
    site.fail_first["/simple/pkg/"] = 2
    assert index.versions("pkg") == ["1.0"]
    site.fail_first["/f/x"] = 99
    with pytest.raises(PrerequisiteError, match="HTTP 503"):
        client.get(f"{site.base}/f/x")


def test_a_server_without_ranges(site, client, tmp_path):
    index = index_of(site, client, tmp_path, [page(site)])
    site.no_ranges.add("/f/pkg-1.0-py3-none-any.whl")
    with pytest.raises((PrerequisiteError, IntegrityError)):
        remote_wheel(index.files("pkg")[0], client, cache=tmp_path / "cache")


def test_redirects_are_followed_and_loops_end(site, client):
    site.files["/b"] = ("x", b"here")
    site.redirect["/a"] = "/b"
    assert client.get(f"{site.base}/a").body == b"here"
    site.redirect["/loop"] = "/loop"
    with pytest.raises(PrerequisiteError, match="too many redirects"):
        client.get(f"{site.base}/loop")


def test_an_answer_longer_than_allowed(site, client):
    site.files["/long"] = ("x", b"1" * 1000)
    with pytest.raises(IntegrityError, match="longer"):
        client.get(f"{site.base}/long", limit=100)


def test_it_stops_at_its_own_limit(site):
    limited = Client(max_requests=2, sleep=lambda _: None)
    site.files["/a"] = ("x", b"1")
    for _ in range(2):
        limited.get(f"{site.base}/a")
    with pytest.raises(PrerequisiteError, match="stopped after 2 requests"):
        limited.get(f"{site.base}/a")
    limited.close()


def test_credentials_do_not_appear_in_errors(client):
    with pytest.raises(PrerequisiteError) as caught:
        client.get("http://user:secret@127.0.0.1:9/simple/x/")
    assert "secret" not in str(caught.value)


def test_offline_answers_from_what_was_kept(site, client, tmp_path):
    index_of(site, client, tmp_path, [page(site)]).files("pkg")
    settings = Settings(indexes=["http://127.0.0.1:9"], cafile=None, said_by="test")
    offline = Index(settings=settings, cache=tmp_path / "cache", offline=True)
    assert offline.versions("pkg") == ["1.0"]
    with pytest.raises(PrerequisiteError, match="offline"):
        offline.files("never-asked")


def test_download_resumes_and_compares_the_hash(site, client, tmp_path):
    data = sdist_bytes({"pkg-1.0/PKG-INFO": b"Name: pkg\n\n", "pkg-1.0/src/a.py": MODULE})
    site.files["/f/pkg-1.0.tar.gz"] = ("x", data)
    entry = {
        "filename": "pkg-1.0.tar.gz",
        "url": f"{site.base}/f/pkg-1.0.tar.gz",
        "hashes": {"sha256": hashlib.sha256(data).hexdigest()},
        "size": len(data),
    }
    [file] = index_of(site, client, tmp_path, [entry]).files("pkg")
    target = tmp_path / "x" / "artefact.tar.gz"
    target.parent.mkdir()
    target.with_suffix(".part").write_bytes(data[:100])
    download(file, client, target, block=64)
    assert target.read_bytes() == data
    assert (f"/f/{file.name}", "bytes=0-63") not in site.log
    sdist = remote_sdist(file, client, cache=tmp_path / "cache")
    assert sdist.ref.integrity == "verified"
    assert sdist.read_many(["src/a.py"]) == {"src/a.py": MODULE}
    [bad] = index_of(
        site, client, tmp_path / "other", [entry | {"hashes": {"sha256": "0" * 64}}]
    ).files("pkg")
    with pytest.raises(IntegrityError, match="another hash"):
        download(bad, client, tmp_path / "bad" / "artefact.tar.gz")
    assert not (tmp_path / "bad" / "artefact.tar.gz").exists()


def test_hostile_sdists(tmp_path):
    for name in ("../evil", "/abs", "pkg/../../x"):
        path = tmp_path / "a.tar.gz"
        path.write_bytes(sdist_bytes({"pkg/ok.py": b"1", name: b"2"}))
        with pytest.raises(IntegrityError, match="leaves the archive"):
            _ = Sdist(path).names
    path.write_bytes(sdist_bytes({"pkg/a.py": MODULE})[:60])
    with pytest.raises(IntegrityError, match="not a sound sdist"):
        _ = Sdist(path).names
    path.write_bytes(b"not a gzip")
    with pytest.raises(IntegrityError):
        _ = Sdist(path).names


def test_a_local_wheel_is_verified(tmp_path):
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(wheel_bytes())
    wheel = local_wheel(path)
    assert wheel.ref.integrity == "verified"
    assert wheel.read_many(["pkg/a.py"])["pkg/a.py"] == MODULE
    path.write_bytes(b"PK not a wheel")
    with pytest.raises(IntegrityError):
        local_wheel(path)


def test_a_tree_does_not_follow_links_out(tmp_path):
    (tmp_path / "secret").write_text("s")
    root = tmp_path / "tree"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "config").write_text("x")
    (root / "a.py").write_text("A")
    (root / "link.py").symlink_to(tmp_path / "secret")
    tree = Tree(root, "tree")
    assert ".git/config" not in tree.names
    assert tree.read_many(["a.py", "link.py", "../secret"]) == {"a.py": b"A"}


RECORDED = Path(__file__).parents[2] / "data/facts/simple-vllm-bnb-plugin.json"


def test_a_recorded_answer():
    files = parse_json(RECORDED.read_bytes(), "https://index.invalid/simple/vllm-bnb-plugin/")
    assert [f.version for f in files] == ["0.0.1", "0.0.1", "0.0.2", "0.0.2", "0.0.3", "0.0.3"]
    assert sum(f.is_wheel for f in files) == 3
    newest = files[-2]
    assert (newest.uploaded, newest.requires_python) == ("2026-08-24", ">=3.10")
    assert all(len(f.sha256) == 64 and f.size and not f.yanked for f in files)


def test_a_forged_answer():
    page = {
        "files": [
            {"filename": "pkg-1.0.tar.gz", "url": "../../p/pkg-1.0.tar.gz", "yanked": "reason"},
            {"filename": "../../etc/passwd-1.0.tar.gz", "url": "x", "hashes": {}},
            {"filename": "pkg-1.0.exe", "url": "x", "hashes": {}},
        ]
    }
    [file] = parse_json(json.dumps(page).encode(), "https://index.invalid/simple/pkg/")
    assert file.url == "https://index.invalid/p/pkg-1.0.tar.gz"
    assert file.yanked
    with pytest.raises(IntegrityError):
        parse_json(b"<html>", "https://index.invalid/")


def test_an_html_page():
    page = (
        '<a href="../../p/pkg-1.0-py3-none-any.whl#sha256=abc" '
        'data-requires-python="&gt;=3.9">x</a>'
        '<a href="pkg-2.0.tar.gz" data-yanked="">y</a><a href="readme.txt">z</a>'
    )
    files = parse_html(page, "https://index.invalid/simple/pkg/")
    assert [(f.version, f.sha256, f.yanked) for f in files] == [
        ("1.0", "abc", False), ("2.0", "", True)
    ]  # fmt: skip
    assert files[0].requires_python == ">=3.9"


def test_a_local_index_folder(tmp_path):
    folder = tmp_path / "simple" / "pkg"
    folder.mkdir(parents=True)
    (folder / "pkg-1.0-py3-none-any.whl").write_bytes(wheel_bytes())
    settings = Settings(indexes=[(tmp_path / "simple").as_uri()], cafile=None, said_by="test")
    assert Index(settings=settings, cache=tmp_path / "c").versions("pkg") == ["1.0"]


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("a-1.2.3-py3-none-any.whl", "1.2.3"),
        ("a-1.2-1-cp311-abi3-linux_x86_64.whl", "1.2"),
        ("llama_cpp_python-0.3.36.tar.gz", "0.3.36"),
        ("notes.txt", None),
        ("broken.whl", None),
    ],
)
def test_version_in(name, version):
    assert version_in(name) == version


def test_a_local_path_that_is_nothing(tmp_path):
    from seatrial.facts.sync import open_local

    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(UsageError):
        open_local(tmp_path / "x.txt")
