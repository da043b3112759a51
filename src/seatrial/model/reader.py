"""``read``: what a folder, a GGUF file or a configuration says of a model.

Only headers are read: a 600 GB checkpoint costs a few megabytes. Which format a folder holds is
decided by the files in it. No pickle is opened, no code of the model is run.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from seatrial.core.errors import UsageError
from seatrial.model import config, gguf_config, gguf_file, quantization, safetensors_file
from seatrial.model.bounded import Keys, read_bytes, read_object
from seatrial.model.gguf_types import FILE_TYPES, bits_per_weight
from seatrial.model.info import Format, ModelInfo, Quantization, TensorInfo
from seatrial.model.layers import cache_groups
from seatrial.model.parameters import estimate
from seatrial.model.prebuilt import baked_in, built_for, built_with

_THINKING = ("<think>", "reasoning_content", "enable_thinking", "<|channel|>", "thinking")
MAX_FILES = 4096


def read(path: Path) -> ModelInfo:
    """Read a model's own files.

    Args:
        path: a folder with config.json and weights, a ``.gguf`` (any shard of a split set), or a
            folder with one GGUF model.

    Raises:
        UsageError: nothing there, or several models and no way to tell which.
        IntegrityError: a file is not what it claims to be.
    """
    if path.is_file():
        if path.suffix == ".gguf" or _magic(path) == gguf_file.MAGIC:
            return _read_gguf(path)
        if path.suffix == ".json":
            return _read_folder(path.parent)
        raise UsageError(
            f"{path.name} is not a model this reader knows",
            where=str(path),
            remedy="give a folder with config.json, or a .gguf file",
        )
    if not path.is_dir():
        raise UsageError(
            "the model is not there",
            where=str(path),
            remedy="give a folder with config.json, or a .gguf file; "
            "a hub id is fetched first with: huggingface-cli download ID --local-dir FOLDER",
        )
    ggufs = _main_ggufs(path)
    if ggufs and not any(path.glob("*.safetensors")):
        if len(ggufs) > 1:
            names = ", ".join(p.name for p in ggufs[:5])
            raise UsageError(
                f"{len(ggufs)} GGUF models in one folder: {names}",
                where=str(path),
                remedy="name the file that is meant",
            )
        return _read_gguf(ggufs[0])
    return _read_folder(path)


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""


def _main_ggufs(folder: Path) -> list[Path]:
    """GGUF models in a folder: one per split set, projectors and adapters apart."""
    found = []
    for item in sorted(folder.glob("*.gguf"))[:MAX_FILES]:
        match = gguf_file.SPLIT.match(item.name)
        if "mmproj" in item.name or (match and match.group(2) != "00001"):
            continue
        found.append(item)
    return found


def _read_gguf(path: Path) -> ModelInfo:
    files, total = gguf_file.split_files(path)
    headers = [gguf_file.read_header(p) for p in files or [path]]
    first = headers[0]
    keys = gguf_config.as_config(first, path)
    tensors = [t for h in headers for t in h.tensors]
    keys.values["tie_word_embeddings"] = not any(t.name == "output.weight" for t in tensors)
    shape = config.check(config.shape_of(keys), path)
    cache, known = cache_groups(keys, shape)
    notes = [f"{len(files)} of {total} files of the split set are here"]
    notes = notes if len(files) != total else []
    notes += _absent(sum(h.missing for h in headers), sum(h.body for h in headers))
    projector = next(iter(sorted(path.parent.glob("*mmproj*.gguf"))), None)
    arch = first.values.get("general.architecture")
    template = first.values.get("tokenizer.chat_template")
    licence = first.values.get("general.license")
    pooled = isinstance(arch, str) and f"{arch}.pooling_type" in first.values
    return ModelInfo(
        path=str(path),
        name=path.name,
        format="gguf",
        architecture=arch[:100] if isinstance(arch, str) else None,
        model_type=keys.text("model_type"),
        shape=shape,
        cache=cache,
        cache_known=known and bool(cache),
        parameters=estimate(keys, shape, keys),
        quantization=_gguf_recipe(first, tensors),
        dtype=None,
        weight_bytes=sum(t.bytes for t in tensors) if tensors else None,
        weight_parameters=_elements(tensors) if tensors else None,
        disk_bytes=sum(p.stat().st_size for p in files or [path]),
        files=[p.name for p in files or [path]],
        shards=total,
        tensors=tensors,
        types=_types(tensors),
        vision=projector is not None,
        audio=False,
        embedding=pooled or (isinstance(arch, str) and "bert" in arch),
        encoder_only=isinstance(arch, str) and "bert" in arch,
        remote_code=False,
        tokenizer="tokenizer.ggml.model" in first.values,
        chat_template=isinstance(template, str),
        thinking=isinstance(template, str) and any(w in template for w in _THINKING),
        built_for=None,
        built_with=None,
        license=licence[:100] if isinstance(licence, str) else None,
        projector=projector.name if projector else None,
        findings=notes,
        traits=["rope:llama3"]
        if arch == "llama" and any(t.name == "rope_freqs.weight" for t in tensors)
        else [],
    )


def _absent(missing: int, body: int) -> list[str]:
    """A truncated data section; a header without any data describes a model and no more."""
    if missing and body:
        return [f"truncated: {missing} bytes of weights are missing"]
    return ["the header is here, the weights are not"] if missing else []


def _gguf_recipe(header: gguf_file.GgufHeader, tensors: list[TensorInfo]) -> Quantization:
    said = header.values.get("general.file_type")
    recipe = FILE_TYPES.get(said) if isinstance(said, int) else None
    total, elements = sum(t.bytes for t in tensors), _elements(tensors)
    if recipe is None and tensors:
        by_type = Counter[str]()
        for tensor in tensors:
            by_type[tensor.dtype] += tensor.bytes
        recipe = by_type.most_common(1)[0][0]
    bits = total * 8 / elements if elements else bits_per_weight(recipe or "") or 16.0
    return Quantization(method="gguf", scheme=recipe or "gguf", bits=bits)


def _elements(tensors: list[TensorInfo]) -> int:
    total = 0
    for tensor in tensors:
        count = 1
        for dim in tensor.shape:
            count *= dim
        total += count
    return total


def _types(tensors: list[TensorInfo]) -> dict[str, int]:
    count = Counter[str]()
    for tensor in tensors:
        count[tensor.dtype] += 1
    return dict(sorted(count.items()))


def _read_folder(folder: Path) -> ModelInfo:
    outer, missing = _configuration(folder)
    keys = config.text_keys(outer)
    shape = config.check(config.shape_of(keys), outer.path)
    shape = msgspec.structs.replace(shape, vision_heads=config.vision_heads(outer))
    cache, known = cache_groups(keys, shape)
    files, notes = safetensors_file.weight_files(folder)
    headers = [safetensors_file.read_header(p) for p in files]
    tensors = [t for h in headers for t in h.tensors]
    notes = missing + notes + _absent(sum(h.missing for h in headers), sum(h.body for h in headers))
    template = _template(folder)
    encoder = config.is_encoder(outer)
    form = _format(folder, files, outer)
    others = [p.name for p in _others(folder, form)]
    return ModelInfo(
        path=str(folder),
        name=folder.name,
        format=form,
        architecture=config.architecture(outer),
        model_type=outer.text("model_type"),
        shape=shape,
        cache=[] if encoder else cache,
        cache_known=encoder or known,
        parameters=estimate(keys, shape, outer),
        quantization=_quantization(folder, keys, outer),
        dtype=keys.text("torch_dtype", "dtype"),
        weight_bytes=sum(t.bytes for t in tensors) if tensors else None,
        weight_parameters=_elements(tensors) if tensors else None,
        disk_bytes=sum(p.stat().st_size for p in files) or None,
        files=[p.name for p in files] or others,
        shards=max(len(files), len(others), 1),
        tensors=tensors,
        types=_types(tensors),
        vision=config.has_vision(outer),
        audio=config.has_audio(outer),
        embedding=config.is_embedding(outer, folder),
        encoder_only=encoder,
        remote_code="auto_map" in outer,
        tokenizer=any((folder / n).is_file() for n in ("tokenizer.json", "tokenizer.model")),
        chat_template=template is not None,
        thinking=template is not None and any(w in template for w in _THINKING),
        built_for=built_for(outer) if form == "tensorrt-engine" else None,
        built_with=built_with(outer) if form == "tensorrt-engine" else None,
        license=_license(folder),
        projector=None,
        findings=notes,
        traits=config.traits(keys, shape)
        + config.images(outer)
        + (["vision"] if config.has_vision(outer) else [])
        + (baked_in(outer) if form == "tensorrt-engine" else []),
    )


def _configuration(folder: Path) -> tuple[Keys, list[str]]:
    for name in ("config.json", "mlc-chat-config.json", "params.json"):
        path = folder / name
        if path.is_file():
            keys = Keys(read_object(path), path)
            if name == "mlc-chat-config.json" and (model := keys.section("model_config")):
                merged = {
                    **model.values,
                    **{k: v for k, v in keys.values.items() if k in ("model_type", "quantization")},
                }
                return Keys(merged, path), []
            return keys, []
    if any(folder.glob("*.safetensors")):
        return Keys({}, folder / "config.json"), ["config.json is missing"]
    raise UsageError(
        "no model in this folder: neither config.json nor a .gguf",
        where=str(folder),
        remedy="give the folder that holds config.json",
    )


def _format(folder: Path, files: list[Path], keys: Keys) -> Format:
    if any(folder.glob("*.engine")) or any(folder.glob("*.plan")) or "build_config" in keys:
        return "tensorrt-engine"
    if (folder / "mlc-chat-config.json").is_file() or any(folder.glob("ndarray-cache.json")):
        return "mlc"
    quant = keys.section("quantization")
    if quant is not None and "group_size" in quant and "bits" in quant:
        return "mlx"
    if files or (folder / safetensors_file.INDEX).is_file():
        return "safetensors"
    if _others(folder, "pytorch"):
        return "pytorch"
    return "config"


def _others(folder: Path, form: Format) -> list[Path]:
    patterns = {
        "pytorch": ("*.bin", "*.pth", "*.pt"),
        "tensorrt-engine": ("*.engine", "*.plan"),
        "mlc": ("params_shard_*.bin",),
    }
    found = [p for pattern in patterns.get(form, ()) for p in sorted(folder.glob(pattern))]
    return found[:MAX_FILES]


def _quantization(folder: Path, keys: Keys, outer: Keys) -> Quantization | None:
    found = quantization.from_config(outer) or quantization.from_config(keys)
    own = folder / "hf_quant_config.json"
    if found is None and own.is_file():
        found = quantization.from_hf_quant_config(Keys(read_object(own), own))
    if found is None and isinstance(name := outer.values.get("quantization"), str):
        found = quantization.from_mlc(name)
    return found


def _template(folder: Path) -> str | None:
    """The chat template as text, wherever it is kept."""
    jinja = folder / "chat_template.jinja"
    if jinja.is_file():
        return read_bytes(jinja).decode("utf-8", "replace")
    for name in ("chat_template.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file():
            value = read_object(path).get("chat_template")
            if value is not None:
                return value if isinstance(value, str) else str(value)[: 1 << 20]
    return None


def _license(folder: Path) -> str | None:
    """``license:`` of the model card's front matter."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    with card.open("rb") as file:
        head = file.read(8192).decode("utf-8", "replace")
    if not head.startswith("---"):
        return None
    for line in head.split("\n")[1:60]:
        if line.startswith("---"):
            break
        if line.startswith("license:"):
            return line.partition(":")[2].strip().strip("'\"")[:80] or None
    return None
