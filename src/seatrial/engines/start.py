"""Starting an engine: environment, port, process, readiness by a real generation.

Ready means: the health route answers *and* a request came back with at least one token. Each
alone has been seen to lie (200 on /health from a server that hung for hours; death at the first
request).
"""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.errors import EngineError, PrerequisiteError
from seatrial.core.progress import Progress, Silent
from seatrial.core.provenance import now_utc
from seatrial.engines import http, leftovers
from seatrial.engines.adapter import Adapter, Launch
from seatrial.engines.container import INSIDE, contained
from seatrial.engines.environment import Environment, environments, on_path
from seatrial.engines.process import spawn
from seatrial.engines.registry import adapter as adapter_named
from seatrial.engines.running import RunningEngine
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import tail
from seatrial.workload.spec import CandidateSpec

HOST = "127.0.0.1"
SCRATCH = "@scratch@"
PORT_TRIES = 4


def start(
    candidate: CandidateSpec,
    *,
    artefact: Path,
    settings: Settings | None = None,
    log: Path,
    progress: Progress | None = None,
    environment: Environment | None = None,
    detached: bool = False,
) -> RunningEngine:
    """Start one candidate on this machine and wait until it has generated a token.

    Args:
        artefact: the weights (a GGUF file or a folder).
        log: file that takes the engine's output; appended to.
        environment: where it runs; None: the installed one of that version, else the PATH.
        detached: the engine goes on when this process ends.

    Raises:
        PrerequisiteError: the engine is not installed, or the port asked for is in use.
        EngineError: it ended, or generated nothing within ``settings.ready_timeout_s``; it has
            been stopped, and the message carries the end of its log.
    """
    progress, settings = progress or Silent(), settings or Settings()
    if candidate.endpoint:
        return attach(candidate.endpoint, engine=candidate.engine, model=settings.served_name)
    adapter = adapter_named(candidate.engine)
    for left in leftovers.sweep():
        progress.step("start", f"stopped a leftover: {left.engine} (pid {left.pid}), {left.log}")
    place = environment or find_environment(adapter, candidate.version)
    flags = adapter.flags(candidate, artefact, settings)
    adapter.check_flags(place, flags)
    log.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(PORT_TRIES):
        port = settings.port or free_port()
        require_free(port)
        engine = _spawn(adapter, place, artefact, settings, flags, port, log, detached)
        try:
            _await_ready(engine, settings.ready_timeout_s, progress)
            return engine
        except PortTaken:
            engine.stop(0.0)
            if settings.port is not None or attempt == PORT_TRIES - 1:
                raise _in_use(port) from None
            progress.step("start", f"port {port} was taken in the meantime: another one")
        except BaseException:
            engine.stop(2.0)
            raise
    raise AssertionError("unreachable")


class PortTaken(Exception):
    """Internal: somebody took the port between our look and the engine's bind."""


def attach(endpoint: str, *, engine: str | None = None, model: str | None = None) -> RunningEngine:
    """An engine that someone else runs, at ``http://HOST:PORT``.

    What needs its process or its log (cold start, signals, log lines) cannot be measured.

    Raises:
        EngineError: nothing answers there, or no model is served.
    """
    base = endpoint.rstrip("/").removesuffix("/v1")
    chosen = adapter_named(engine) if engine else adapter_named("endpoint")
    reply = http.get(base, chosen.routes.models)
    served = _served(reply.json())
    if not reply.ok or not (model or served):
        raise EngineError(
            f"no model is served there (status {reply.status} {reply.error})".rstrip(),
            where=base + chosen.routes.models,
            unchanged="nothing was sent beyond that request",
            remedy="start the server, or give its address as http://HOST:PORT",
        )
    place = Environment(engine=chosen.name, version="", kind="endpoint", program=base)
    return RunningEngine(
        adapter=chosen,
        environment=place,
        base_url=base,
        model=model or served[0],
        settings=Settings(),
        flags={},
        log=None,
    )


