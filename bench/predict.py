"""The simulator held to the real engine: loads of llama.cpp, each predicted from the others.

    python bench/predict.py [--engines NAME ...] [--starts N] [--seconds S] [--loads NAME ...]
                            [--out DIR] [--docs FILE]

Needs the demo's engine and model (make demo-engine demo-model); vllm and sglang are those of
``make demo-engines``. Seven Poisson loads of different rates and lengths and slices of two real
traces, scaled to what one thread can serve; starts are interleaved over the loads, each on an
engine started anew. About ten minutes as it is. Cells stay in DIR: run again, it goes on where it
stopped, and measures anew what was not valid (an invalid cell is set aside, whatever it says);
``seatrial sim validate DIR/ENGINE`` repeats the judgement. On a machine that does anything else
the errors are the machine's, and the cells say so.
"""

from __future__ import annotations

import argparse
import lzma
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from seatrial.bench.cell import Cell
from seatrial.cli.console import Console
from seatrial.core.errors import MeasurementInvalid
from seatrial.model.derive import derivation, derive
from seatrial.plan import PlannedCell
from seatrial.sim.cells import measured_cells
from seatrial.sim.metrics import METRICS
from seatrial.sim.validate import Compared, Validation, validate
from seatrial.stats.interval import Interval
from seatrial.store import read
from seatrial.trace import RequestTable
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.measure import measure_cell
from seatrial.workload import load, resolve_traffic
from seatrial.workload.spec import SCHEMA, CandidateSpec, Lengths, Synthetic, Workload
from seatrial.workload.synthetic import synthetic

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "examples/chat-cpu/model/SmolLM2-135M-Instruct.Q4_1.gguf"
CONV = ROOT / "examples/chat-cpu/azure-conv-slice.csv"
ARENA = ROOT / "tests/data/traces/vtc_real_trace.jsonl.xz"
MARK = "<!-- bench-predict -->"
LIMITS = {"tpot_ms.mean": 0.10, "output_tokens_per_s": 0.10, "ttft_ms.p99": 0.20}
"""Median absolute errors that the product claims, or else its interval says so."""


@dataclass(frozen=True)
class Shape:
    """One synthetic load: requests per second, mean prompt and answer."""

    rate: float
    input: int
    output: int


@dataclass(frozen=True)
class Engine:
    """What serves: candidate, form of the weights, share of the loads' rates that it can bear."""

    spec: CandidateSpec
    weights: str
    rate: float = 1.0


ENGINES = {
    "llama.cpp": Engine(CandidateSpec(engine="llama.cpp"), "Q8_0"),
    "vllm": Engine(
        CandidateSpec(engine="vllm", version="0.32.0", args={"enforce_eager": True}),
        "hf-bf16",
        0.4,
    ),
    "sglang": Engine(
        CandidateSpec(
            engine="sglang",
            version="0.5.23",
            args={
                "device": "cpu", "attention_backend": "torch_native", "mem_fraction_static": 0.3,
                "max_total_tokens": 8192, "sleep_on_idle": True,
            },
        ),
        "hf-bf16",
        0.4,
    ),
}  # fmt: skip

LOADS: dict[str, Shape | dict[str, Any]] = {
    "calm": Shape(0.5, 60, 25),
    "steady": Shape(0.9, 60, 25),
    "busy": Shape(1.3, 60, 25),
    "prompts": Shape(0.6, 120, 12),
    "answers": Shape(0.7, 45, 50),
    "short": Shape(1.8, 45, 10),
    "mixed": Shape(0.7, 90, 30),
    "azure-conv": {
        "trace": str(CONV), "scale": 0.15, "input_scale": 0.07, "output_scale": 0.08,
    },
    "chatbot-arena": {
        "trace": "arena.jsonl", "scale": 0.3, "input_scale": 0.5, "output_scale": 0.1,
    },
}  # fmt: skip


