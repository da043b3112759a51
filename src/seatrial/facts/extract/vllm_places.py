"""Where vLLM's tables stand: locators in order, with the versions they are meant for."""

from __future__ import annotations

from seatrial.facts.extract.findings import Locator


class Places:
    """Where things stand, below the package's own name."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.registry = [Locator(f"{package}/model_executor/models/registry.py")]
        self.quantization = [Locator(f"{package}/model_executor/layers/quantization/__init__.py")]
        self.cache = [
            Locator(f"{package}/config/cache.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py", since="0.9.2"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.speculative = [
            Locator(f"{package}/config/speculative.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.structured = [
            Locator(f"{package}/config/structured_outputs.py", since="0.11"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.lora = [
            Locator(f"{package}/config/lora.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.load = [
            Locator(f"{package}/config/load.py", since="0.10.2"),
            Locator(f"{package}/config/__init__.py"),
            Locator(f"{package}/config.py", until="0.10"),
        ]
        self.connectors = [Locator(f"{package}/distributed/kv_transfer/kv_connector/factory.py")]
        self.attention = [
            Locator(f"{package}/v1/attention/backends/registry.py", since="0.14"),
            Locator(f"{package}/attention/backends/registry.py", since="0.11.1"),
            Locator(f"{package}/platforms/interface.py"),
        ]
