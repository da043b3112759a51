"""``seatrial whatif WORKLOAD``: which variable matters for this traffic; predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import App, Parameter

from seatrial.cli.console import Console

if TYPE_CHECKING:
    from seatrial.fit.cost import StepCost
    from seatrial.sim.kvpool import KvPool
    from seatrial.sim.policy import Limits, Policy
    from seatrial.sim.whatif import WhatIf
    from seatrial.trace import RequestTable
    from seatrial.workload import Workload

app = App(name="whatif", help="Which variable matters for this traffic (simulated).")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]
_METRICS = ("ttft_ms.p50", "ttft_ms.p99", "tpot_ms.p50", "e2e_ms.p99", "output_tokens_per_s")


@app.default
def whatif(
    workload: Path,
    /,
    *,
    trial: Path | None = None,
    candidate: str | None = None,
    html: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Change scheduling, memory, budget, places, block size, prefix cache, one at a time.

    The step times come from the workload's trial where it was measured, else from the hardware's
    roofline, wide and marked as a prior.

    Parameters
    ----------
    workload
        The workload file (YAML).
    trial
        The trial's folder; trials/NAME under the working directory if not given.
    candidate
        Which measured candidate's step times; the first by name if not given.
    html
        Write a page with the timeline, the curves and the reasons into this file.
    """
    from seatrial.sim.whatif import whatif as changed
    from seatrial.workload import load, resolve_traffic

    console = Console(as_json=json, quiet=quiet)
    loaded = load(workload)
    folder = trial or Path("trials") / loaded.spec.name
    cost, limits, policy, basis, pool = basis_of(
        loaded.spec, loaded.path.parent, folder, candidate, console
    )
    traffic = resolve_traffic(loaded)
    console.progress.step("whatif", f"{traffic.table.n} requests, cost law {basis}")
    result = changed(
        traffic.table,
        cost=cost,
        limits=limits,
        policy=policy,
        basis=basis,
        cached=loaded.spec.requires.prefix_cache,
        pool=pool,
    )
    if html is not None:
        _page(html, traffic.table, result, policy, candidate or loaded.spec.name)
        console.note(f"written: {html}")
    console.document(result)
    console.title(f"what if (predicted; cost law: {basis})")
    base = result.baseline
    console.line(
        f"baseline {base.policy}: TTFT p50 {base.ttft_ms['p50']:.0f} ms, p99 "
        f"{base.ttft_ms['p99']:.0f} ms, {base.output_tokens_per_s:.1f} tokens/s"
    )
    console.line(pool.says)
    console.table(
        ("variable", "value", *_METRICS),
        [
            (
                variant.variable,
                variant.value if not variant.refused else f"{variant.value}: {variant.refused}",
                *(f"x {variant.effect[m]:.2f}" if m in variant.effect else "" for m in _METRICS),
            )
            for variant in result.variants
        ],
        right=range(2, 2 + len(_METRICS)),
    )
    for line in result.says:
        console.line(line)
    console.title("why, on this traffic (predicted)")
    console.table(
        ("variable", "largest effect", "because"),
        [(name, f"x {effect:.2f}", result.why.get(name, "")) for name, effect in result.ranking],
        right={1},
    )
    return 0


def _page(path: Path, table: RequestTable, result: WhatIf, policy: Policy, name: str) -> None:
    """One page that explains which variable matters for this workload and why."""
    from seatrial.dossier.predicted import PredictedPart, simulation
    from seatrial.dossier.predicted_page import predicted_page
    from seatrial.dossier.words import words
    from seatrial.sim.load import from_table
    from seatrial.store import write_bytes

    t = words("en")
    simulated, figures = simulation(
        from_table(table),
        policy,
        result.limits,
        result.cost,
        candidate=name,
        basis=result.basis,
        t=t,
    )
    part = PredictedPart(
        cells=[], inside=0, judged=0, simulated=simulated, not_simulated="", figures=figures
    )
    write_bytes(path, predicted_page(part, name, t).encode())


class Basis(NamedTuple):
    """Step times, limits, scheduler, where the step times are from, and the KV pool's size."""

    cost: StepCost
    limits: Limits
    policy: Policy
    says: str
    pool: KvPool


def basis_of(
    spec: Workload, base: Path, folder: Path, candidate: str | None, console: Console
) -> Basis:
    """What to simulate with: measured in the trial, else the hardware's prior."""
    from seatrial.core.errors import PrerequisiteError, UsageError
    from seatrial.sim.cells import engine_limits, longest, measured_cells
    from seatrial.sim.kvpool import kv_pool
    from seatrial.sim.validate import fit_cells

    try:
        cells, _ = measured_cells(folder)
    except PrerequisiteError as error:
        console.note(f"{error.what}: {folder}")
        cells = []
    names = sorted({cell.candidate for cell in cells})
    if candidate is not None and candidate not in names:
        raise UsageError(
            f"{candidate} has no measured cells",
            where=str(folder),
            remedy=f"take one of {', '.join(names) or 'none: measure first'}",
        )
    computed = _computed_pool(spec, base)
    if not names:
        return _prior(spec, base, computed)
    chosen = [cell for cell in cells if cell.candidate == (candidate or names[0])]
    last = chosen[-1]
    limits, policy = engine_limits(last.effective, longest(last.observed), computed_pool=computed)
    pool = kv_pool(last.effective, computed)
    return Basis(fit_cells(chosen).cost, limits, policy, f"calibrated on {len(chosen)} cells", pool)


def _computed_pool(spec: Workload, base: Path) -> int | None:
    """Tokens of cache that fit beside the weights in nine tenths of one GPU's memory."""
    from seatrial.hardware import gpu
    from seatrial.model import memory, read

    if not spec.hardware.gpu:
        return None
    model = read((base / spec.model.path).resolve())
    device = gpu(spec.hardware.gpu)
    per_token = max(memory.kv_bytes_per_token(model), 1)
    room = device.memory_gb * 1e9 * 0.9 - (model.weight_bytes or 0)
    return max(int(room / per_token), 16) if model.weight_bytes else None


def _prior(spec: Workload, base: Path, computed: int | None) -> Basis:
    from seatrial.core.errors import PrerequisiteError
    from seatrial.fit.prior import roofline
    from seatrial.hardware import gpu
    from seatrial.model import read
    from seatrial.sim.kvpool import kv_pool
    from seatrial.sim.policies import POLICIES
    from seatrial.sim.policy import Limits

    model = read((base / spec.model.path).resolve())
    device = gpu(spec.hardware.gpu) if spec.hardware.gpu else None
    flops = None
    if device is not None:
        flops = next(
            (device.dense_tflops[k] for k in ("bf16", "fp16") if k in device.dense_tflops), None
        )
    prior = (
        roofline(model, bandwidth_gb_s=device.bandwidth_gb_s, tflops=flops)
        if device is not None and flops
        else None
    )
    if prior is None or computed is None:
        raise PrerequisiteError(
            "there are no step times: nothing was measured, and no roofline is known for this "
            "hardware and model",
            unchanged="nothing was written",
            remedy="measure first (seatrial run WORKLOAD), or name a GPU under hardware.gpu",
        )
    limits = Limits(blocks=computed // 16)
    policy = POLICIES["chunked-prefill"]
    return Basis(prior.best, limits, policy, f"prior, {prior.says}", kv_pool({}, computed))
