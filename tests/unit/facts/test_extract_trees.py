"""LMDeploy and the engines whose tables are C++, Go, Rust, CMake and JSON."""

from seatrial.facts.extract import llama_cpp, lmdeploy, mlc_llm, ollama, tensorrt_llm, tgi


def values(table, predicate):
    return {s: [f.value for f in found] for (p, s), found in table.items() if p == predicate}


def test_lmdeploy_layers(findings_of, by_subject):
    files = {
        "lmdeploy/turbomind/supported_models.py": (
            "SUPPORTED_ARCHS = dict(\n    LlamaForCausalLM='llama',\n    OldForCausalLM='x',\n)\n"
        ),
        "lmdeploy/pytorch/models/module_map.py": (
            "MODULE_MAP = dict()\nREMOVED_MODEL_MAP = {'GoneForCausalLM': 'Gone'}\n"
            "MODULE_MAP.update({'LlamaForCausalLM': f'{P}.llama.L'})\n"
            "MODULE_MAP.update({'NewForCausalLM': f'{P}.new.N',})\n"
            "ASCEND.update({'OtherForCausalLM': 'x'})\n"
        ),
    }
    findings = findings_of(files, "lmdeploy", "0.18.0")
    lmdeploy.architectures(findings)
    table = by_subject(findings)
    layers = {f.layer for f in table["architecture", "LlamaForCausalLM"]}
    assert layers == {"turbomind", "pytorch"}
    assert table["architecture", "GoneForCausalLM"][0].value == "removed"
    assert ("architecture", "OtherForCausalLM") not in table


