"""One candidate on trial before the gate: everything a constraint may look at, in one place.

A ``Case`` joins the workload, the candidate, the model's own files, the hardware and what is known
of the engine. Constraints read it and say what they find; they never reach further.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from seatrial.facts import Fact
from seatrial.gate.candidate import candidate_id
from seatrial.gate.flags import TP_FLAGS, Settings, settings
from seatrial.gate.knowledge import Knowledge
from seatrial.gate.probes import probe
from seatrial.gate.table import Number, Probe
from seatrial.hardware import Gpu, Host
from seatrial.model import ModelInfo, Quantization
from seatrial.model.adapter import AdapterInfo
from seatrial.model.gguf_types import FILE_BITS
from seatrial.model.names import gguf_name, hf_name
from seatrial.workload.profile import Fingerprint
from seatrial.workload.spec import CandidateSpec, Workload

POOLED = ("llama.cpp", "ollama", "transformers")
"""Engines that place whole layers on devices: any number of cards, no tensor-parallel rank."""
_COMPUTED = {
    **dict.fromkeys(("bf16", "bfloat16"), "bfloat16"),
    **dict.fromkeys(("fp16", "f16", "float16", "half"), "float16"),
    **dict.fromkeys(("fp32", "f32", "float32", "float"), "float32"),
}
"""Names of ``model.precision`` that say what is computed in, as --dtype spells them."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What it must run on, resolved: a described GPU, or a processor.

    ``here`` says that it is this machine. ``memory_bytes`` is the host's, null if not known.
    """

    gpu: Gpu | None
    gpu_name: str | None
    count: int
    nodes: int
    cpu_name: str | None
    arch: str | None
    flags: list[str]
    cores: float | None
    memory_bytes: int | None
    driver: str | None
    os: str | None
    glibc: str | None
    here: bool

    @property
    def devices(self) -> int:
        """Accelerators in all nodes; 0 on a processor."""
        return self.count * self.nodes if self.gpu or self.gpu_name else 0

    @property
    def on_cpu(self) -> bool:
        """Whether there is no accelerator."""
        return self.gpu is None and self.gpu_name is None

    @property
    def vendor(self) -> str:
        """nvidia, amd, intel, gaudi, apple, cpu; ``unknown`` for a GPU that is in no table."""
        if self.on_cpu:
            return "cpu"
        if self.gpu is None:
            return "unknown"
        return "gaudi" if self.gpu.name.startswith("gaudi") else self.gpu.vendor


class Case:
    """One candidate with all that the constraints need."""

    def __init__(
        self,
        *,
        spec: Workload,
        candidate: CandidateSpec,
        model: ModelInfo | None,
        model_error: str | None,
        target: Target,
        host: Host,
        fingerprint: Fingerprint | None,
        known: Knowledge,
        installed: list[str],
        adapters: list[AdapterInfo] | None = None,
    ) -> None:
        self.spec = spec
        self.candidate = candidate
        self.engine = candidate.engine
        self.version = candidate.version
        self.model = model
        self.model_error = model_error
        self.target = target
        self.host = host
        self.fingerprint = fingerprint
        self.known = known
        self.installed = installed
        self.adapters = adapters or []

    @cached_property
    def args(self) -> dict[str, Any]:
        """The candidate's flags as written, with underscores."""
        return {k.replace("-", "_"): v for k, v in self.candidate.args.items()}

    def variable_lifts(self, fact: Fact) -> tuple[bool, str | None]:
        """Whether the environment has one of the variables of ``detail.env``, each of which is
        enough against what the fact says, and how they are written; null if it names none."""
        wanted = fact.detail.get("env")
        if not isinstance(wanted, dict) or not wanted:
            return False, None
        given = {k: str(v).strip().lower() for k, v in self.candidate.env.items()}
        same = {"false": "0", "true": "1"}
        set_so = any(same.get(given.get(k, ""), given.get(k)) == str(v) for k, v in wanted.items())
        return set_so, " or ".join(f"{k}={v}" for k, v in wanted.items())

    @cached_property
    def set(self) -> Settings:
        """The candidate's flags in common words."""
        return settings(self.candidate, max(self.target.devices, 1))

    @property
    def asked_type(self) -> str | None:
        """The type to compute in that is asked for by name, by flag or by the workload (whose
        precision may also be a format of weights, which says nothing of it)."""
        stated = (self.spec.model.precision or "").lower()
        return self.set.dtype or _COMPUTED.get(stated)

    def with_tp(self, tp: int) -> Case:
        """The same case with another tensor-parallel size stated."""
        args = {k: v for k, v in self.candidate.args.items() if k.replace("-", "_") not in TP_FLAGS}
        return self._with(args | {"tp": tp})

    def with_args(self, **more: object) -> Case:
        """The same case with further flags."""
        return self._with(self.candidate.args | more)

    def _with(self, args: dict[str, Any]) -> Case:
        return Case(
            spec=self.spec,
            candidate=msgspec.structs.replace(self.candidate, args=args),
            model=self.model,
            model_error=self.model_error,
            target=self.target,
            host=self.host,
            fingerprint=self.fingerprint,
            known=self.known,
            installed=self.installed,
            adapters=self.adapters,
        )

    @cached_property
    def pooled(self) -> bool:
        """Whether the engine spreads layers over devices instead of cutting them."""
        return self.engine in POOLED

    @property
    def tp(self) -> int:
        """Ranks that cut each layer; 1 where the engine places whole layers."""
        return 1 if self.pooled or self.target.on_cpu else self.set.tp

    @property
    def attention_tp(self) -> int:
        """Ranks that cut the attention heads: fewer where the group is shared out to requests."""
        return max(self.tp // self.set.attention_dp, 1)

    @property
    def pp(self) -> int:
        """Pipeline stages."""
        return 1 if self.pooled or self.target.on_cpu else self.set.pp

    @property
    def capability(self) -> int | None:
        """Compute capability times ten of an NVIDIA GPU."""
        return self.target.gpu.capability if self.target.gpu else None

    @cached_property
    def form(self) -> str | None:
        """Format of the weights this candidate is to load."""
        own = self.candidate.artefact
        if own and own.format:
            return _form(own.format)
        return self.model.format if self.model else None

    @property
    def stored_plainly(self) -> bool:
        """Whether it is a Hugging Face folder (or its configuration alone)."""
        return self.form in {"safetensors", "config"}

    @cached_property
    def written(self) -> bool:
        """Whether the workload itself names this candidate: else its flags are still nobody's, and
        what a flag would give is not missing yet."""
        named = self.spec.candidates or []
        mine = (None, self.version)
        return any(c.engine == self.engine and c.version in mine for c in named)

    @cached_property
    def in_flight(self) -> str | None:
        """The method by which vLLM or SGLang quantises 16-bit weights while it loads them."""
        flag = (self.set.quantization or "").lower()
        plain = self.model is not None and self.model.quantization is None and not self.derived
        if self.engine not in {"vllm", "sglang"} or not plain or not self.stored_plainly:
            return None
        return flag if flag in {"bitsandbytes", "fp8"} else None

    @cached_property
    def derived(self) -> bool:
        """Whether the artefact is another form of the workload's model, made by derivation."""
        own = self.candidate.artefact
        if own is None or own.path or self.model is None:
            return False
        other = own.format is not None and _form(own.format) != self.model.format
        return other or self._recipe_differs(own.quantization)

    def _recipe_differs(self, recipe: str | None) -> bool:
        if recipe is None or self.model is None:
            return False
        have = self.model.quantization
        if have is None:
            return recipe.lower() not in {"bf16", "fp16", "f16", "bfloat16", "float16", "none"}
        return recipe.lower() not in {have.scheme.lower(), have.method.lower()}

    @cached_property
    def loaded(self) -> ModelInfo | None:
        """The model as this candidate loads it: its own files, or the derived form."""
        if self.model is not None and self.in_flight is not None:
            scheme, bits = {"bitsandbytes": ("bnb-nf4", 4.5), "fp8": ("fp8", 8.0)}[self.in_flight]
            quant = Quantization(method=self.in_flight, scheme=scheme, bits=bits)
            return msgspec.structs.replace(
                self.model, quantization=quant, tensors=[], weight_bytes=None
            )
        if self.model is None or not self.derived:
            return self.model
        own = self.candidate.artefact
        assert own is not None
        form = _form(own.format) if own.format else self.model.format
        return msgspec.structs.replace(
            self.model,
            format=form,
            quantization=_recipe(own.quantization, form, self.model.quantization),
            architecture=(gguf_name if form == "gguf" else hf_name)(self.model.architecture),
            tensors=[],
            weight_bytes=None,
            files=[],
            shards=1,
            findings=[],
        )

    @cached_property
    def quant(self) -> Quantization | None:
        """How the loaded weights are stored."""
        return self.loaded.quantization if self.loaded else None

    @cached_property
    def architecture(self) -> str | None:
        """The model's class as the engine would look it up."""
        if self.loaded is None:
            return None
        if self.engine in {"llama.cpp", "ollama"} or self.form == "gguf":
            return gguf_name(self.loaded.architecture) or self.loaded.architecture
        return hf_name(self.loaded.architecture)

    @property
    def moe(self) -> bool:
        """Whether the model has routed experts."""
        return bool(self.model and self.model.shape.experts)

    @cached_property
    def speculative(self) -> str | None:
        """The speculative method that is asked for, by the workload or by the flags."""
        asked = self.spec.requires.speculative
        if isinstance(asked, dict):
            return str(asked.get("method", "yes")).lower()
        if asked:
            return asked.lower() if isinstance(asked, str) else "yes"
        return self.set.speculative

    @cached_property
    def context(self) -> int | None:
        """Tokens of the longest sequence that must be served: what is required, else what the
        traffic holds."""
        asked = self.spec.requires.context_tokens
        return asked or self.traffic_longest

    @cached_property
    def traffic_longest(self) -> int | None:
        """Longest input plus output in the trace (99th percentiles for described traffic)."""
        trace = self.fingerprint
        if trace and trace.input_tokens and trace.output_tokens:
            return int(trace.input_tokens.p99 + trace.output_tokens.p99)
        described = self.spec.traffic.synthetic if self.spec.traffic else None
        if described is None:
            return None
        return int(_upper(described.input_tokens) + _upper(described.output_tokens))

    @cached_property
    def traffic_mean(self) -> int | None:
        """Mean input plus half the mean output: what a sequence holds on average."""
        trace = self.fingerprint
        if trace and trace.input_tokens and trace.output_tokens:
            return int(trace.input_tokens.mean + trace.output_tokens.mean / 2)
        described = self.spec.traffic.synthetic if self.spec.traffic else None
        if described is None:
            return None
        return int(_mean(described.input_tokens) + _mean(described.output_tokens) / 2)

    @cached_property
    def concurrency(self) -> int | None:
        """Sequences at once: what is required, else what is described."""
        if self.spec.requires.concurrency:
            return self.spec.requires.concurrency
        described = self.spec.traffic.synthetic if self.spec.traffic else None
        if described and described.concurrency:
            return described.concurrency
        return None

    @property
    def adapters_hold_experts(self) -> bool | None:
        """Whether an adapter at hand has expert weights; null if none is here or none tells."""
        told = [a.experts for a in self.adapters if a.experts is not None]
        return any(told) if told else None

    @property
    def adapter_rank(self) -> int | None:
        """Largest rank among the adapters at hand."""
        return max((a.rank for a in self.adapters if a.rank), default=None)

    @cached_property
    def builds(self) -> bool:
        """Whether this candidate is compiled per model before it can serve."""
        if self.engine == "mlc-llm":
            return True
        return self.engine == "tensorrt-llm" and self.form == "tensorrt-engine"

    def probe(self, name: str) -> Probe:
        """A probe that would settle a question about this candidate."""
        return probe(name, self.engine, self.version, candidate_id(self.candidate))


def _upper(value: object) -> float:
    if isinstance(value, int):
        return float(value)
    p99, mean = getattr(value, "p99", None), getattr(value, "mean", 0.0)
    return float(p99 if p99 is not None else mean)


def _mean(value: object) -> float:
    return float(value) if isinstance(value, int) else float(getattr(value, "mean", 0.0))


def _form(text: str) -> str:
    """The workload file's word for a format as the model reader spells it."""
    word = text.strip().lower()
    aliases = {
        "hf": "safetensors",
        "hf-bf16": "safetensors",
        "huggingface": "safetensors",
        "engine": "tensorrt-engine",
        "trt-engine": "tensorrt-engine",
        "tensorrt": "tensorrt-engine",
        "plan": "tensorrt-engine",
    }
    if word in {"awq", "gptq", "fp8", "nvfp4", "mxfp4", "compressed-tensors", "bitsandbytes"}:
        return "safetensors"
    return aliases.get(word, word)


def _recipe(name: str | None, form: str, before: Quantization | None) -> Quantization | None:
    """The storage of a derived artefact."""
    if name is None:
        return None if form != "gguf" else Quantization(method="gguf", scheme="F16", bits=16.0)
    word = name.lower()
    if word in {"bf16", "fp16", "f16", "bfloat16", "float16", "none"}:
        plain = "BF16" if word.startswith("b") else "F16"
        return Quantization(method="gguf", scheme=plain, bits=16.0) if form == "gguf" else None
    if form == "gguf":
        bits = FILE_BITS.get(name.upper(), 8.0)
        return Quantization(method="gguf", scheme=name.upper(), bits=bits)
    if before and word in {before.method.lower(), before.scheme.lower()}:
        return before
    methods = {
        "awq": ("awq", "w4a16", 4.0, 128),
        "gptq": ("gptq", "w4a16", 4.0, 128),
        "fp8": ("fp8", "fp8", 8.0, None),
        "nvfp4": ("modelopt_fp4", "nvfp4", 4.5, 16),
        "mxfp4": ("mxfp4", "mxfp4", 4.25, 32),
    }
    method, scheme, bits, group = methods.get(word, (word, word, 8.0, None))
    return Quantization(method=method, scheme=scheme, bits=bits, group_size=group)


Numbers = dict[str, Number]
