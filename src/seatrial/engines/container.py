"""Engines in containers: docker or podman by their command line, images by digest.

The container publishes its port on the loopback interface only, sees the weights read-only, and
carries a name of its own by which it is removed when the engine ends, however it ends: killing
the command-line client leaves a container running, so the keeper removes it afterwards.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec

from seatrial.core.errors import PrerequisiteError, UsageError
from seatrial.core.provenance import now_utc
from seatrial.engines.adapter import Launch
from seatrial.engines.environment import RECORD, Environment, engines_dir
from seatrial.engines.settings import Settings
from seatrial.store.artifact import encode
from seatrial.store.atomic import write_bytes

RUNTIMES = ("docker", "podman")
INSIDE = "0.0.0.0"
"""What the engine binds inside its own network namespace; outside only loopback is published."""
_BY_DIGEST = re.compile(r"[\w.:/-]+@sha256:[0-9a-f]{64}")


def register(engine: str, version: str, image: str, runtime: str | None = None) -> Environment:
    """Record that ``engine`` at ``version`` runs from ``image``; nothing is pulled.

    Raises:
        UsageError: the image is not named by its digest (a tag may change under one's feet), or
            the version is none.
        PrerequisiteError: neither docker nor podman is on the PATH.
    """
    if not _BY_DIGEST.fullmatch(image):
        raise UsageError(
            "an image must be named by its digest",
            where=image,
            unchanged="nothing was recorded",
            remedy="NAME@sha256:... as shown by docker inspect --format '{{.RepoDigests}}' NAME",
        )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", version):
        raise UsageError(
            "that is no version",
            where=version,
            unchanged="nothing was recorded",
            remedy="give the engine's version in that image, such as 0.33.0",
        )
    found = next((r for r in ([runtime] if runtime else RUNTIMES) if shutil.which(r)), None)
    if found is None:
        raise PrerequisiteError(
            f"{runtime or 'docker or podman'} is not on the PATH",
            where=image,
            unchanged="nothing was recorded",
            remedy="install a container runtime, or use a wheel or a binary of the engine",
        )
    record = Environment(
        engine=engine,
        version=version,
        kind="container",
        distribution=found,
        program=image,
        created_at=now_utc(),
    )
    folder = engines_dir() / f"{engine}-{version}-container"
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(folder / RECORD, encode(record))
    return record


def contained(
    launch: Launch, environment: Environment, artefact: Path, settings: Settings, port: int
) -> Launch:
    """``launch`` inside the environment's container, as a command of its runtime."""
    runtime, name = environment.distribution, f"seatrial-{port}"
    argv = [runtime, "run", "--rm", "--init", "--name", name]
    argv += ["--publish", f"127.0.0.1:{port}:{port}", "--volume", f"{artefact}:{artefact}:ro"]
    for adapter in settings.lora:
        argv += ["--volume", f"{adapter.path}:{adapter.path}:ro"]
    if settings.devices is not None:
        argv += ["--gpus", f'"device={",".join(map(str, settings.devices))}"']
    elif Path("/dev/nvidiactl").exists():
        argv += ["--gpus", "all"]
    if settings.cpus is not None:
        argv += ["--cpuset-cpus", ",".join(map(str, settings.cpus))]
    for key, value in {**launch.own_env, **settings.env}.items():
        argv += ["--env", f"{key}={value}"]
    argv += ["--ipc", "host", "--entrypoint", launch.argv[0], environment.program]
    return msgspec.structs.replace(
        launch, argv=[*argv, *launch.argv[1:]], after=[runtime, "rm", "--force", name]
    )
