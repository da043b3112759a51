import pytest

from seatrial.facts.extract import vllm
from seatrial.facts.extract.vllm_surface import gates_of

NAMES = "\n".join(f'    "Made{i}ForCausalLM": ("made", "Made{i}ForCausalLM"),' for i in range(110))

REGISTRY = f"""
_TEXT_GENERATION_MODELS = {{
    "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),
    "AliasForCausalLM": ("llama", "LlamaForCausalLM"),
    "Qwen2ForCausalLM": ("qwen2", "Qwen2ForCausalLM"),
    "MixtralForCausalLM": ("mixtral", "MixtralForCausalLM"),
{NAMES}
}}
_EMBEDDING_MODELS = {{
    "Qwen2ForCausalLM": ("qwen2", "Qwen2ForCausalLM"),
    **{{
        k: (mod, arch)
        for k, (mod, arch) in _TEXT_GENERATION_MODELS.items()
        if arch == "LlamaForCausalLM"
    }},
}}
_TRANSFORMERS_BACKEND_MODELS = {{
    "TransformersForCausalLM": ("transformers", "TransformersForCausalLM"),
}}
_VLLM_MODELS = {{**_TEXT_GENERATION_MODELS, **_EMBEDDING_MODELS}}
_PREVIOUSLY_SUPPORTED_MODELS = {{"GoneForCausalLM": "0.9.2"}}
_OOT_SUPPORTED_MODELS = {{"BartModel": "https://example.invalid/org/bart-plugin"}}
"""

QUANT = """
from typing import Literal
QuantizationMethods = Literal["awq", "gptq", "fp8", "compressed-tensors", "chosen", "shorthand",
    "q1", "q2", "q3", "q4", "q5", "q6"]
DEPRECATED_QUANTIZATION_METHODS = ["q1"]

def get_quantization_config(quantization):
    from .awq import AWQConfig
    from .gptq import GPTQConfig
    from vllm.model_executor.layers.quantization.fp8 import Fp8Config
    if current_platform.is_rocm():
        from .a import A as picked
        chosen = picked
    method_to_config: dict[str, type] = {
        "awq": AWQConfig,
        "gptq": GPTQConfig,
        "fp8": Fp8Config,
        "compressed-tensors": AWQConfig,
        "chosen": chosen,
        "q1": AWQConfig, "q2": AWQConfig, "q3": AWQConfig, "q4": AWQConfig, "q5": AWQConfig,
        "q6": AWQConfig,
    }
    return method_to_config[quantization]
"""

AWQ = """
from .base import Base
class AWQConfig(Base):
    @classmethod
    def get_min_capability(cls) -> int:
        return 75
"""

BASE = """
class Base:
    @classmethod
    def get_min_capability(cls) -> int:
        raise NotImplementedError
    def get_supported_act_dtypes(self):
        return [torch.half, torch.bfloat16]
"""

GPTQ = """
from .awq import AWQConfig
class GPTQConfig(AWQConfig):
    pass
"""

FP8 = """
from .base import Base
class Fp8Config(Base):
    def get_min_capability(self):
        return compute_it()
"""

ROCM = """
class RocmPlatform:
    supported_quantization: list[str] = ["awq", "fp8"]
"""

LLAMA = """
class LlamaForCausalLM(
    nn.Module, SupportsLoRA,  # adapters
    SupportsPP
):
    pass
"""

QWEN2 = """
from .llama import LlamaForCausalLM
class Qwen2ForCausalLM(LlamaForCausalLM):
    pass
"""

ARGS = """
class EngineArgs:
    def add_cli_args(parser):
        cache_kwargs = get_kwargs(CacheConfig)
        group = parser.add_argument_group("CacheConfig")
        group.add_argument("--kv-cache-dtype", **cache_kwargs["cache_dtype"])
        group.add_argument("--override", **{**cache_kwargs["block_size"], "default": None})
        group.add_argument("--max-model-len", "-l", type=int, default=4096, choices=[1024, 4096])
        group.add_argument("--enforce-eager", action="store_true")
        group.add_argument("--seed", default=EngineArgs.seed)
        group.add_argument("--made", default=EngineArgs.made)
        group.add_argument("--size", default=EngineArgs.size)
        group.add_argument("--computed", default=EngineArgs.computed)
        group.add_argument("--block", default=EngineArgs.block)
        group.add_argument("--in-class", default=EngineArgs.in_class)
    LEAST = 7
    seed: int = 0
    made: list[str] = field(default_factory=lambda: ["a/*"])
    size: int = 16 * 1024
    computed: Kind = Kind.AUTO
    block: int = CacheConfig.block_size
    in_class: int = LEAST
from vllm.config.cache import CacheConfig
"""

