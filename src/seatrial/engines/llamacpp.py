"""llama.cpp: the server out of the wheel ``xllamacpp``, or a ``llama-server`` on the PATH.

Flags are llama-server's long ones with underscores; both places take the same. ``ctx_size`` is
shared by the slots: the context of one request is ctx_size / parallel (kv_unified off), so the
neutral ``context_tokens`` is multiplied by the number of slots.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from seatrial.core.ids import sha256_bytes
from seatrial.engines import http
from seatrial.engines.adapter import Adapter, Launch, MetricNames, Routes, argv_of, tokens_of
from seatrial.engines.environment import Environment, clean_environ
from seatrial.engines.launchers.llamacpp import FLAGS, MARK
from seatrial.engines.settings import Settings, default_threads
from seatrial.engines.signatures import Signature
from seatrial.workload.spec import CandidateSpec

LAUNCHER = Path(__file__).with_name("launchers") / "llamacpp.py"

SIGNATURES = (
    Signature(
        id="offloaded",
        pattern=r"offloaded (\d+)/(\d+) layers to GPU",
        meaning="{1} of {2} layers are on the GPU",
    ),
    Signature(
        id="flash-attention-on",
        pattern=r"Flash Attention enabled",
        meaning="Flash Attention is on",
        optimised=True,
    ),
    Signature(
        id="flash-attention-off",
        pattern=r"Flash Attention was auto, set to disabled|not supported, set to disabled",
        meaning="Flash Attention is off: the device does not support it",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="layer-elsewhere",
        pattern=r"layer (\d+) is assigned to device (\S+) but",
        meaning="layer {1} is on {2}, not where its tensors are",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="no-gpu",
        pattern=r"no usable GPU found",
        meaning="layers were to go to a GPU and none was found: it runs on the CPU",
        level="failure",
        optimised=False,
    ),
    Signature(
        id="nccl-missing",
        pattern=r"falling back to internal AllReduce",
        meaning="tensors are split without NCCL: slower",
        level="warning",
        optimised=False,
    ),
    Signature(
        id="cpu-features",
        pattern=r"system_info: .*?CPU : (.*)\|",
        meaning="compiled CPU paths: {1}",
    ),
)


class LlamaCpp(Adapter):
    """The default engine; version = build number."""

    name = "llama.cpp"
    title = "llama.cpp"
    distribution = "xllamacpp"
    binary = "llama-server"
    routes = Routes()
    metrics = MetricNames(
        running="llamacpp:requests_processing",
        waiting="llamacpp:requests_deferred",
        prefix_hits="llamacpp:prompt_tokens_cached",
        prompt_tokens="llamacpp:prompt_tokens",
        output_tokens="llamacpp:tokens_predicted",
    )
    signatures = SIGNATURES
    port_taken = ("couldn't bind HTTP server socket",)
    structured = frozenset({"json_schema", "json_object", "grammar"})
    drain = "the first SIGTERM ends the HTTP server and the main loop at once; nothing is drained"

    def flags(self, candidate: CandidateSpec, artefact: Path, settings: Settings) -> dict[str, Any]:
        """llama-server's flags; see the module for the context's arithmetic."""
        args = {k.replace("-", "_"): v for k, v in candidate.args.items()}
        slots = int(args.get("parallel") or settings.concurrency or 1)
        threads = settings.threads or default_threads()
        flags: dict[str, Any] = {
            "alias": self.served_name(artefact, settings),
            "parallel": slots,
            "ctx_size": settings.context_tokens * slots if settings.context_tokens else 0,
            "threads": threads,
            "threads_batch": args.get("threads") or threads,
            "metrics": True,
            "props": True,
            "slots": True,
            "warmup": settings.warmup,
            "verbosity": 4,  # the level at which backends, KV types and load phases are told
        }
        if settings.kv_cache_dtype:
            flags["cache_type_k"] = flags["cache_type_v"] = settings.kv_cache_dtype
        if settings.prefix_cache is not None:
            flags["cache_prompt"] = settings.prefix_cache
            if not settings.prefix_cache:
                flags["cache_ram"] = 0
        if settings.seed is not None:
            flags["seed"] = settings.seed
        if settings.lora:
            flags["lora"] = [adapter.path for adapter in settings.lora]
        return {**flags, **args}

    def launch(
        self, environment: Environment, artefact: Path, flags: dict[str, Any], host: str, port: int
    ) -> Launch:
        """The launcher under the venv's python, or the binary with dashes."""
        own = {"OMP_NUM_THREADS": str(flags.get("threads", 1))}
        env = clean_environ(own)
        if environment.kind == "venv":
            order = {"model": str(artefact), "host": host, "port": port, "flags": flags}
            text = msgspec.json.encode(order).decode()
            argv = [environment.program, "-I", str(LAUNCHER), text]
        else:
            argv = [*self.program(environment, "llama-server"), "--model", str(artefact)]
            argv += ["--host", host]
            argv += ["--port", str(port), "--no-ui", *argv_of(_for_binary(flags))]
        return Launch(argv=argv, env=env, flags=flags, own_env=own)

    def known_flags(self, environment: Environment) -> tuple[set[str], str]:
        """In the wheel: what its Python binding can set."""
        if environment.kind == "venv":
            return set(FLAGS), "llama-server's flags that the xllamacpp binding can set"
        return super().known_flags(environment)

    def tokenize_body(self, model: str, text: str) -> dict[str, Any]:
        """Its own spelling."""
        return {"content": text, "add_special": False}

    def constraint(self, kind: str, value: Any) -> dict[str, Any] | None:
        """GBNF goes in a field of its own."""
        return {"grammar": value} if kind == "grammar" else super().constraint(kind, value)

    def lora_request(self, name: str, index: int) -> dict[str, Any]:
        """Adapters are numbered in the order they were given."""
        return {"lora": [{"id": index, "scale": 1.0}]}

    def chat_tokens(
        self, base_url: str, model: str, messages: list[dict[str, str]]
    ) -> list[int] | None:
        """/apply-template, then /tokenize with special tokens read and added."""
        rendered = http.post(base_url, "/apply-template", {"messages": messages}).json()
        prompt = rendered.get("prompt") if isinstance(rendered, dict) else None
        if not isinstance(prompt, str):
            return None
        body = {"content": prompt, "add_special": True, "parse_special": True}
        return tokens_of(http.post(base_url, "/tokenize", body).json())

    def cold_start(self, log_text: str) -> dict[str, float]:
        """From the log's own clock and the launcher's lines.

        ``weights``: "loading model" to the warm-up (fit, tensors, KV cache); ``warmup``: the
        empty run; both 0 when the line is missing because it was switched off.
        """
        load = _stamp(log_text, r"load_model: loading model")
        warm = _stamp(log_text, r"warming up the model")
        slots = _stamp(log_text, r"load_model: initializing,")
        if load is None or slots is None:
            return {}
        middle = slots if warm is None else warm
        return {"weights": middle - load, "warmup": slots - middle}

    def effective(self, base_url: str, log_text: str) -> dict[str, Any]:
        """From /props, /v1/models, the launcher's parameter line and the log."""
        props = http.get(base_url, "/props").json() or {}
        params = launcher_line(log_text, "params")
        settings = props.get("default_generation_settings") or {}
        template = props.get("chat_template") or ""
        found: dict[str, Any] = {
            "version": _build(log_text),
            "context_tokens": settings.get("n_ctx"),
            "slots": props.get("total_slots"),
            "weights": props.get("model_ftype"),
            "kv_cache_dtype": _kv_types(log_text),
            "max_batch_tokens": params.get("n_batch") or _number(log_text, "n_batch"),
            "micro_batch_tokens": params.get("n_ubatch") or _number(log_text, "n_ubatch"),
            "prefix_cache": params.get("cache_prompt"),
            "prompt_cache_ram_mib": params.get("cache_ram_mib"),
            "continuous_batching": params.get("cont_batching"),
            "flash_attention": _flash(log_text),
            "threads": _number(log_text, r"system_info: n_threads"),
            "gpu_layers": _group(log_text, r"offloaded (\d+/\d+) layers"),
            "backend": _backends(log_text),
            "template_sha256": sha256_bytes(template.encode()) if template else None,
        }
        return found


