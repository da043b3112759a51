"""``seatrial``: the verbs, and the one place where an error becomes text and an exit code.

Verbs are named by import path and loaded when called, so ``seatrial --help`` stays fast. A verb
returns its exit code (None is 0); everything else it has to say it raises.
"""

from __future__ import annotations

import contextlib
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

from seatrial._version import __version__
from seatrial.cli.errors import Spoken, clean, report, whole
from seatrial.core.errors import PrerequisiteError, SeatrialError, UsageError

if TYPE_CHECKING:
    from cyclopts import App

VERBS: dict[str, str] = {
    "run": "the whole trial of a workload, resumable; ends with the dossier",
    "profile": "fingerprint a request log of any known format",
    "trace": "traces: formats that are read, slice, synth, compare",
    "gate": "elimination table: which candidates can do the job at all, and why not the others",
    "landscape": "the map of engines, drawn from facts",
    "facts": "facts about engines: sync, show, diff, when, verify, export",
    "doctor": "what this machine can run, and what is missing",
    "engines": "engines on this machine: list, install, start, stop",
    "probe": "contract probes on a live engine",
    "quality": "task check of every candidate against the reference artefact",
    "bench": "load test of any OpenAI-compatible server",
    "lifecycle": "cold start, drain, kill, recovery, upgrade, roll-back",
    "plan": "what a trial measures, in which order, judged by which rule",
    "decide": "the decision on a trial, from what has been measured",
    "diff": "an upgrade: what changed, and is it a regression",
    "watch": "the roll-back trigger, live or as Prometheus rules",
    "dossier": "write a trial's dossier: HTML, Markdown and JSON",
    "serve": "the local web application over a folder of trials",
    "sim": "the simulator held to measurements: validate, score, timeline",
    "capacity": "replicas and cost for the SLO when traffic grows (predicted)",
    "whatif": "which variable matters for this traffic (predicted)",
    "import": "results of other load generators, as evidence of a lower grade",
    "export": "a cell or a trace in the formats of others",
}
"""verb -> one line of help; its commands are ``app`` in ``seatrial.cli.VERB``."""

INTERRUPTED = 130
DEFECT = 70  # EX_SOFTWARE of sysexits.h: not one of the contract's answers


SUMMARY = "Which LLM inference engine should serve this workload, shown and not asserted."


def overview() -> str:
    """The text of ``seatrial --help``: made without importing anything, so that it is instant."""
    width = max(map(len, VERBS), default=0)
    verbs = "\n".join(f"  {verb:<{width}}  {line}" for verb, line in VERBS.items())
    return (
        f"Usage: seatrial VERB [ARGS]\n\n{SUMMARY}\n\nVerbs:\n{verbs}\n\n"
        "  --help     this text; seatrial VERB --help for a verb\n"
        "  --version  the version\n"
    )


def build_app() -> App:
    """The application with every verb that exists, none of them imported."""
    from cyclopts import App

    app = App(
        name="seatrial",
        version=__version__,
        help=SUMMARY,
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        help_on_error=False,
        suppress_keyboard_interrupt=False,  # it would end the process without a word
    )
    for verb, line in VERBS.items():
        module = f"{verb}_" if keyword.iskeyword(verb) else verb
        app.command(f"seatrial.cli.{module}:app", name=verb, help=line)
    return app


def _as_interrupt(_signum: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the console script; ends the process with the exit code."""
    tokens = list(sys.argv[1:] if argv is None else argv)
    signal.signal(signal.SIGTERM, _as_interrupt)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup asks for it to be ignored
        signal.signal(signal.SIGHUP, _as_interrupt)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123  closed by the caller
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    whole((sys.stdout, sys.stderr))
    sys.exit(run(tokens))


def run(tokens: list[str]) -> int:
    """Run one command line; returns the exit code of DESIGN's table."""
    if not tokens or tokens[0] in ("--help", "-h"):
        print(overview(), end="")
        return 0
    if tokens[0] == "--version":
        print(__version__)
        return 0
    as_json = "--json" in tokens
    Spoken.document = False
    try:
        return _called(tokens)
    except SeatrialError as error:
        return report(error, as_json=as_json)
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):  # the terminal may be what has gone
            print(
                "seatrial: interrupted; what was started has been stopped, what was finished is "
                "kept: the same command goes on from there",
                file=sys.stderr,
            )
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return report(_memory(), as_json=as_json)
    except Exception as error:  # noqa: BLE001  the last border: no traceback reaches a user
        return _defect(error, tokens)


def _called(tokens: list[str]) -> int:
    from cyclopts import CycloptsError

    try:
        result = build_app()(tokens)
    except CycloptsError as error:
        raise _usage(str(error).strip() or type(error).__name__, tokens) from error
    return result if isinstance(result, int) else 0


def _usage(text: str, tokens: list[str]) -> UsageError:
    return UsageError(
        text,
        where=f"seatrial {' '.join(tokens)}",
        unchanged="nothing was started",
        remedy="see seatrial --help, or seatrial VERB --help",
    )


def _defect(error: Exception, tokens: list[str]) -> int:
    """Something we did not foresee: one paragraph, and the traceback in a file."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile(
        "w", prefix="seatrial-defect-", suffix=".txt", delete=False
    ) as file:
        file.write(f"seatrial {__version__}: {' '.join(tokens)}\n\n")
        traceback.print_exception(error, file=file)
    print(
        clean(
            f"seatrial: a defect of seatrial itself: {type(error).__name__}: {error}\n"
            f"  where: {file.name}\n"
            "  unchanged: every artefact that was finished before\n"
            "  do: run the same command again (it resumes); if it comes back, report that file"
        ),
        file=sys.stderr,
    )
    return DEFECT


def _memory() -> PrerequisiteError:
    return PrerequisiteError(
        "this machine's memory did not suffice",
        unchanged="everything finished before it",
        remedy="free memory or take a smaller slice, then run the same command again",
    )