CACHE = """
from typing import Literal
from pydantic import Field
CacheDType = Literal["auto", "fp8", "fp8_e4m3", "fp8_e5m2"]
class CacheConfig:
    cache_dtype: CacheDType = "auto"
    block_size: int = Field(default=16, ge=1)
    made: list[str] = field(default_factory=list)
"""

ROUTER = """
@router.get("/health")
async def health(): ...
@router.post("/v1/chat/completions")
async def chat(): ...
@not_a_thing.get("relative")
def other(): ...
"""

METRICS_ROUTER = """
def attach(app, config):
    if not config.enable:
        return
    metrics_route = Mount("/metrics", make_asgi_app())
    app.mount("/static", files)
"""

LORA_ROUTER = """
def attach_router(app):
    if not envs.ALLOW_UPDATES:
        return
    @router.post("/v1/load_lora_adapter")
    async def load(): ...
"""

FILES = {
    "vllm/model_executor/models/registry.py": REGISTRY,
    "vllm/model_executor/models/llama.py": LLAMA,
    "vllm/model_executor/models/qwen2.py": QWEN2,
    "vllm/model_executor/layers/quantization/__init__.py": QUANT,
    "vllm/model_executor/layers/quantization/awq.py": AWQ,
    "vllm/model_executor/layers/quantization/base.py": BASE,
    "vllm/model_executor/layers/quantization/gptq.py": GPTQ,
    "vllm/model_executor/layers/quantization/fp8.py": FP8,
    "vllm/platforms/rocm.py": ROCM,
    "vllm/engine/arg_utils.py": ARGS,
    "vllm/config/cache.py": CACHE,
    "vllm/entrypoints/openai/api_server.py": ROUTER,
    "vllm/entrypoints/serve/lora/api_router.py": LORA_ROUTER,
    "vllm/entrypoints/serve/metrics.py": METRICS_ROUTER,
    "vllm/v1/metrics/loggers.py": (
        'g = Gauge(name="vllm:num_requests_running")\nNAMES = ("vllm:spec_a", "vllm:not a name")\n'
    ),
    "vllm-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.4\nName: vllm\nLicense-Expression: Apache-2.0\n"
        "Requires-Python: <3.15,>=3.11\nRequires-Dist: torch==2.14.0\nRequires-Dist: a\n"
        'Requires-Dist: b>1; extra == "x"\nRequires-Dist: c (>=2)\nRequires-Dist: d[e]~=3\n'
        "\nRequires-Dist: in-the-readme\n"
    ),
}


def read(findings_of, by_subject, files=FILES, version="0.33.0"):
    findings = findings_of(files, version=version)
    vllm.extract(findings)
    return findings, by_subject(findings)


def one(table, predicate, subject):
    found = table[predicate, subject]
    assert len(found) == 1, found
    return found[0]


def test_architectures(findings_of, by_subject):
    _, table = read(findings_of, by_subject)
    llama = one(table, "architecture", "LlamaForCausalLM")
    assert llama.value == "native"
    assert llama.source.line == 3
    assert llama.detail["tasks"] == ["text-generation", "embedding"]
    assert llama.detail["supports"] == ["lora", "pp"]
    assert one(table, "architecture", "AliasForCausalLM").detail["class"] == "LlamaForCausalLM"
    twice = table["architecture", "Qwen2ForCausalLM"]
    assert [f.condition for f in twice] == [None, "as a embedding model"]
    assert twice[0].detail["supports"] == ["lora", "pp"]  # through its base in another file
    assert one(table, "architecture", "GoneForCausalLM").detail == {"last_version": "0.9.2"}
    assert one(table, "architecture", "BartModel").value == "plugin"
    assert one(table, "architecture", "*").state == "conditional"


def test_one_fact_for_every_entry_of_a_table(findings_of, by_subject):
    findings, _ = read(findings_of, by_subject)
    native = [r for r in findings.rows["architecture"] if r[1] == "native"]
    assert len(native) == 4 + 110 + 1 + 1  # the comprehension's copies are not entries


def test_capability_through_bases_and_conditions(findings_of, by_subject):
    _, table = read(findings_of, by_subject)
    assert one(table, "min_capability", "awq").value == 75
    gptq = one(table, "min_capability", "gptq")
    assert (gptq.value, gptq.source.member) == (
        75, "vllm/model_executor/layers/quantization/awq.py"
    )  # fmt: skip
    assert one(table, "act_dtypes", "gptq").value == ["float16", "bfloat16"]
    computed = one(table, "min_capability", "fp8")
    assert (computed.value, computed.state) == (None, "unresolved")
    assert one(table, "min_capability", "chosen").state == "unresolved"


