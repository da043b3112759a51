"""What every engine adapter answers: flags, launch line, routes, names, read-back.

An adapter knows how one engine spells what all engines do. It holds no state of a running
engine; that is ``running.RunningEngine``. Facts of a version (which flags exist) come from the
fact store, not from here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import msgspec

from seatrial import facts
from seatrial.core.errors import EngineError
from seatrial.engines import http
from seatrial.engines.environment import Environment
from seatrial.engines.flags import require_choices, require_known
from seatrial.engines.settings import Settings
from seatrial.engines.signatures import Signature
from seatrial.facts.shortened import ARGPARSE, plain
from seatrial.workload.spec import CandidateSpec


class Routes(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of an engine's HTTP server; None: it has none."""

    health: str | None = "/health"
    models: str = "/v1/models"
    chat: str = "/v1/chat/completions"
    completions: str | None = "/v1/completions"
    embeddings: str | None = "/v1/embeddings"
    metrics: str | None = "/metrics"
    tokenize: str | None = "/tokenize"
    version: str | None = None
    load_lora: str | None = None
    unload_lora: str | None = None
    flush_cache: str | None = None


class MetricNames(msgspec.Struct, frozen=True, kw_only=True):
    """Prometheus names by meaning, as extracted (without ``_total``); None: not exported."""

    running: str | None = None
    waiting: str | None = None
    kv_usage: str | None = None
    prefix_hits: str | None = None
    prefix_queries: str | None = None
    preemptions: str | None = None
    ttft: str | None = None
    prompt_tokens: str | None = None
    output_tokens: str | None = None


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """A process to start.

    Attributes:
        argv: argument vector; ``@scratch@`` in it (and in ``env``) becomes a folder beside the log.
        env: the whole environment.
        flags: the engine's flags it was made of.
        own_env: variables the adapter set, for the record.
        files: name -> text of files to be written into the scratch folder first.
        after: a command to run when the engine has ended, however it ended.
    """

    argv: list[str]
    env: dict[str, str]
    flags: dict[str, Any]
    own_env: dict[str, str] = {}
    files: dict[str, str] = {}
    after: list[str] = []


