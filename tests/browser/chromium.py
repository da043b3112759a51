"""Debian's Chromium over its debugging pipe: no driver, no port, nothing to install in Python.

Commands are JSON objects of the DevTools protocol, each ended by a NUL byte, written to the
browser's file descriptor 3 and answered on 4. Every request that a page makes and every line it
writes to the console is kept, so that a test can say "none".
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
SMALL, LARGE = 360, 1440


def find() -> str | None:
    """The browser's path, None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Chromium:
    """One browser with one page; use as a context manager."""

    def __init__(self) -> None:
        # Goes with this process, also where the browser does not come up.
        self._profile = tempfile.TemporaryDirectory(
            prefix="seatrial-chromium-", ignore_cleanup_errors=True
        )
        executable = find()
        assert executable is not None
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        inside = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (commands, answers)]
        quiet = os.open(os.devnull, os.O_RDWR)
        self._pid = os.posix_spawn(
            executable,
            [executable, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, quiet, fd) for fd in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, inside[0], 3),
                (os.POSIX_SPAWN_DUP2, inside[1], 4),
            ],
        )
        for fd in (commands, answers, quiet, *inside):
            os.close(fd)
        self._ids = itertools.count(1)
        self._buffer = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        self._attach()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and remove its profile."""
        os.kill(self._pid, signal.SIGTERM)
        end = time.monotonic() + 10
        while os.waitpid(self._pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                end = float("inf")
            time.sleep(0.05)
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def _attach(self) -> None:
        targets = self.call("Target.getTargets", session=False)["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        found = self.call(
            "Target.attachToTarget", session=False, targetId=page["targetId"], flatten=True
        )
        self._session = found["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, *, session: bool = True, **params: Any) -> dict[str, Any]:
        """One command; its result. Raises RuntimeError with the browser's message."""
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(30.0)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _next(self, timeout_s: float) -> dict[str, Any]:
        end = time.monotonic() + timeout_s
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser did not answer")
            chunk = os.read(self._read, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def wait_for(self, method: str, timeout_s: float = 30.0) -> None:
        """Wait for an event that has not been seen yet."""
        while True:
            event = self._next(timeout_s)
            self.events.append(event)
            if event.get("method") == method:
                return

    def open(
        self, url: str, *, width: int = LARGE, dark: bool = False, offline: bool = True
    ) -> None:
        """Load ``url`` in a window of ``width`` px; forgets earlier events."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.call(
            "Network.emulateNetworkConditions",
            offline=offline,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )
        self.events.clear()
        self.call("Page.navigate", url=url)
        if not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def until(self, expression: str, timeout_s: float = 40.0) -> Any:
        """Wait until an expression is true; its value. Raises TimeoutError."""
        end = time.monotonic() + timeout_s
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def requests(self) -> list[str]:
        """URLs asked for since ``open``, the page's own apart."""
        asked = [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked[1:] if not url.startswith("data:")]

    def complaints(self) -> list[str]:
        """Console messages, exceptions and log entries since ``open``."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(f"{params['entry']['level']}: {params['entry']['text']}")
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str([a.get("value") for a in params["args"]]))
        return found

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """A PNG of the window, or of the whole page."""
        params: dict[str, Any] = {"format": "png"}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            height = min(size["height"], 12_000)
            clip = {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}
            params |= {"clip": clip, "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", **params)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path: Path) -> None:
        """The page as it prints."""
        data = self.call("Page.printToPDF", printBackground=False)["data"]
        path.write_bytes(base64.b64decode(data))
