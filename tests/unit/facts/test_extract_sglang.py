from seatrial.facts.extract import sglang

ENTRY = {
    "one": "class LlamaForCausalLM: ...\nEntryClass = LlamaForCausalLM\n",
    "many": "\ufeffEntryClass = [\n    Qwen2ForCausalLM,\n    # a comment, MixtralX\n"
    "    MixtralForCausalLM,\n]\n",
    "guarded": "if True:\n    EntryClass: list = (OneForCausalLM, pkg.TwoForCausalLM)\n",
}

QUANT = """
from sglang.srt.layers.quantization.fp8 import Fp8Config
from sglang.srt.layers.quantization.gptq import NpuGPTQ
BASE_QUANTIZATION_METHODS: Dict[str, Type] = {
    "fp8": Fp8Config,
    "mxfp8": Fp8Config,
    "awq": Fp8Config,
}
if is_cpu() or is_cuda():
    BASE_QUANTIZATION_METHODS.update({"mxfp4": Fp8Config})
if is_npu():
    BASE_QUANTIZATION_METHODS.update({"gptq": NpuGPTQ})
if some_feature():
    BASE_QUANTIZATION_METHODS.update({"maybe": Fp8Config})
"""

FP8 = """
_is_musa = is_musa()
_needs = _is_hip and other()
class Fp8Config:
    def get_min_capability(self):
        if is_npu():
            return 0
        if _is_musa:
            return 31
        if self.use_mxfp8 and _needs:
            return 94
        return 100 if self.use_mxfp8 else 80
    @classmethod
    def get_supported_act_dtypes(cls):
        return [torch.bfloat16, torch.half]
"""

CHOICES = """
QUANTIZATION_CHOICES = ["fp8", "gptq", "unquant"]
GRAMMAR_BACKEND_CHOICES = ["xgrammar", "none"]
DISAGG_TRANSFER_BACKEND_CHOICES = ["mooncake", "nixl"]
LOAD_FORMAT_CHOICES = ["auto", "safetensors", "gguf", "dummy"]
"""

FIELDS = """
class Model(msgspec.Struct):
    _NS_PATH = "model"
    kv_cache_dtype: A[str, Arg(help="...", choices=["auto", "fp8_e5m2", "bf16"])] = "auto"
    tp_size: A[int, Arg(help="x", aliases=["--tensor-parallel-size"])] = 1
    plain: A[Optional[Literal["a", "b"]], "only a help text"] = None
    derived = Derived(fn="x")
    not_a_flag: int = 3
"""


def files():
    made = {f"sglang/srt/models/{name}.py": text for name, text in ENTRY.items()}
    made |= {f"sglang/srt/models/m{i}.py": f"EntryClass = Made{i}ForCausalLM\n" for i in range(90)}
    return {
        **made,
        "sglang/srt/layers/quantization/__init__.py": QUANT,
        "sglang/srt/layers/quantization/fp8.py": FP8,
        "sglang/srt/layers/quantization/gptq.py": "class NpuGPTQ:\n    pass\n",
        "sglang/srt/arg_groups/choices.py": CHOICES,
        "sglang/srt/arg_groups/fields/model.py": FIELDS,
    }


def test_entry_classes_in_every_form(findings_of, by_subject):
    findings = findings_of(files(), "sglang", "0.5.23")
    sglang.architectures(findings, findings.source.glob("sglang/srt/models/*.py"))
    table = by_subject(findings)
    assert len(table) == 90 + 5
    assert table["architecture", "MixtralForCausalLM"][0].source.line == 4
    assert ("architecture", "TwoForCausalLM") in table
    assert ("architecture", "MixtralX") not in table


def test_platform_conditions(findings_of, by_subject):
    findings = findings_of(files(), "sglang", "0.5.23")
    sglang.quantization(findings)
    table = by_subject(findings)

    def on_cuda(predicate, subject):
        return [(f.value, f.state) for f in table[predicate, subject] if f.layer is None]

    assert on_cuda("min_capability", "fp8") == [(80, "extracted")]
    assert (100, "extracted") in on_cuda("min_capability", "mxfp8")
    assert (80, "extracted") not in on_cuda("min_capability", "mxfp8")
    assert on_cuda("quantization", "mxfp4") == [("native", "extracted")]
    assert on_cuda("quantization", "maybe") == [("native", "conditional")]
    assert on_cuda("quantization", "gptq") == [("absent", "extracted"), ("choice", "extracted")]
    npu = [f for f in table["quantization", "gptq"] if f.layer == "npu"]
    assert npu[0].value == "native"
    layers = {f.layer: f.value for f in table["min_capability", "fp8"]}
    assert layers["npu"] == 0
    assert layers["musa"] == 31


def test_fields_are_flags(findings_of, by_subject):
    findings = findings_of(files(), "sglang", "0.5.23")
    sglang.flags(findings)
    table = by_subject(findings)
    assert {s for _, s in table} == {
        "--kv-cache-dtype", "--tp-size", "--tensor-parallel-size", "--plain"
    }  # fmt: skip
    assert table["flag", "--tensor-parallel-size"][0].detail["alias_of"] == "--tp-size"
    assert table["flag", "--plain"][0].detail["choices"] == ["a", "b"]


def test_older_command_line(findings_of, by_subject):
    text = 'p.add_argument("--kv-cache-dtype", choices=["auto", "fp8_e5m2", "x"], default=D.k)\n'
    findings = findings_of({"sglang/srt/server_args.py": text}, "sglang", "0.5.9")
    sglang.field_choices(findings, "kv_cache_dtype", "kv_cache_dtype")
    assert [s for _, s in by_subject(findings)] == ["auto", "fp8_e5m2", "x"]