def launcher_line(log_text: str, event: str) -> dict[str, Any]:
    """What the launcher said at ``event``; {} when the binary ran, not the launcher."""
    for line in log_text.splitlines():
        if line.startswith(MARK):
            try:
                said = msgspec.json.decode(line[len(MARK) :])
            except msgspec.DecodeError:
                continue
            if isinstance(said, dict) and said.get("event") == event:
                return said
    return {}


def _for_binary(flags: dict[str, Any]) -> dict[str, Any]:
    """What the launcher sets as a boolean and llama-server takes as a word."""
    words: dict[str, Any] = {}
    for name in ("flash_attn", "fit"):
        if name in flags and isinstance(flags[name], bool):
            words[name] = "on" if flags[name] else "off"
    return {**flags, **words}


def _stamp(log_text: str, pattern: str) -> float | None:
    """Seconds of the first line with this text; its clock reads minutes.seconds.ms.us."""
    stamp = r"^(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) .*" + pattern
    hit = re.search(stamp, log_text, re.MULTILINE)
    if hit is None:
        return None
    minutes, seconds, milli, micro = map(int, hit.groups())
    return minutes * 60 + seconds + milli / 1e3 + micro / 1e6


def _group(log_text: str, pattern: str) -> str | None:
    hit = re.search(pattern, log_text)
    return hit.group(1) if hit else None


def _number(log_text: str, name: str) -> int | None:
    value = _group(log_text, name + r"\s+= (\d+)")
    return int(value) if value else None


def _kv_types(log_text: str) -> str | None:
    hit = re.search(r"K \((\w+)\):.*V \((\w+)\):", log_text)
    if hit is None:
        return None
    return hit.group(1) if hit.group(1) == hit.group(2) else f"{hit.group(1)}/{hit.group(2)}"


def _flash(log_text: str) -> bool | None:
    if "Flash Attention enabled" in log_text:
        return True
    return False if "flash_attn            = disabled" in log_text else None


def _backends(log_text: str) -> str | None:
    names = re.findall(r"(\w+) (?:model|KV) buffer size =", log_text)
    plain = sorted({name.removesuffix("_Mapped") for name in names})
    return "+".join(plain) or None


def _build(log_text: str) -> str | None:
    """The build number: of the wheel's version, or of the binary's own line."""
    version = launcher_line(log_text, "imported").get("version")
    if isinstance(version, str):
        return version.rpartition(".")[2]
    return _group(log_text, r"build_info: b(\d+)")
