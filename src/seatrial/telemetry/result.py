"""What a sampler saw: rows, their summary, and the two Parquet files of a cell."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from seatrial.telemetry.gpu import GpuSample
from seatrial.telemetry.host import HostSample, Noise, noise
from seatrial.telemetry.processes import TreeSample

TELEMETRY_FILE = "telemetry.parquet"
METRICS_FILE = "server_metrics.parquet"

_QUERIES = {
    # not measured is NULL in the file, not NaN
    TELEMETRY_FILE: "SELECT t_ns, NULLIF(COLUMNS(* EXCLUDE t_ns), 'nan'::DOUBLE) FROM samples",
    METRICS_FILE: "SELECT * FROM samples ORDER BY t_ns, name, labels",
}
_JOULES_PER_KWH = 3.6e6


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One moment; ``t_ns`` is of the monotonic clock that requests are stamped with."""

    t_ns: int
    tree: TreeSample | None
    client_cpu_s: float
    host: HostSample
    gpus: list[GpuSample]


class MetricRow(msgspec.Struct, frozen=True, kw_only=True):
    """One series of one scrape; ``took_ns`` is how long the scrape took."""

    t_ns: int
    took_ns: int
    name: str
    labels: dict[str, str]
    value: float


class Telemetry(msgspec.Struct, frozen=True, kw_only=True):
    """The result. ``cost_s`` is the CPU time of the sampler's own thread."""

    rows: list[Row]
    metrics: list[MetricRow]
    cost_s: float

    @property
    def span_s(self) -> float:
        """From the first to the last sample."""
        return (self.rows[-1].t_ns - self.rows[0].t_ns) / 1e9 if len(self.rows) > 1 else 0.0

    def noise(self) -> Noise:
        """Steal and the load of others over the whole window."""
        if len(self.rows) < 2:
            return Noise(steal_share=None, others_share=None)
        first, last = self.rows[0], self.rows[-1]
        trees = [r.tree for r in self.rows if r.tree]
        engine = trees[-1].cpu_s - trees[0].cpu_s if trees else 0.0
        return noise(first.host, last.host, engine + last.client_cpu_s - first.client_cpu_s)

    def resources(self) -> dict[str, float | int | None]:
        """Peaks and totals under the keys of a cell's ``resources``; None where not measured."""
        trees = [r.tree for r in self.rows if r.tree]
        samples = [g for r in self.rows for g in r.gpus]
        used = [g.util for g in samples if g.util is not None]
        shares = self.noise()
        return {
            "rss_peak_bytes": max((t.rss_bytes for t in trees), default=None),
            "cpu_s": trees[-1].cpu_s - trees[0].cpu_s if trees else None,
            "gpu_util": sum(used) / len(used) if used else None,
            "gpu_mem_peak_bytes": self._gpu_memory_peak(),
            "energy_kwh": self._energy_kwh(),
            "host_steal_share": shares.steal_share,
            "host_others_share": shares.others_share,
            "sampler_cpu_share": self.cost_s / self.span_s if self.span_s else None,
        }

    def findings(self) -> list[str]:
        """Why the cell is suspect: noise on the host, throttling, strangers on the GPUs."""
        found = self.noise().suspect()
        samples = [g for r in self.rows for g in r.gpus]
        # bits: 0x1 idle, 0x2 applications' clocks; the rest is power, heat or hardware
        if any((g.throttle or 0) & ~0x3 for g in samples):
            found.append("a GPU was throttled")
        if any(g.foreign for g in samples):
            found.append("other processes used a GPU")
        return found

    def write(self, folder: Path) -> list[Path]:
        """Write the two Parquet files into ``folder``; returns their paths."""
        import duckdb

        paths = [folder / TELEMETRY_FILE, folder / METRICS_FILE]
        with duckdb.connect() as con:
            for path, columns in zip(paths, (self._columns(), self._metric_columns()), strict=True):
                con.register("samples", columns)
                con.execute(f"COPY ({_QUERIES[path.name]}) TO ? (FORMAT parquet)", [str(path)])
                con.unregister("samples")
        return paths

    def _columns(self) -> dict[str, np.ndarray]:
        rows = self.rows
        columns: dict[str, np.ndarray] = {"t_ns": np.array([r.t_ns for r in rows], np.int64)}
        for name in ("processes", "rss_bytes", "cpu_s", "threads"):
            values = [getattr(r.tree, name) if r.tree else np.nan for r in rows]
            columns[f"engine_{name}"] = np.array(values, np.float64)
        columns["client_cpu_s"] = np.array([r.client_cpu_s for r in rows], np.float64)
        for name in HostSample.__struct_fields__:
            values = [float(getattr(r.host, name)) for r in rows]
            columns[f"host_{name}"] = np.array(values, np.float64)
        for index in sorted({g.index for r in rows for g in r.gpus}):
            for name in GpuSample.__struct_fields__[1:]:
                values = [_gpu_value(r, index, name) for r in rows]
                columns[f"gpu{index}_{name}"] = np.array(values, np.float64)
        return columns

    def _metric_columns(self) -> dict[str, np.ndarray]:
        rows = self.metrics
        labels = [msgspec.json.encode(r.labels, order="sorted").decode() for r in rows]
        return {
            "t_ns": np.array([r.t_ns for r in rows], np.int64),
            "took_ns": np.array([r.took_ns for r in rows], np.int64),
            "name": np.array([r.name for r in rows], dtype="U"),
            "labels": np.array(labels, dtype="U"),
            "value": np.array([r.value for r in rows], np.float64),
        }

    def _gpu_memory_peak(self) -> int | None:
        sums = [
            sum(g.memory_bytes for g in r.gpus if g.memory_bytes is not None)
            for r in self.rows
            if any(g.memory_bytes is not None for g in r.gpus)
        ]
        return max(sums, default=None)

    def _energy_kwh(self) -> float | None:
        if len(self.rows) < 2:
            return None
        first = {g.index: g.energy_j for g in self.rows[0].gpus}
        pairs = [(first.get(g.index), g.energy_j) for g in self.rows[-1].gpus]
        spent = [b - a for a, b in pairs if a is not None and b is not None]
        return sum(spent) / _JOULES_PER_KWH if spent else None


def _gpu_value(row: Row, index: int, name: str) -> float:
    for sample in row.gpus:
        if sample.index == index:
            value = getattr(sample, name)
            return float("nan") if value is None else float(value)
    return float("nan")
