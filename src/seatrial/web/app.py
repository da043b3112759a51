"""The local web application: pages, their JSON twins, and the stream of a running trial.

Every page is the same shell; the page at ``/x`` shows what ``/x.json`` says, so that whatever a
person sees a program can ask for. It runs in a process of its own: it shares no event loop and no
core with a load generator, and learns of a running trial from its folder alone.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from seatrial.core.errors import IntegrityError, PrerequisiteError, SeatrialError, UsageError
from seatrial.dossier import predicted_page
from seatrial.dossier.html import policy
from seatrial.web import predicted, question, trials
from seatrial.web.guard import LOOPBACK, Guard, inside
from seatrial.web.runs import Runs
from seatrial.web.views import Views

STATIC = frozenset(
    {
        "app.js",
        "pages.js",
        "facts.js",
        "form.js",
        "parts.js",
        "style.css",
        "vendor/htm-preact.js",
        "vendor/uplot.js",
        "vendor/uplot.css",
    }
)
PAGES = (
    "/",
    "/trials/{name}",
    "/compare",
    "/facts",
    "/facts/{engine}",
    "/fingerprint/{name}",
    "/profile",
    "/new",
)
POLL_S = 0.5
HEARTBEAT_S = 15.0
MAX_BODY_BYTES = 2 * question.MAX_TEXT_BYTES
_PLAIN = {".json", ".jsonl", ".yaml", ".md", ".log", ".txt"}
Handler = Callable[[Request], Awaitable[Response]]


def create_app(
    root: Path,
    *,
    token: str,
    port: int | None = None,
    hosts: tuple[str, ...] = LOOPBACK,
    runs: Runs | None = None,
) -> Starlette:
    """The application over the trials in ``root``.

    Args:
        token: what every request that changes something must carry.
        port: the port it listens on; None accepts any.
        hosts: names it may be addressed by.
        runs: starts runs and follows them; a new one if not given.
    """
    views = Views(root, runs=runs)
    routes = [
        Route("/index.json", _json(lambda r: views.index())),
        Route("/trials/{name}.json", _json(lambda r: views.trial(r.path_params["name"]))),
        Route("/trials/{name}/events", _events(views)),
        Route("/trials/{name}/log", _log(views)),
        Route("/trials/{name}/dossier", _dossier(views)),
        Route("/trials/{name}/dossier.json", _json(lambda r: views.dossier(_name(r), _lang(r)))),
        Route("/trials/{name}/predicted", _predicted(views)),
        Route("/trials/{name}/predicted.json", _json(lambda r: predicted.document(
            views.trial_folder(_name(r)), _lang(r), r.query_params.get("candidate")))),
        Route("/trials/{name}/files/{path:path}", _file(views)),
        Route("/trials/{name}/stop", _stop(views), methods=["POST"]),
        Route("/fingerprint/{name}.json", _json(lambda r: views.fingerprint(_name(r)))),
        Route("/profile.json", _json(lambda r: views.profile(r.query_params.get("path", "")))),
        Route("/compare.json", _json(lambda r: views.compare(dict(r.query_params)))),
        Route("/facts.json", _json(lambda r: views.engines())),
        Route("/facts/{engine}.json", _json(lambda r: views.facts(
            r.path_params["engine"], dict(r.query_params)))),
        Route("/new.json", _json(lambda r: views.new())),
        Route("/gate.json", _body(partial(question.answer, root)), methods=["POST"]),
        Route("/runs.json", _body(views.runs.start), methods=["POST"]),
        Route("/static/{path:path}", _static),
        *(Route(path, _shell) for path in PAGES),
        Route("/favicon.ico", _no_icon),
    ]  # fmt: skip
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, hosts=hosts, port=port, token=token)],
        exception_handlers={SeatrialError: _failed},
    )


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _lang(request: Request) -> str:
    return request.query_params.get("lang", "en")


def encoded(value: Any, status: int = 200) -> Response:
    """JSON; NaN and infinity are null."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _failed(request: Request, error: Exception) -> Response:
    """The one form of an error: what, where, what to do."""
    assert isinstance(error, SeatrialError)
    status = 409
    if isinstance(error, UsageError):
        status = 404 if request.method == "GET" else 400
    elif isinstance(error, IntegrityError):
        status = 422
    # "where" may be a path of this machine; what a page asked for it knows itself
    where = error.where if request.method == "POST" else ""
    return encoded({**error.as_dict(), "where": where}, status)