def test_methods_registry_choice_and_platform_lists(findings_of, by_subject):
    _, table = read(findings_of, by_subject)
    assert one(table, "quantization", "q1").detail["deprecated"] is True
    shorthand = one(table, "quantization", "shorthand")
    assert shorthand.source.kind == "cli"
    assert [f.layer for f in table["quantization", "awq"]] == [None, "rocm"]


def test_flags_resolve_to_fields(findings_of, by_subject):
    findings = findings_of(FILES, version="0.33.0")
    from seatrial.facts.extract.flags import add_argparse

    add_argparse(findings, "vllm/engine/arg_utils.py")
    table = by_subject(findings)
    dtype = one(table, "flag", "--kv-cache-dtype")
    assert dtype.value == "auto"
    assert dtype.detail["choices"] == ["auto", "fp8", "fp8_e4m3", "fp8_e5m2"]
    assert one(table, "flag", "--override").value is None
    length = one(table, "flag", "--max-model-len")
    assert (length.value, length.detail["aliases"]) == (4096, ["-l"])
    assert one(table, "flag", "--enforce-eager").value is False
    defaults = {"--seed": 0, "--made": ["a/*"], "--size": 16384, "--block": 16, "--in-class": 7}
    assert {flag: one(table, "flag", flag).value for flag in defaults} == defaults
    computed = one(table, "flag", "--computed")
    assert (computed.value, computed.state) == (None, "unresolved")
    assert computed.detail["default_text"] == "Kind.AUTO"


def test_routes_with_their_gate(findings_of, by_subject):
    findings = findings_of(FILES, version="0.33.0")
    paths = findings.source.glob("vllm/entrypoints/*.py")
    from seatrial.facts.extract.routes import add_routes

    add_routes(findings, paths, gates=gates_of(findings, "vllm"))
    table = by_subject(findings)
    assert one(table, "route", "/health").value == ["GET"]
    lora = one(table, "route", "/v1/load_lora_adapter")
    assert "envs.ALLOW_UPDATES" in lora.condition
    assert lora.state == "conditional"
    assert one(table, "route", "/metrics").condition == "config.enable"
    assert one(table, "route", "/static").value == ["GET"]
    assert len(table) == 5


def test_metrics(findings_of, by_subject):
    findings = findings_of(FILES)
    from seatrial.facts.extract.metrics import add_metrics

    add_metrics(findings, ["vllm/v1/metrics/loggers.py"], "vllm:")
    table = by_subject(findings)
    assert one(table, "metric", "vllm:num_requests_running").value == "gauge"
    assert one(table, "metric", "vllm:spec_a").value == "unknown"
    assert len(table) == 2


def test_requirements_end_where_the_readme_begins(findings_of, by_subject):
    _, table = read(findings_of, by_subject)
    assert one(table, "requires", "torch").value == "==2.14.0"
    assert one(table, "requires", "python").value == "<3.15,>=3.11"
    assert one(table, "requires", "b").condition == 'extra == "x"'
    assert one(table, "requires", "c").value == ">=2"
    assert one(table, "requires", "d").detail == {"extras": ["e"]}
    assert ("requires", "in-the-readme") not in table
    assert one(table, "license", "vllm").value == "Apache-2.0"


def test_a_table_that_moved_is_stale_and_never_empty(findings_of, by_subject):
    files = {k: v for k, v in FILES.items() if "registry" not in k}
    findings, table = read(findings_of, by_subject, files)
    stale = {s.predicate: s for s in findings.stale}
    assert "registry.py" in stale["architecture"].why
    assert not [k for k in table if k[0] == "architecture"]


def test_a_table_below_its_floor_is_stale(findings_of, by_subject):
    small = {**FILES, "vllm/model_executor/models/registry.py": REGISTRY.replace(NAMES, "")}
    findings, table = read(findings_of, by_subject, small)
    why = next(s.why for s in findings.stale if s.predicate == "architecture")
    assert "at least 100" in why
    assert ("architecture", "LlamaForCausalLM") not in table


def test_a_known_member_that_is_missing_is_stale(findings_of, by_subject):
    text = REGISTRY.replace('"MixtralForCausalLM": (', '"RenamedForCausalLM": (')
    findings, _ = read(
        findings_of, by_subject, {**FILES, "vllm/model_executor/models/registry.py": text}
    )
    why = next(s.why for s in findings.stale if s.predicate == "architecture")
    assert why == "MixtralForCausalLM not among them"


