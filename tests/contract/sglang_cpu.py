"""SGLang on a CPU: a test fixture, not a way to install it.

The published kernels are CUDA only; on this path their names are imported and never called. So
the environment gets a stub that raises when it is called, and torchvision's two operators are
declared before it is imported. SGLang itself is unchanged: its scheduler and radix cache are the
real ones, its kernels are plain PyTorch. A candidate that starts only like this is a study.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from seatrial.core.provenance import now_utc
from seatrial.engines.environment import RECORD, Environment, clean_environ
from seatrial.store.artifact import encode

VERSION = "0.5.23"
FIRST = [
    *("torch==2.13.0", "triton==3.9.0", "transformers==5.19.0", "xgrammar==0.2.7"),
    *("apache-tvm-ffi==0.1.11", "compressed-tensors==0.18.0", "openai==2.8.0", "aiohttp"),
    *("anthropic", "dill", "distro", "einops", "fastapi", "gguf", "IPython", "jsonschema"),
    *("msgspec", "orjson", "partial-json-parser", "pillow", "prometheus-client", "psutil"),
    *("pybase64", "python-multipart", "pyzmq", "requests", "scipy", "sentencepiece"),
    *("setproctitle", "soundfile", "tiktoken", "uvicorn", "uvloop", "watchfiles", "zstandard"),
]
SECOND = ["--no-deps", "torchvision==0.28.0", f"sglang=={VERSION}"]

KERNEL_STUB = '''"""Names of the CUDA kernels; none of them may be called on this path."""
__version__ = "0.0.0"


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*args, **kwargs):
        raise NotImplementedError("sgl_kernel." + name)

    return missing
'''
SITE = '''"""torchvision's CUDA build beside a CPU torch: declare the operators it asks for."""
import importlib.abc
import sys


class _BeforeTorchvision(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            import torch

            global _library
            _library = torch.library.Library("torchvision", "DEF")
            for op in ("nms", "qnms"):
                _library.define(op + "(Tensor dets, Tensor scores, float threshold) -> Tensor")
        return None


sys.meta_path.insert(0, _BeforeTorchvision())
'''
ARGS = {
    "device": "cpu",
    "attention_backend": "torch_native",
    "mem_fraction_static": 0.3,
    "max_total_tokens": 8192,
    "sleep_on_idle": True,
}


def environment(engines: Path) -> Environment:
    """Make (or find) the environment under ``engines``; its name says that it is patched."""
    folder = engines / f"sglang-patched-for-cpu-{VERSION}"
    record = folder / RECORD
    python = folder / "bin" / "python"
    made = Environment(
        engine="sglang",
        version=VERSION,
        kind="venv",
        distribution=f"sglang=={VERSION} with stubbed kernels",
        program=str(python),
        created_at=now_utc(),
    )
    if not record.exists():
        began = time.monotonic()
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        for step in (FIRST, SECOND):
            command = [str(python), "-m", "pip", "install", "--quiet", *step]
            subprocess.run(command, check=True, env=clean_environ())
        site = next((folder / "lib").glob("python*/site-packages"))
        (site / "sgl_kernel").mkdir(exist_ok=True)
        (site / "sgl_kernel" / "__init__.py").write_text(KERNEL_STUB)
        (site / "sitecustomize.py").write_text(SITE)
        made = Environment(
            engine=made.engine,
            version=made.version,
            kind=made.kind,
            distribution=made.distribution,
            program=made.program,
            created_at=made.created_at,
            seconds=round(time.monotonic() - began, 1),
        )
        record.write_bytes(encode(made))
    return made


if __name__ == "__main__":
    from seatrial.engines.environment import engines_dir

    print(environment(engines_dir()))
