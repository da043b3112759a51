"""``seatrial serve``: the local web application over a folder of trials."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console

app = App(name="serve", help="Serve the trials in a folder as a local web application.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print the address as JSON.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No notes on stderr.")]
Everywhere = Annotated[bool, Parameter(negative=(), help="Allow an address that is not loopback.")]


@app.default
def serve(
    trials: Path = Path("trials"),
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8642,
    unsafe_everywhere: Everywhere = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Listen on loopback and print the address; Ctrl-C ends it.

    Nothing outside the folder can be read. What stops a run needs the token in the address.

    Parameters
    ----------
    trials
        The folder whose sub-folders are trials.
    host
        Address to listen on.
    port
        Port to listen on; 0 takes a free one.
    """
    from seatrial.core.errors import UsageError
    from seatrial.web import listen
    from seatrial.web import serve as run

    if not trials.is_dir():
        raise UsageError(
            "there is no such folder of trials",
            where=str(trials),
            unchanged="nothing was started",
            remedy="run a trial first (seatrial run WORKLOAD), or name the folder",
        )
    console = Console(as_json=json, quiet=quiet)
    listening = listen(host, port, everywhere=unsafe_everywhere)
    console.document({"schema": "seatrial/serve/1", "url": listening.url, "port": listening.port})
    console.line(listening.url)
    console.note("Ctrl-C ends it")
    run(trials, listening)
    return 0
