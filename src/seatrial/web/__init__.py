"""The local web application over a folder of trials."""

from seatrial.web.app import create_app
from seatrial.web.server import listen, serve

__all__ = ["create_app", "listen", "serve"]