LLAMA = {
    "vendor/src/llama-arch.cpp": (
        '// { LLM_ARCH_COMMENTED, "commented" },\n'
        "static const std::map<llm_arch, const char *> LLM_ARCH_NAMES = {\n"
        '    { LLM_ARCH_LLAMA, "llama" }, // text\n    { LLM_ARCH_UNKNOWN, "(unknown)" },\n};\n'
        'static x = { { LLM_ARCH_LATER, "later" } };\n'
    ),
    "vendor/conversion/__init__.py": (
        'TEXT_MODEL_MAP: dict[str, str] = {"LlamaForCausalLM": "llama"}\n'
        'MMPROJ_MODEL_MAP: dict[str, str] = {"VisionModel": "clip"}\n'
    ),
    "vendor/ggml/include/ggml.h": (
        "enum ggml_type {\n GGML_TYPE_F32 = 0,\n // GGML_TYPE_Q4_2 = 4,\n GGML_TYPE_Q4_K = 12,\n"
        " GGML_TYPE_COUNT = 13,\n};\n"
    ),
    "vendor/include/llama.h": (
        "enum llama_ftype {\n LLAMA_FTYPE_MOSTLY_Q4_K_M = 15,\n"
        " // LLAMA_FTYPE_MOSTLY_Q4_2 = 5, // support has been removed\n};\n"
    ),
    "vendor/common/common.h": (
        "struct common_params_sampling {\n float temp = 0.80f; // <= 0.0 to sample greedily\n};\n"
        "struct common_params {\n int32_t n_ctx = 512; // x\n int32_t n_parallel = 1;\n"
        " bool perf = true;\n bool metrics = false;\n std::string key;\n"
        " ggml_type cache_type_k = GGML_TYPE_F16;\n enum kind kind = KIND_AUTO;\n"
        ' struct common_params_sampling sampling;\n std::vector<std::string> names = {"a"};\n};\n'
    ),
    "vendor/common/arg.cpp": (
        "const std::vector<ggml_type> kv_cache_types = { GGML_TYPE_F16, GGML_TYPE_Q8_0, };\n"
        "void common_params_parser_init(x) {\n if (ex == LLAMA_EXAMPLE_TTS) {\n"
        "  params.sampling.temp = 0.2;\n } else if (ex == LLAMA_EXAMPLE_SERVER) {\n"
        "  params.n_parallel = -1; // auto\n }\n"
        'add_opt(common_arg({"-c", "--ctx-size"}, "N", string_format("size (default: %d)", d),\n'
        "  [](common_params & params, int value) { params.n_ctx = value; if (value == 0) {\n"
        '  params.min = MAX; } }).set_env("LLAMA_ARG_CTX_SIZE"));\n'
        'add_opt(common_arg({"--perf"}, {"--no-perf"}, "text",\n'
        "  [](common_params & params, bool value) { params.perf = value; }\n"
        "  ).set_examples({LLAMA_EXAMPLE_CLI}));\n"
        + "".join(
            f'add_opt(common_arg({{"{flag}"}}, "X", "text",\n  [](common_params & {rest}));\n'
            for flag, rest in (
                ("--parallel", "params, int value) { params.n_parallel = value; }"),
                (
                    "--temp",
                    "params, const std::string & value) {"
                    " params.sampling.temp = std::stof(value); }",
                ),
                ("--metrics", "params) { params.metrics = true; }"),
                ("--api-key", "params, const std::string & value) { params.key = value; }"),
                (
                    "--cache-type-k",
                    "params, const std::string & value) { params.cache_type_k = kv_from(value); }",
                ),
                (
                    "--kind",
                    "params, const std::string & value) { if (a(value)) {"
                    " params.kind = A; } else { params.kind = B; } }",
                ),
                ("--host", "params, const std::string & value) { params.names.clear(); }"),
                ("--gone", '/*params*/, int /*value*/) { arg_removed("use --temp"); }'),
            )
        )
    ),
    "vendor/ggml/src/ggml-cuda/CMakeLists.txt": (
        "if (NOT DEFINED CMAKE_CUDA_ARCHITECTURES)\n"
        '  if (GGML_NATIVE AND CUDAToolkit_VERSION VERSION_GREATER_EQUAL "11.6")\n'
        '    set(CMAKE_CUDA_ARCHITECTURES "native")\n  else()\n'
        '    if (CUDAToolkit_VERSION VERSION_LESS "13")\n'
        "      list(APPEND CMAKE_CUDA_ARCHITECTURES 50-virtual 70-virtual)\n    endif ()\n"
        "    list(APPEND CMAKE_CUDA_ARCHITECTURES 75-virtual 86-real)\n"
        '    if (CUDAToolkit_VERSION VERSION_GREATER_EQUAL "12.8")\n'
        "      list(APPEND CMAKE_CUDA_ARCHITECTURES 120a-real)\n    endif()\n  endif()\nendif()\n"
    ),
    "vendor/tools/server/server.cpp": (
        'ctx_http.get ("/health", f);\nctx_http.post("/v1/chat/completions", f);\n'
        '// ctx_http.get("/commented", f);\nctx_http.del("/models", f);\n'
    ),
    "vendor/tools/server/server-task.cpp": (
        "const std::vector<metric_item> counters = {\n"
        ' {\n "prompt_tokens_total",\n "Number of tokens", x }, { "n_decode_total", "d", y }\n};\n'
        'const std::vector<metric_item> gauges = { { "requests_processing", "r", z } };\n'
    ),
}


