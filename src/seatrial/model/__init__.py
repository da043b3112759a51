"""A model's own files: what they say, and the memory it takes.

``read`` gives a ``ModelInfo`` from config.json, safetensors or GGUF headers; ``memory`` holds the
arithmetic on it.
"""

from seatrial.model import memory
from seatrial.model.info import CacheGroup, ModelInfo, Parameters, Quantization, Shape, TensorInfo
from seatrial.model.reader import read

__all__ = [
    "CacheGroup",
    "ModelInfo",
    "Parameters",
    "Quantization",
    "Shape",
    "TensorInfo",
    "memory",
    "read",
]