def _json(make: Callable[[Request], Any]) -> Handler:
    async def answer(request: Request) -> Response:
        return encoded(await run_in_threadpool(make, request))

    return answer


async def _shell(_request: Request) -> Response:
    return HTMLResponse(_resource("shell.html"))


async def _no_icon(_request: Request) -> Response:
    return Response(status_code=204)


async def _static(request: Request) -> Response:
    path = str(request.path_params["path"])
    if path not in STATIC:
        raise UsageError("there is no such file", where=path[:200], remedy="open the start page")
    kind = mimetypes.guess_type(path)[0] or "text/plain"
    return Response(_resource(path), media_type=kind)


def _resource(name: str) -> bytes:
    return files("seatrial.web").joinpath("static", *name.split("/")).read_bytes()


def _dossier(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        text = await run_in_threadpool(views.dossier_page, _name(request), _lang(request))
        script = text.rpartition("<script>")[2].partition("</script>")[0]
        return HTMLResponse(text, headers={"content-security-policy": policy(script)})

    return answer


def _predicted(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        folder = views.trial_folder(_name(request))
        candidate = request.query_params.get("candidate")
        text = await run_in_threadpool(predicted.page, folder, _lang(request), candidate)
        return HTMLResponse(text, headers={"content-security-policy": predicted_page.POLICY})

    return answer


def _file(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        folder = views.trial_folder(_name(request))
        path = inside(folder, str(request.path_params["path"]))
        if not path.is_file():
            raise UsageError("that is no file", where=path.name, remedy="choose one from the list")
        # never as HTML: a file of a trial must not run in the origin of this application
        kind = "text/plain" if path.suffix in _PLAIN else "application/octet-stream"
        return FileResponse(path, media_type=kind, filename=path.name)

    return answer


def _log(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        folder = views.trial_folder(_name(request))
        start = request.query_params.get("start", "")
        text = trials.log_tail(
            folder,
            candidate=request.query_params.get("candidate"),
            start=int(start) if start.isdigit() else None,
        )
        return encoded({"log": text})

    return answer


def _body(make: Callable[[bytes], Any]) -> Handler:
    """What ``make`` says to the request's body, which is bounded."""

    async def answer(request: Request) -> Response:
        raw = b""
        async for chunk in request.stream():
            raw += chunk
            if len(raw) > MAX_BODY_BYTES:
                break
        return encoded(await run_in_threadpool(make, raw))

    return answer


def _stop(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        folder = views.trial_folder(_name(request))
        pid = trials.holder(folder)
        if pid is None:
            raise PrerequisiteError(
                "no run is working on this trial",
                where=folder.name,
                unchanged="the trial",
                remedy="nothing to do",
            )
        os.kill(pid, signal.SIGTERM)
        return encoded({"stopped": folder.name})

    return answer


def _events(views: Views) -> Handler:
    async def answer(request: Request) -> Response:
        folder = views.trial_folder(_name(request))
        last = request.headers.get("last-event-id", request.query_params.get("after", "-1"))
        after = int(last) if last.lstrip("-").isdigit() else -1
        return StreamingResponse(
            stream(folder, after, request.is_disconnected), media_type="text/event-stream"
        )

    return answer


async def stream(
    folder: Path, after: int, gone: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """Server-sent events: each line of events.jsonl once, and ``cells`` when a cell appeared.

    The event's id is its number in the file: a browser that reconnects asks for what is missing.
    """
    cells, quiet_s = -1, 0.0
    while not await gone():
        found = await run_in_threadpool(trials.events, folder, after=after)
        for event in found:
            after = event.seq
            data = msgspec.json.encode(event)
            yield b"id: %d\ndata: %s\n\n" % (event.seq, data)
        number = len(await run_in_threadpool(lambda: list(folder.glob("cells/*/*/cell.json"))))
        if number != cells:
            cells = number
            yield b"event: cells\ndata: %d\n\n" % cells
        quiet_s = 0.0 if found else quiet_s + POLL_S
        if quiet_s >= HEARTBEAT_S:
            quiet_s = 0.0
            yield b": still here\n\n"
        await asyncio.sleep(POLL_S)