def test_llama_cpp(findings_of, by_subject):
    findings = findings_of(LLAMA, "llama.cpp", "b11549")
    trunk = llama_cpp.Trunk(findings)
    assert trunk.prefix == "vendor/"
    for step in (
        llama_cpp.architectures, llama_cpp.types, llama_cpp.kv_types,
        llama_cpp.routes, llama_cpp.metrics, llama_cpp.cuda_targets,
    ):  # fmt: skip
        step(trunk)
    llama_cpp.flags(findings, trunk.text("common/arg.cpp"), trunk.optional("common/common.h"))
    table = by_subject(findings)
    assert set(values(table, "architecture")) == {"LlamaForCausalLM", "VisionModel", "llama"}
    assert set(values(table, "quantization")) == {"F32", "Q4_K", "Q4_K_M"}
    assert set(values(table, "kv_cache_dtype")) == {"f16", "q8_0"}
    assert table["flag", "--ctx-size"][0].detail["env"] == "LLAMA_ARG_CTX_SIZE"
    assert table["flag", "--ctx-size"][0].detail["server"] is True
    assert table["flag", "--perf"][0].detail["server"] is False
    defaults = {
        "--ctx-size": 512, "--perf": True, "--parallel": -1, "--temp": 0.8, "--metrics": False,
        "--api-key": "", "--cache-type-k": "f16",
    }  # fmt: skip
    assert {flag: table["flag", flag][0].value for flag in defaults} == defaults
    for flag, text in (("--kind", "KIND_AUTO"), ("--host", "params.names, set in a handler")):
        [fact] = table["flag", flag]
        assert (fact.value, fact.state, fact.detail["default_text"]) == (None, "unresolved", text)
    [gone] = table["flag", "--gone"]
    assert (gone.state, gone.condition) == ("conditional", "refused: use --temp")
    assert values(table, "route") == {
        "/health": [["GET"]], "/v1/chat/completions": [["POST"]], "/models": [["DELETE"]]
    }  # fmt: skip
    assert values(table, "metric") == {
        "llamacpp:prompt_tokens_total": ["counter"],
        "llamacpp:n_decode_total": ["counter"],
        "llamacpp:requests_processing": ["gauge"],
    }
    twelve, thirteen = table["cuda_targets", "cuda-12"][0], table["cuda_targets", "cuda-13"][0]
    assert twelve.value == [86, 120]
    assert twelve.detail["ptx"] == [50, 70, 75]
    assert thirteen.detail["ptx"] == [75]


def test_ollama(findings_of, by_subject):
    files = {
        "convert/convert.go": (
            "func f() {\n switch p.Architectures[0] {\n"
            ' case "LlamaForCausalLM":\n  conv = &l{}\n case "AModel", "BModel":\n  conv = &q{}\n'
            ' default:\n  return fmt.Errorf("unsupported %q")\n }\n}\n'
            'switch other { case "NotAnArchitecture": }\n'
        ),
        "x/models/llama/llama.go": 'func init() { base.Register("LlamaForCausalLM", n) }\n',
        "x/models/llama/llama_test.go": 'base.Register("OnlyInTests", n)\n',
        "LLAMA_CPP_VERSION": "b10488\n",
        "server/routes.go": (
            'r.GET("/api/tags", s.L)\nr.POST("/api/generate", s.G)\n// r.GET("/x")\n'
        ),
        "envconfig/config.go": (
            'var NumParallel = Uint("OLLAMA_NUM_PARALLEL", 1)\n'
            'KvCacheType = String("OLLAMA_KV_CACHE_TYPE")\nUseAuth = Bool("OLLAMA_AUTH")\n'
            'FlashAttention = BoolWithDefault("OLLAMA_FLASH_ATTENTION")\n'
            'ret := map[string]E{\n "OLLAMA_NUM_PARALLEL": {"OLLAMA_NUM_PARALLEL", N(), "..."},\n'
            ' "OLLAMA_DEBUG": {"OLLAMA_DEBUG", L(), "..."},\n}\n'
        ),
        "fs/ggml/ggml.go": (
            "func (f GGML) SupportsKVCacheType(cacheType string) bool {\n"
            ' if cacheType == "" || cacheType == "f16" {\n  return true\n }\n'
            ' return slices.Contains([]string{"q8_0", "q4_0"}, cacheType)\n}\n'
            'func kvCacheBytes() { case "q5_0": }\n'
        ),
        "llama/server/CMakePresets.json": (
            '{"configurePresets": [\n {"name": "cuda_v12", "cacheVariables": '
            '{"CMAKE_CUDA_ARCHITECTURES": "50-virtual;60;90a"}},\n {"name": "rocm", '
            '"cacheVariables": {"AMDGPU_TARGETS": "gfx942;gfx90a:xnack-;gfx90a:xnack+"}}]}'
        ),
    }
    findings = findings_of(files, "ollama", "0.33.0")
    source = findings.source
    ollama.architectures(findings, ["x/models/llama/llama.go"], [])
    ollama._pins(findings, ["LLAMA_CPP_VERSION"])
    ollama.routes(findings)
    ollama.settings(findings)
    ollama.targets(findings)
    ollama.kv_types(findings)
    table = by_subject(findings)
    assert set(values(table, "kv_cache_dtype")) == {"f16", "q8_0", "q4_0"}
    assert {f.layer for f in table["architecture", "LlamaForCausalLM"]} == {"llama.cpp", "mlx"}
    assert ("architecture", "BModel") in table
    assert ("architecture", "NotAnArchitecture") not in table
    assert table["requires", "llama.cpp"][0].value == "b10488"
    assert values(table, "route") == {"/api/tags": [["GET"]], "/api/generate": [["POST"]]}
    assert table["flag", "OLLAMA_NUM_PARALLEL"][0].value == 1
    for name, value, state in (
        ("OLLAMA_DEBUG", None, "unresolved"), ("OLLAMA_FLASH_ATTENTION", None, "unresolved"),
        ("OLLAMA_KV_CACHE_TYPE", "", "extracted"), ("OLLAMA_AUTH", False, "extracted"),
    ):  # fmt: skip
        [fact] = table["flag", name]
        assert (fact.value, fact.state) == (value, state), name
    assert table["cuda_targets", "cuda_v12"][0].value == [60, 90]
    assert table["platform", "amd:rocm"][0].value == ["gfx90a", "gfx942"]
    assert source.glob("x/*.go")