class Adapter(ABC):
    """One engine. Class attributes are what is constant; see the subclasses."""

    name: str
    title: str
    distribution: str | None = None
    binary: str | None = None
    routes: Routes = Routes()
    metrics: MetricNames = MetricNames()
    signatures: tuple[Signature, ...] = ()
    port_taken: tuple[str, ...] = ("address already in use", "Address already in use", "EADDRINUSE")
    structured: frozenset[str] = frozenset({"json_schema", "json_object"})
    ignore_eos: bool = True
    """Whether a request may carry ``ignore_eos`` (else it is refused or ignored)."""
    drain: str = ""
    """What SIGTERM does to requests in flight, in words."""

    @abstractmethod
    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """The engine's own flags (underscores) for these settings; candidate.args win."""

    @abstractmethod
    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """The process to start."""

    @property
    def install_name(self) -> str:
        """What ``seatrial engines install`` takes for this engine."""
        return self.name

    def program(self, environment: Environment, script: str) -> list[str]:
        """How to call the engine's program: by the venv's python, in the image, as a binary."""
        if environment.kind == "venv":
            return [environment.program, "-I", str(environment.script(script))]
        return [script if environment.kind == "container" else environment.program]

    def flag_names(self, flags: dict[str, Any]) -> list[str]:
        """Those of the flags that the fact store can know."""
        return list(flags)

    def load(self, base_url: str, artefact: Path, model: str) -> None:  # noqa: B027
        """After the health route answers: hand over the weights, where the start does not."""

    def known_flags(self, environment: Environment) -> tuple[set[str], str]:
        """Flags this version is known to have, and where that is known from; empty: unknown.

        From the fact store, and only when that very version was read: flags come and go.
        """
        if not environment.version:
            return set(), ""
        store = facts.load()
        known = store.engine(self.name, environment.version)
        if not known.exact or not known.knows("flag"):
            return set(), ""
        return known.subjects("flag"), f"extracted from {self.title} {known.resolved}"

    def check_flags(self, environment: Environment, flags: dict[str, Any]) -> None:
        """Refuse flags and choices this version does not have, before anything is started.

        Raises:
            UsageError: an unknown flag or value; the message names the nearest one.
        """
        title = f"{self.title} {environment.version}".strip()
        known, source = self.known_flags(environment)
        if known:
            shortened = self.name in ARGPARSE
            names = self.flag_names(flags)
            require_known(title, names, known, source=source, shortened=shortened)
        if environment.version:
            require_choices(title, flags, self.choices(environment.version))

    def choices(self, version: str) -> dict[str, list[str]]:
        """Flag -> the values it takes, as extracted from exactly that version."""
        known = facts.load().engine(self.name, version)
        found = known.all("flag") if known.exact else []
        return {plain(f.subject): f.detail["choices"] for f in found if f.detail.get("choices")}

    def served_name(self, artefact: Path, settings: Settings) -> str:
        """The model name requests carry: asked for, or the artefact's file name."""
        return settings.served_name or artefact.name.removesuffix(".gguf")

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """Settings as the running engine reports them; keys of ``effective.KEYS``."""
        return {}

    def cold_start(self, log_text: str) -> dict[str, float]:
        """Seconds of ``weights`` and ``warmup``, and ``process`` where the log tells."""
        return {}

    def tokenize(self, base_url: str, model: str, text: str) -> list[int]:
        """Token ids of ``text`` without special tokens, by the engine's own tokenizer.

        Raises:
            EngineError: the engine has no such route, or it did not answer with tokens.
        """
        if self.routes.tokenize is None:
            raise EngineError(
                f"{self.title} has no tokenize route",
                where=base_url,
                remedy="count tokens from the usage of its answers",
            )
        reply = http.post(base_url, self.routes.tokenize, self.tokenize_body(model, text))
        tokens = tokens_of(reply.json())
        if not reply.ok or tokens is None:
            raise EngineError(
                f"{self.title} did not answer {self.routes.tokenize} with tokens "
                f"(status {reply.status} {reply.error})".rstrip(),
                where=base_url + self.routes.tokenize,
                remedy="look at the end of the engine's log",
            )
        return tokens

    def tokenize_body(self, model: str, text: str) -> dict[str, Any]:
        """The request of ``tokenize``."""
        return {"model": model, "prompt": text, "add_special_tokens": False}

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """Request fields that constrain an answer; None: this engine has no way to ask.

        Args:
            kind: json_schema, json_object, regex, grammar or choice.
            value: the schema, the expression, the grammar (GBNF), the list; None for json_object.
        """
        if kind not in self.structured:
            return None
        if kind == "json_schema":
            wrapped = {"name": "answer", "schema": value, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
        if kind == "json_object":
            return {"response_format": {"type": "json_object"}}
        return None

    def lora_request(self, name: str, index: int) -> dict[str, Any]:
        """Request fields that choose an adapter: most engines take its name as the model."""
        return {"model": name}

    def chat_tokens(
        self, base_url: str, model: str, messages: list[dict[str, str]]
    ) -> list[int] | None:
        """Token ids of the rendered chat, special tokens included; None: it does not show them.

        Raises:
            EngineError: it has a way and that failed.
        """
        return None


def tokens_of(answer: Any) -> list[int] | None:
    """Token ids in an answer of any engine's tokenize route, or None."""
    if isinstance(answer, dict):
        answer = answer.get("tokens", answer.get("input_ids"))
    if not isinstance(answer, list):
        return None
    ids = [t.get("id") if isinstance(t, dict) else t for t in answer]
    return [t for t in ids if isinstance(t, int)] if all(isinstance(t, int) for t in ids) else None


def merged(flags: dict[str, Any], args: dict[str, Any]) -> dict[str, Any]:
    """Flags without those left to the engine's default; the candidate's own ``args`` win."""
    given = {plain(k): v for k, v in args.items()}
    return {**{k: v for k, v in flags.items() if v is not None}, **given}


def argv_of(flags: dict[str, Any], *, negate: str = "--no-") -> list[str]:
    """Flags as an argument vector: ``a_b: 1`` is ``--a-b 1``, True is ``--a-b``.

    False becomes ``--no-a-b``; None leaves the flag out; a list repeats its values after the
    flag; a dict is passed as JSON.
    """
    argv: list[str] = []
    for name, value in flags.items():
        dashed = name.replace("_", "-")
        if value is None:
            continue
        if value is True:
            argv.append(f"--{dashed}")
        elif value is False:
            argv.append(f"{negate}{dashed}")
        elif isinstance(value, list):
            argv += [f"--{dashed}", *map(str, value)]
        elif isinstance(value, dict):
            argv += [f"--{dashed}", msgspec.json.encode(value).decode()]
        else:
            argv += [f"--{dashed}", str(value)]
    return argv