def find_environment(adapter: Adapter, version: str | None) -> Environment:
    """The installed environment for this version (None: the newest installed), else the PATH.

    Raises:
        PrerequisiteError: neither is there.
    """
    wanted = version.removeprefix("b") if version and adapter.name == "llama.cpp" else version
    fits = [e for e in environments() if e.engine == adapter.name]
    if wanted:
        fits = [e for e in fits if e.version == wanted]
    if fits:
        return max(fits, key=lambda e: _numbers(e.version))
    found = on_path(adapter.name, adapter.binary) if adapter.binary and not wanted else None
    if found is not None:
        return found
    what = adapter.install_name + (f"=={wanted}" if wanted else "")
    raise PrerequisiteError(
        f"{adapter.title} {wanted or ''} is not installed on this machine".replace("  ", " "),
        where=f"candidate engine {adapter.name}",
        unchanged="nothing was started",
        remedy=f"seatrial engines install {what}, or give the address of one that runs "
        "(endpoint: http://HOST:PORT)",
    )


def free_port() -> int:
    """A port of the loopback interface that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int) -> None:
    """Raise if somebody listens on the port.

    Raises:
        PrerequisiteError: the port is in use; the engine has not been started.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise _in_use(port) from None


def _in_use(port: int) -> PrerequisiteError:
    mine = [r for r in leftovers.running() if r.base_url.endswith(f":{port}")]
    whose = f" (seatrial's own {mine[0].engine}, pid {mine[0].pid})" if mine else ""
    return PrerequisiteError(
        f"port {port} is in use{whose}",
        where=f"{HOST}:{port}",
        unchanged="the engine was not started; whoever uses the port goes on",
        remedy="stop that process (seatrial engines stop), or leave the port out: a free one "
        "is then taken",
    )


def _spawn(
    adapter: Adapter,
    place: Environment,
    artefact: Path,
    settings: Settings,
    flags: dict[str, Any],
    port: int,
    log: Path,
    detached: bool,
) -> RunningEngine:
    scratch = log.resolve().with_name(f"{log.name}.d")
    inside = place.kind == "container"
    made = adapter.launch(place, artefact, flags, INSIDE if inside else HOST, port)
    launch = _placed(made, scratch)
    if inside:
        launch = contained(launch, place, artefact.resolve(), settings, port)
    env = {**launch.env, **settings.env}
    if settings.devices is not None:
        visible = ",".join(map(str, settings.devices))
        env |= {"CUDA_VISIBLE_DEVICES": visible, "HIP_VISIBLE_DEVICES": visible}
    offset = log.stat().st_size if log.exists() else 0
    process = spawn(
        launch.argv,
        env=env,
        log=log,
        cpus=settings.cpus,
        cgroup_procs=settings.cgroup_procs,
        detached=detached,
        after=launch.after,
    )
    model = adapter.served_name(artefact, settings)
    note = leftovers.Running(
        schema=leftovers.SCHEMA,
        engine=adapter.name,
        version=place.version,
        model=model,
        base_url=f"http://{HOST}:{port}",
        log=str(log.resolve()),
        started_at=now_utc(),
        pid=process.pid,
        created=process.created,
        keeper_pid=process.keeper_pid,
        owner_pid=leftovers.own_pid(),
        owner_created=leftovers.own_created(),
        detached=detached,
    )
    leftovers.note(note)
    engine = RunningEngine(
        adapter=adapter,
        environment=place,
        base_url=note.base_url,
        model=model,
        settings=settings,
        flags=launch.flags,
        log=log,
        process=process,
        note=note,
        artefact=artefact,
    )
    engine.log_offset = offset
    engine.own_env = {**launch.own_env, **settings.env}
    return engine


def _placed(launch: Launch, scratch: Path) -> Launch:
    """The launch with its scratch folder filled in, and that folder made if it is needed."""
    texts = [*launch.argv, *launch.own_env.values()]
    if not launch.files and not any(SCRATCH in text for text in texts):
        return launch
    scratch.mkdir(parents=True, exist_ok=True)
    for name, text in launch.files.items():
        (scratch / name).write_text(text, encoding="utf-8")
    place = str(scratch)
    return msgspec.structs.replace(
        launch,
        argv=[a.replace(SCRATCH, place) for a in launch.argv],
        env={k: v.replace(SCRATCH, place) for k, v in launch.env.items()},
        own_env={k: v.replace(SCRATCH, place) for k, v in launch.own_env.items()},
    )


