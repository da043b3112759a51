"""Reading an engine's /metrics over one kept-alive connection."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from seatrial.telemetry.prometheus import MAX_TEXT_BYTES


class Scraper:
    """Fetches one address again and again; None whenever there is no answer."""

    def __init__(self, url: str, timeout_s: float = 5.0) -> None:
        parts = urlsplit(url)
        https = parts.scheme == "https"
        kind = http.client.HTTPSConnection if https else http.client.HTTPConnection
        self._link = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout_s)
        self._path = parts.path or "/"

    def text(self) -> str | None:
        """The exposition, at most ``MAX_TEXT_BYTES``; one new connection if the old one broke."""
        for _ in range(2):
            try:
                self._link.request("GET", self._path, headers={"Accept": "text/plain"})
                answer = self._link.getresponse()
                body = answer.read(MAX_TEXT_BYTES)
                if answer.read(1):
                    self._link.close()
                return body.decode("utf-8", errors="replace") if answer.status == 200 else None
            except (OSError, http.client.HTTPException):
                self._link.close()
        return None

    def close(self) -> None:
        """Drop the connection."""
        self._link.close()
