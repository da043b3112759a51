"""The simulator held to the real engine: loads of llama.cpp, each predicted from the others.

    python bench/predict.py [--requests N] [--starts N] [--rates R ...] [--out FOLDER]

Needs the demo's engine and model (make demo-engine demo-model). Loads are Poisson arrivals with
lognormal lengths; starts are interleaved over the loads. Cells stay in FOLDER, so that
``seatrial sim validate FOLDER`` repeats the judgement. On a machine that does anything else the
errors are the machine's.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import msgspec

from seatrial.cli.console import Console
from seatrial.model.derive import derivation, derive
from seatrial.plan import PlannedCell
from seatrial.sim.cells import measured_cells
from seatrial.sim.validate import validate
from seatrial.trial.candidate import TrialCandidate
from seatrial.trial.measure import measure_cell
from seatrial.workload.spec import SCHEMA, CandidateSpec, Lengths, Synthetic, Workload
from seatrial.workload.synthetic import synthetic

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "examples/chat-cpu/model/SmolLM2-135M-Instruct.Q4_1.gguf"


def main() -> None:
    """Measure, validate, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--starts", type=int, default=2)
    parser.add_argument("--rates", type=float, nargs="+", default=[0.3, 0.6, 0.9, 1.2])
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ.setdefault("SEATRIAL_HOME", str(ROOT / ".demo/home"))
    os.environ.setdefault("SEATRIAL_CACHE", str(ROOT / ".demo/cache"))
    console = Console()
    artefact = derive(MODEL, "Q8_0", progress=console.progress)
    candidate = TrialCandidate(
        "llama.cpp-q8_0",
        CandidateSpec(engine="llama.cpp"),
        artefact,
        derivation(artefact).sha256,
        "derived",
    )
    out = asked.out or Path(tempfile.mkdtemp(prefix="seatrial-predict-"))
    number = 0
    for start in range(asked.starts):
        rates = asked.rates if start % 2 == 0 else asked.rates[::-1]
        for rate in rates:
            number += 1
            folder = out / "cells" / candidate.id / f"{number:03d}"
            if folder.exists():
                continue
            traffic = Synthetic(
                rate_per_s=rate,
                input_tokens=Lengths(mean=60, p99=200),
                output_tokens=Lengths(mean=25, p99=80),
            )
            measure_cell(
                folder,
                PlannedCell(candidate=candidate.id, start=number, position=number),
                candidate,
                spec=workload(),
                table=synthetic(traffic, seed=int(rate * 1000), n=asked.requests),
                hardware="bench",
                progress=console.progress,
            )
    cells, left_out = measured_cells(out)
    result = validate(cells, not_simulated=left_out)
    console.line(f"cells in {out}")
    console.line(result.says)
    if result.coverage is not None:
        c = result.coverage
        console.line(f"90 % intervals cover {c.best:.0%} of {c.n} [{c.low:.0%}, {c.high:.0%}]")
    for why in left_out:
        console.line(f"not simulated: {why}")


def workload() -> Workload:
    """Limits of the engine: four places of 512 tokens."""
    return msgspec.convert(
        {
            "schema": SCHEMA,
            "name": "predict",
            "model": {"path": str(MODEL)},
            "requires": {"context_tokens": 512, "concurrency": 4},
            "hardware": {"cpu": "auto"},
        },
        Workload,
    )


if __name__ == "__main__":
    main()
