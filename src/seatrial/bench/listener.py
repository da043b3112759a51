"""Whose process answers at an endpoint: the server that seatrial did not start.

A server on this machine shares its CPUs with the client, so its own CPU time must not be taken
for that of strangers, and its memory can be told. Found from the kernel's table of sockets:

    host -> one of this machine's addresses? -> the socket that listens on the port
         -> the process that holds it -> up to the head of its process group
    no process to be seen (another user's) -> the socket's user, if it is a service's own
            and runs one tree only

A forwarder (a container's proxy, a tunnel) listens for someone else: then the engine's processes
cannot be told, and that is said instead of guessed.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import psutil

_FORWARDERS = (
    "docker-proxy", "rootlessport", "rootlesskit", "slirp4netns", "pasta", "passt", "gvproxy",
    "com.docker.backend", "ssh", "sshd", "kubectl", "socat", "nginx", "haproxy", "envoy",
    "caddy", "traefik", "wslrelay",
)  # fmt: skip
_SHELLS = {"sh", "bash", "dash", "zsh", "fish", "tmux", "screen", "make", "init", "systemd"}
_LISTEN = "0A"
_ANY = {"0.0.0.0", "::", "*"}
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_FIRST_PERSON_UID = 1000  # login.defs: users below are services


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """Who listens.

    Attributes:
        local: the address is one of this machine's.
        pid: root of the process tree that serves there; None: elsewhere, or it cannot be told.
        name: of that process, or of the forwarder.
        unknown_because: why it cannot be told although it is local; "" otherwise.
    """

    local: bool
    pid: int | None = None
    name: str = ""
    unknown_because: str = ""


def find(url: str) -> Listener:
    """Who listens at this address. Reads the process table once; never raises."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = _addresses(parts.hostname or "")
    if not is_local(addresses):
        return Listener(local=False)
    try:
        pid = _holder(port, addresses)
        if pid is None:
            return _by_user(port)
        return _told(pid)
    except (psutil.Error, OSError) as error:
        return _unknown(f"the system does not show it ({type(error).__name__})")


def _addresses(host: str) -> set[str]:
    """What the name stands for; empty if it is unknown."""
    try:
        return {str(item[4][0]).partition("%")[0] for item in socket.getaddrinfo(host, None)}
    except OSError:
        return set()


def is_local(addresses: set[str]) -> bool:
    """Whether all of these are this machine's own; False for none."""
    own = {a.address.partition("%")[0] for items in psutil.net_if_addrs().values() for a in items}
    return bool(addresses) and all(_loopback(a) or a in own for a in addresses)


def _loopback(address: str) -> bool:
    return address.startswith("127.") or address == "::1"


def _unknown(because: str, name: str = "") -> Listener:
    return Listener(local=True, name=name, unknown_because=because)


def _holder(port: int, addresses: set[str]) -> int | None:
    """A process that holds the listening socket, as far as this user may see it."""
    wanted = addresses | _ANY
    for item in psutil.net_connections(kind="tcp"):
        if item.status != psutil.CONN_LISTEN or not item.laddr or item.laddr.port != port:
            continue
        if item.laddr.ip.removeprefix("::ffff:") in wanted and item.pid is not None:
            return int(item.pid)
    return None


def _told(pid: int) -> Listener:
    process = psutil.Process(pid)
    name = process.name()
    if name in _FORWARDERS or name.startswith("pasta"):
        return _unknown(f"{name} listens there and passes on to processes it does not name", name)
    ours = _ancestors()
    if pid in ours:
        return _unknown("it is part of the client's own process", name)
    root = _head(process, ours)
    return Listener(local=True, pid=root.pid, name=root.name())


def _ancestors() -> set[int]:
    """This process and those above it."""
    own = psutil.Process()
    return {own.pid, *(p.pid for p in own.parents())}


def _head(process: psutil.Process, ours: set[int]) -> psutil.Process:
    """Up to the head of the process group: workers beside the listener are the engine's too.

    Never into a shell, the client's own ancestors, or another group: what started the server is
    not the server.
    """
    group = os.getpgid(process.pid)
    while (above := process.parent()) is not None and above.pid > 1 and above.pid not in ours:
        if above.name() in _SHELLS or os.getpgid(above.pid) != group:
            break
        process = above
    return process


def _by_user(port: int) -> Listener:
    """The tree of the socket's user, where it is a service's own user with one tree."""
    uid = _uid(port)
    if uid is None:
        return _unknown("no listening socket on that port is shown to this user")
    if uid == 0 or uid >= _FIRST_PERSON_UID:
        return _unknown(f"it belongs to another user (uid {uid})")
    theirs = [p for p in psutil.process_iter(["uids"]) if _of_user(p, uid)]
    pids = {p.pid for p in theirs}
    roots = [p for p in theirs if p.ppid() not in pids]
    if len(roots) != 1:
        return _unknown(f"it belongs to uid {uid}, which runs {len(roots)} process trees")
    return Listener(local=True, pid=roots[0].pid, name=roots[0].name())


def _of_user(process: psutil.Process, uid: int) -> bool:
    uids = process.info.get("uids")
    return uids is not None and uids.real == uid


def _uid(port: int) -> int | None:
    """The user of the socket that listens on the port, by Linux's table of sockets."""
    for table in _TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) < 8 or fields[3] != _LISTEN:
                continue
            if int(fields[1].rpartition(":")[2], 16) == port:
                return int(fields[7])
    return None