TGI = {
    "server/text_generation_server/models/__init__.py": (
        "class ModelType(enum.Enum):\n    LLAMA = {\n        'type': 'llama',\n"
        "        'name': 'L',\n"
        "        'multimodal': True,\n    }\n    OTHER = {'type': 'other', 'name': 'O'}\n"
    ),
    "launcher/src/main.rs": (
        '#[serde(rename_all = "kebab-case")]\nenum Quantization {\n    /// awq, a comment\n'
        "    Awq,\n    BitsandbytesNf4,\n    CompressedTensors,\n}\n"
        'enum KVCacheDtype {\n    #[clap(name = "fp8_e4m3fn")]\n    Fp8e4m3fn,\n}\n'
        'struct Args {\n    #[clap(default_value = "128", long, env)]\n    max_batch: usize,\n'
        '    #[clap(long = "renamed", env)]\n    original: Option<String>,\n'
        "    #[clap(env)]\n    hidden: usize,\n}\n"
    ),
    "router/src/server.rs": (
        'let a = Router::new()\n  .route("/generate", post(generate))\n'
        '  .route("/health", get(health));\n'
        '#[cfg(feature = "kserve")]\n{\n  app = app.route(\n   "/v2/health/live",\n'
        "   get(live),\n  );\n}\n"
        'metrics::counter!("tgi_request_count").increment(1);\n'
        'metrics::histogram!("tgi_batch_size").record(x);\n'
    ),
    "Dockerfile": 'ENV TORCH_CUDA_ARCH_LIST="8.0;8.6;9.0+PTX"\n',
}