def main() -> None:
    """Measure, validate, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=26.0, help="length of each load")
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--engines", nargs="+", default=["llama.cpp"], choices=list(ENGINES))
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    asked = parser.parse_args()
    os.environ.setdefault("SEATRIAL_HOME", str(ROOT / ".demo/home"))
    os.environ.setdefault("SEATRIAL_CACHE", str(ROOT / ".demo/cache"))
    console = Console()
    out = asked.out or Path(tempfile.mkdtemp(prefix="seatrial-predict-"))
    lines: list[str] = []
    for name in asked.engines:
        measure(out / name, name, asked.loads, asked.starts, asked.seconds, console)
        lines += judged(out / name, name)
    console.line(f"cells in {out}")
    for line in lines:
        console.line(line)
    if asked.docs:
        text = asked.docs.read_text()
        head = text[: text.index(MARK) + len(MARK)]
        asked.docs.write_text(head + "\n\n" + "\n".join(lines) + "\n")


def judged(folder: Path, engine: str) -> list[str]:
    """The tables of one engine, or why there are none."""
    cells, left_out = measured_cells(folder)
    try:
        return report(validate(cells, not_simulated=left_out), len(cells), engine)
    except MeasurementInvalid as error:
        return [f"{engine}: {error.what}", *left_out]


def measure(
    out: Path, engine: str, names: list[str], starts: int, seconds: float, console: Console
) -> None:
    """Every load ``starts`` times, forwards and backwards in turn; what is valid there is kept."""
    bed = ENGINES[engine]
    artefact = derive(MODEL, bed.weights, progress=console.progress)
    candidate = TrialCandidate(
        f"{engine}-{bed.weights.lower()}",
        bed.spec,
        artefact,
        derivation(artefact).sha256,
        "derived",
    )
    tables = {name: requests(name, seconds, bed.rate) for name in names}
    order = [name for i in range(starts) for name in (names if i % 2 == 0 else names[::-1])]
    for number, name in enumerate(order, 1):
        folder = out / "cells" / candidate.id / f"{number:03d}"
        set_aside_if_invalid(folder)
        if not folder.exists():
            console.progress.step("load", f"{name}, {tables[name].n} requests")
            measure_cell(
                folder,
                PlannedCell(candidate=candidate.id, start=number, position=number),
                candidate,
                spec=workload(bed),
                table=tables[name],
                hardware="bench",
                progress=console.progress,
            )


def set_aside_if_invalid(folder: Path) -> None:
    """Make room for a new try; the old one is kept under another name."""
    if (folder / "cell.json").exists() and not read(folder / "cell.json", Cell).valid:
        place = folder.parents[2] / "set-aside"
        place.mkdir(exist_ok=True)
        folder.rename(place / f"{folder.name}-{len(list(place.iterdir()))}")


def requests(name: str, seconds: float, factor: float) -> RequestTable:
    """The requests of one load, at so large a share of its rate."""
    shape = LOADS[name]
    if isinstance(shape, Shape):
        traffic = Synthetic(
            rate_per_s=shape.rate * factor,
            input_tokens=Lengths(mean=shape.input, p99=3 * shape.input),
            output_tokens=Lengths(mean=shape.output, p99=3 * shape.output),
        )
        n = max(round(shape.rate * factor * seconds), 12)
        return synthetic(traffic, seed=list(LOADS).index(name) + 1, n=n)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "arena.jsonl").write_bytes(lzma.decompress(ARENA.read_bytes()))
        scale = shape["scale"] * factor
        sliced = {
            **shape,
            "scale": scale,
            "slice": {"duration_s": seconds * scale},
            "max_input_tokens": 300,
            "max_output_tokens": 100,
        }
        spec = {**msgspec.to_builtins(workload(ENGINES["llama.cpp"])), "traffic": sliced}
        (folder / "w.yaml").write_bytes(msgspec.yaml.encode(spec))
        return resolve_traffic(load(folder / "w.yaml")).table


def report(result: Validation, cells: int, engine: str) -> list[str]:
    """The tables as Markdown."""
    lines = [
        f"**{engine}**: {cells} cells (SmolLM2-135M {ENGINES[engine].weights}, one thread), "
        f"{result.held_back} held back in turn.",
        "",
        "| metric | median abs. error | asked for | 90 % intervals that hold | verdict |",
        "|---|---|---|---|---|",
    ]
    groups: dict[str, list[Compared]] = {}
    for row in result.compared:
        groups.setdefault(row.metric, []).append(row)
    for metric, rows in groups.items():
        error = result.median_abs_error[metric]
        judged = [row.covered for row in rows if row.covered is not None]
        limit = LIMITS.get(metric)
        verdict = ""
        if limit is not None:
            held = bool(judged) and np.mean(judged) >= 0.8
            verdict = "holds" if error <= limit else "its interval says so" if held else "FAILS"
        lines.append(
            f"| {metric} | {error:.1%} | {'' if limit is None else f'{limit:.0%}'} | "
            f"{sum(judged)} of {len(judged)} | {verdict} |"
        )
    lines.append("")
    for name, share in (
        ("all figures, as if independent", result.coverage),
        ("by cell, figures of a cell dependent", result.coverage_by_cell),
    ):
        lines.append(f"Coverage of the 90 % intervals, {name}: {_covered(share)}")
        lines.append("")
    lines += ["| cell | load | " + " | ".join(METRICS) + " |", "|---" * (2 + len(METRICS)) + "|"]
    by_cell: dict[str, dict[str, Compared]] = {}
    for row in result.compared:
        by_cell.setdefault(row.cell, {})[row.metric] = row
    for cell, found in by_cell.items():
        shown = [_error(found.get(metric)) for metric in METRICS]
        load_name = next(iter(found.values())).load
        lines.append(f"| {cell.rpartition('/')[2]} | {load_name} | " + " | ".join(shown) + " |")
    lines += ["", "Errors are predicted / measured - 1; * outside its interval.", ""]
    lines += [f"Left out: {why}." for why in result.not_simulated]
    return lines


def _covered(share: Interval | None) -> str:
    if share is None:
        return "no intervals"
    inside = "contains" if share.low <= 0.9 <= share.high else "DOES NOT contain"
    return (
        f"{share.best:.1%} of {share.n}, 95 % interval [{share.low:.1%}, {share.high:.1%}], "
        f"{inside} 90 %."
    )


def _error(row: Compared | None) -> str:
    if row is None:
        return ""
    return f"{row.error:+.0%}{'*' if row.covered is False else ''}"


def workload(bed: Engine) -> Workload:
    """Limits of the engine: four places of 512 tokens."""
    precision = {"precision": "bf16"} if bed.weights == "hf-bf16" else {}
    return msgspec.convert(
        {
            "schema": SCHEMA,
            "name": "predict",
            "model": {"path": str(MODEL), **precision},
            "requires": {"context_tokens": 512, "concurrency": 4},
            "hardware": {"cpu": "auto"},
        },
        Workload,
    )


if __name__ == "__main__":
    main()