def test_an_older_place_is_found(findings_of, by_subject):
    files = {k: v for k, v in FILES.items() if k != "vllm/config/cache.py"}
    files["vllm/config.py"] = CACHE
    _, table = read(findings_of, by_subject, files, version="0.8.5")
    fact = one(table, "kv_cache_dtype", "fp8_e4m3")
    assert fact.source.member == "vllm/config.py"


ATTENTION = """
class AttentionBackendEnum(Enum):
    FLASH_ATTN = "vllm.v1.attention.backends.flash.FlashBackend"
    MLA = "vllm.v1.attention.backends.flash.MlaBackend"
    CUSTOM = None
"""

BACKENDS = """
class Base:
    supported_dtypes: ClassVar[list[torch.dtype]] = [torch.float16, torch.bfloat16]
class FlashBackend(Base):
    supported_kv_cache_dtypes: ClassVar[list[CacheDType]] = ["auto", "fp8"]
    def get_supported_head_sizes(cls): return [64, 128]
    def supports_compute_capability(cls, capability):
        return capability >= DeviceCapability(8, 0)
class MlaBackend(Base):
    supported_dtypes = made_up()
    def supports_compute_capability(cls, capability):
        return capability.major in [9, 10]
"""


def test_attention_backends_say_what_they_take(findings_of, by_subject):
    from seatrial.facts.extract.vllm_attention import attention_backends
    from seatrial.facts.extract.vllm_places import Places

    files = {
        "vllm/v1/attention/backends/registry.py": ATTENTION,
        "vllm/v1/attention/backends/flash.py": BACKENDS,
    }
    findings = findings_of(files, version="0.33.0")
    attention_backends(findings, Places("vllm"))
    table = by_subject(findings)
    assert one(table, "attention_backend", "FLASH_ATTN").detail == {
        "class": "FlashBackend", "dtypes": ["float16", "bfloat16"],
        "kv_cache_dtypes": ["auto", "fp8"], "head_sizes": [64, 128], "min_capability": 80,
        "capability": "capability >= DeviceCapability(8, 0)",
    }  # fmt: skip
    assert one(table, "attention_backend", "MLA").detail == {
        "class": "MlaBackend", "capability": "capability.major in [9, 10]", "min_capability": 90
    }  # fmt: skip
    assert one(table, "attention_backend", "CUSTOM").detail == {}


@pytest.mark.parametrize(
    ("test", "least"),
    [
        ("capability >= DeviceCapability(7, 5) and capability <= DeviceCapability(12, 1)", 75),
        ("capability.major == 10", 100),
        ("capability.major >= 8", 80),
        ("True", None),
        ("capability.major == 9 or allowed()", None),
        ("not capability.major == 9", None),
    ],
)
def test_least_capability_of_a_test(test, least):
    from seatrial.facts.extract.vllm_attention import least_capability

    assert least_capability(test) == least


def test_before_0_8_the_tables_stood_elsewhere(findings_of, by_subject):
    """Structured output among a flag's choices, drafts in the registry, connectors in a list."""
    early = {
        **FILES,
        "vllm/model_executor/models/registry.py": REGISTRY
        + '_SPECULATIVE_DECODING_MODELS = {"EAGLEModel": ("eagle", "EAGLE"),'
        ' "MedusaModel": ("medusa", "M"), "MLPSpeculator": ("mlp_speculator", "S")}\n',
        "vllm/config.py": "class VllmConfig: ...\n",
        "vllm/spec_decode/ngram_worker.py": "x = 1\n",
        "vllm/engine/arg_utils.py": ARGS
        + 'parser.add_argument("--guided-decoding-backend", choices=["outlines", "xgrammar"])\n',
        "vllm/distributed/kv_transfer/kv_connector/factory.py": (
            "def create():\n    supported_kv_connector = ['PyNcclConnector', 'MooncakeConnector']\n"
        ),
    }
    del early["vllm/config/cache.py"]
    findings, table = read(findings_of, by_subject, early, "0.6.6")
    stale = {s.predicate for s in findings.stale}
    assert not stale & {"structured_output_backend", "speculative_method", "kv_connector"}
    assert ("structured_output_backend", "xgrammar") in table
    assert {s for p, s in table if p == "speculative_method"} >= {"eagle", "medusa", "ngram"}
    assert ("kv_connector", "PyNcclConnector") in table