def _await_ready(engine: RunningEngine, timeout_s: float, progress: Progress) -> None:
    """Health, then a generation; fills ``cold_start_s``."""
    if engine.process is None or engine.log is None:
        raise AssertionError("only an engine of our own is waited for")
    began = engine.process.started_ns
    deadline = time.monotonic() + timeout_s
    progress.step("start", f"{engine.adapter.title} at {engine.base_url}, pid {engine.pid}")
    pause = 0.02
    while not engine.healthy(timeout_s=2.0):
        _check_alive(engine, deadline, timeout_s, "its health route did not answer")
        time.sleep(pause)
        pause = min(0.5, pause * 1.3)
    healthy_ns = time.monotonic_ns()
    if engine.artefact is not None:
        engine.adapter.load(engine.base_url, engine.artefact, engine.model)
    first_ns = first_token(engine, max(1.0, deadline - time.monotonic()))
    _check_alive(engine, deadline, timeout_s, "it generated nothing", failed=first_ns is None)
    if first_ns is None:
        raise AssertionError("checked above")
    split = engine.adapter.cold_start(engine.log_text())
    engine.cold_start_s = _split(split, began, healthy_ns, first_ns)
    progress.step("start", f"ready after {engine.cold_start_s['total']:.1f} s")


def _split(told: dict[str, float], began: int, healthy: int, first: int) -> dict[str, float | None]:
    """Cold start in seconds: what the log tells, ``process`` as the rest until health."""
    to_health = (healthy - began) / 1e9
    weights, warmup = told.get("weights"), told.get("warmup")
    process = told.get("process")
    if process is None and weights is not None:
        process = max(0.0, to_health - weights - (warmup or 0.0))
    return {
        "process": process,
        "weights": weights,
        "warmup": warmup,
        "first_token": (first - healthy) / 1e9,
        "healthy": to_health,
        "total": (first - began) / 1e9,
    }


def first_token(engine: RunningEngine, timeout_s: float) -> int | None:
    """Ask for a few tokens; monotonic ns of the first content, or None when none came.

    A chat request, since every engine has that route; the role-only first event is no content.
    """
    body = {
        "model": engine.model,
        "messages": [{"role": "user", "content": "Say one word."}],
        "max_tokens": 4,
        "temperature": 0,
        "stream": True,
    }
    try:
        with http.stream(
            engine.base_url, engine.adapter.routes.chat, body, timeout_s=timeout_s
        ) as answer:
            if answer.status >= 400:
                return None
            for event in answer.events():
                if has_content(event.json()):
                    return event.ns
    except EngineError:
        return None
    return None


def has_content(chunk: Any) -> bool:
    """Does a chat chunk carry text, reasoning or tool-call text?"""
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return False
    delta = choices[0].get("delta")
    if not isinstance(delta, dict):
        return bool(choices[0].get("text"))
    keys = ("content", "reasoning_content", "reasoning", "tool_calls")
    return any(delta.get(key) for key in keys)


def _check_alive(
    engine: RunningEngine, deadline: float, timeout_s: float, what: str, *, failed: bool = False
) -> None:
    """Raise when the engine has ended, when it failed, or when its time is over."""
    if engine.process is None or engine.log is None:
        raise AssertionError("only an engine of our own is waited for")
    ended = engine.process.poll()
    if ended is None and not failed and time.monotonic() < deadline:
        return
    end = tail(engine.log)
    if ended is not None and any(re.search(p, end) for p in engine.adapter.port_taken):
        raise PortTaken
    if ended is not None:
        what = f"it ended during its start ({ended})"
    elif not failed:
        what = f"{what} within {timeout_s:.0f} s"
    raise EngineError(
        f"{engine.adapter.title} did not start: {what}",
        where=f"{engine.log}\n{end}",
        unchanged="it has been stopped",
        remedy="read its log; the artefact, the flags or the memory do not suit it",
    )


def _served(answer: Any) -> list[str]:
    """Model ids in an answer of /v1/models."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list):
        return []
    return [m["id"] for m in data if isinstance(m, dict) and isinstance(m.get("id"), str)]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version))