def test_tgi(findings_of, by_subject):
    findings = findings_of(TGI, "tgi", "3.3.7")
    tgi.model_types(findings)
    tgi.choices(findings, "Quantization", "quantization")
    tgi.choices(findings, "KVCacheDtype", "kv_cache_dtype")
    tgi.routes(findings)
    tgi.metrics(findings, ["router/src/server.rs"])
    tgi.flags(findings)
    tgi.targets(findings)
    table = by_subject(findings)
    assert set(values(table, "architecture")) == {"llama", "other", "*"}
    assert set(values(table, "quantization")) == {"awq", "bitsandbytes-nf4", "compressed-tensors"}
    assert set(values(table, "kv_cache_dtype")) == {"fp8_e4m3fn"}
    assert table["route", "/v2/health/live"][0].condition == "built with the feature kserve"
    assert table["route", "/health"][0].condition is None
    assert values(table, "metric") == {
        "tgi_request_count": ["counter"], "tgi_batch_size": ["histogram"]
    }  # fmt: skip
    assert values(table, "flag") == {"--max-batch": [128], "--renamed": [None]}
    target = table["cuda_targets", "image"][0]
    assert (target.value, target.detail["ptx"]) == ([80, 86, 90], [90])


def test_mlc(findings_of, by_subject):
    files = {
        "python/mlc_llm/model/model.py": (
            'MODELS: Dict[str, Model] = {\n    "llama": Model(name="llama", q={"a": 1}),\n'
            '    "qwen2": Model(name="qwen2"),\n}\n'
        ),
        "python/mlc_llm/serve/config.py": (
            "class EngineConfig:\n"
            '    speculative_mode: Literal["disable", "eagle", "medusa"] = "disable"\n'
        ),
    }
    findings = findings_of(files, "mlc-llm", "0.20.0")
    mlc_llm._keys(findings, "python/mlc_llm/model/model.py", "MODELS", "architecture")
    mlc_llm._modes(findings, "speculative_mode", "speculative_method")
    table = by_subject(findings)
    assert set(values(table, "architecture")) == {"llama", "qwen2"}
    assert set(values(table, "speculative_method")) == {"eagle", "medusa"}


def test_tensorrt_llm_stub_and_both_shapes_of_a_tree(findings_of, by_subject):
    stub = findings_of(
        {"PKG-INFO": "Name: x\n" + "".join(f"Requires-Dist: p{i}\n" for i in range(6)) + "\n"},
        "tensorrt-llm",
        "1.3.0rc29",
    )
    tensorrt_llm.extract(stub)
    assert stub.notes
    assert len(stub.rows["requires"]) == 6
    index = "tensorrt_llm/_torch/models/_arch_index.py"
    tree = findings_of({index: 'MODEL_ARCH_TO_MODULE = {"AForCausalLM": "modeling_a"}\n'})
    tensorrt_llm.architectures(tree, [])
    assert ("architecture", "AForCausalLM") in by_subject(tree)
    old = "tensorrt_llm/_torch/models/modeling_b.py"
    before = findings_of({old: '@register_auto_model("BForCausalLM")\nclass B: ...\n'})
    tensorrt_llm.architectures(before, [old])


def test_lmdeploy_defaults_that_are_parameters(findings_of, by_subject):
    helper = """
class ArgumentHelper:
    @staticmethod
    def quant_policy(parser, default: int = 0):
        def parse(x):
            return int(x)
        return parser.add_argument('--quant-policy', type=parse, default=default)

    @staticmethod
    def session_len(parser, default: int = None):
        return parser.add_argument('--session-len', default=default)

    @staticmethod
    def dtype(parser, default: str = 'auto'):
        return parser.add_argument('--dtype', default=default)
"""
    serve = "A.quant_policy(g)\nA.session_len(g)\nA.dtype(g, default='bfloat16')\n"
    files = {"lmdeploy/cli/utils.py": helper, "lmdeploy/cli/serve.py": serve}
    findings = findings_of(files, "lmdeploy", "0.14.0")
    lmdeploy.add_argparse(findings, "lmdeploy/cli/utils.py", ["lmdeploy/cli/serve.py"])
    facts = {name: fact for (_, name), [fact] in by_subject(findings).items()}
    assert facts["--quant-policy"].value == 0
    assert (facts["--session-len"].value, facts["--session-len"].state) == (None, "extracted")
    assert (facts["--dtype"].value, facts["--dtype"].state) == (None, "unresolved")
