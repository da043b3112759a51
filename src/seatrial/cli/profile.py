"""``seatrial profile``: what a request log says about the workload."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from seatrial.cli.console import Console
from seatrial.cli.spark import spark

if TYPE_CHECKING:
    from seatrial.workload.profile import Distribution, Fingerprint

app = App(name="profile", help="Fingerprint a request log of any known format.")

Json = Annotated[bool, Parameter(name="--json", negative=(), help="Print one JSON document.")]
Merge = Annotated[bool, Parameter(negative=())]
Quiet = Annotated[bool, Parameter(negative=(), help="No progress on stderr.")]


@app.default
def profile(
    *trace: str,
    format: str | None = None,
    map: str | None = None,
    tokenizer: Path | None = None,
    partial: Path | None = None,
    merge: Merge = False,
    json: Json = False,
    quiet: Quiet = False,
    out: Path | None = None,
    html: Path | None = None,
    gpu: str | None = None,
    gpus: int = 1,
    model: Path | None = None,
) -> int:
    """Fingerprint TRACE...: files, globs, folders or archives that together are one trace.

    Texts of prompts and answers are never kept or written: no option does that.

    Parameters
    ----------
    trace
        CSV, JSON lines, JSON, Parquet; gzip, bzip2, xz, zstd and tar are read through.
    format
        Force a reader: azure-csv, mooncake, vidur, claude-sessions, lmcache-agents, lengths,
        lmsys-lora, semantic-router, otel, parquet, generic, servegen.
        Untested, written without a real sample: burstgpt, qwen-bailian, ragpulse, openai-batch,
        litellm, langfuse, helicone, vllm-log, sglang, tgi, llama.cpp, ollama, envoy-ai-gateway,
        kong, portkey, access-log, aiperf, guidellm, vllm-bench.
    map
        Columns of a CSV, JSON lines or Parquet file:
        arrival=COL,input_tokens=COL,output_tokens=COL,session=COL,...
    tokenizer
        Count tokens of texts that have no counts with this tokenizer.json (or a model folder or
        .gguf file; the extra `tokenizers`). Without it they are estimated, and marked so.
    partial
        Write a partial fingerprint of these files (flat CSV or Parquet) and no fingerprint, so
        that parts of a large log can be summed apart, for instance on the machines of a cluster.
    merge
        TRACE... are partial fingerprints: print that of the whole. Lengths, counts, rates and sums
        are exact; bins of time are less than 1 s off those of one pass; gaps between arrivals need
        parts that do not overlap in time; drift is not reckoned.
    out
        Also write the fingerprint to this file.
    html
        Also write a page with figures to this file (drawn with the extra `charts`).
    gpu
        Reckon the pressure on this device (h200, l40s, ...) in place of one h100-80gb.
    gpus
        That many of them for one model.
    model
        Reckon it for this model (folder or GGUF) in place of one of 8B in bf16.
    """
    from seatrial.core.errors import UsageError
    from seatrial.store import write, write_bytes
    from seatrial.trace.source import expand
    from seatrial.workload.partfile import merge_files
    from seatrial.workload.profiling import profile as profile_files
    from seatrial.workload.reference import reference
    from seatrial.workload.tokenizer import Tokenizer

    if not trace:
        raise UsageError("no trace was given", remedy="seatrial profile FILE...")
    if merge and (partial is not None or format or map or tokenizer):
        raise UsageError(
            "--merge takes partial fingerprints, so --partial, --format, --map and --tokenizer "
            "have nothing to do",
            remedy="give those where the parts are made",
        )
    if partial is not None and (html or out or tokenizer or gpu or model):
        raise UsageError(
            "--partial writes sums and no fingerprint",
            remedy="give --out, --html, --gpu and --model with --merge",
        )
    console = Console(as_json=json, quiet=quiet)
    if partial is not None:
        _write_part(console, list(trace), partial, format=format, mapping=mapping_of(map))
        return 0
    if merge:
        found = merge_files(expand(list(trace)), reference=reference(gpu, model, gpus))
    else:
        found = profile_files(
            list(trace),
            format=format,
            mapping=mapping_of(map),
            count=None if tokenizer is None else Tokenizer(tokenizer),
            reference=reference(gpu, model, gpus),
            progress=console.progress,
        )
    console.document(found)
    if not json:
        show(console, found)
    if out is not None:
        write(out, found)
        console.done([out])
    if html is not None:
        from seatrial.workload.page import page

        write_bytes(html, page(found).encode())
        console.done([html])
    return 0


def _write_part(
    console: Console, trace: list[str], out: Path, *, format: str | None, mapping: dict[str, str]
) -> None:
    from seatrial.store import write
    from seatrial.workload.profiling import partial as sum_part

    part = sum_part(trace, format=format, mapping=mapping, progress=console.progress)
    write(out, part)
    console.document({"schema": "seatrial/profile-part-made/1", "path": str(out),
                      "requests": part.requests, "bad": part.bad})  # fmt: skip
    console.line(f"{part.requests} requests summed, {part.bad} rows refused")
    console.done([out], f"seatrial profile --merge {out} ...")


def mapping_of(text: str | None) -> dict[str, str]:
    """``a=b,c=d`` as a mapping.

    Raises:
        UsageError: not of that form.
    """
    from seatrial.core.errors import UsageError

    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if any(not middle or not left.strip() or not right.strip() for left, middle, right in pairs):
        raise UsageError(
            "the mapping is not of the form FIELD=COLUMN,FIELD=COLUMN",
            where=f"--map {text}",
            remedy="for instance --map arrival=time,input_tokens=prompt,output_tokens=answer",
        )
    return {left.strip(): right.strip() for left, _, right in pairs}


def show(console: Console, found: Fingerprint) -> None:
    """The fingerprint on one screen."""
    console.title(f"{found.requests} requests, format {found.format}")
    rows = [
        _row(name, d)
        for name, d in (
            ("input tokens", found.input_tokens),
            ("output tokens", found.output_tokens),
            ("TTFT ms", found.ttft_ms),
            ("E2E ms", found.e2e_ms),
        )
        if d is not None
    ]
    if rows:
        columns = ("", "mean", "p50", "p90", "p99", "max")
        console.table(columns, rows, right=range(1, 6))
    for line in _lines(found):
        console.line(line)
    console.line(f"pressure: {found.pressure.label} ({found.pressure.reference})", style="bold")
    console.line(f"  because {found.pressure.because}")
    console.line(f"  {found.pressure.consequence}")
    if found.missing:
        console.line(f"not in this trace: {', '.join(found.missing)}")
    for note in found.notes:
        console.note(f"note: {note}")
    _bad(console, found)


def _row(name: str, d: Distribution) -> tuple[str, ...]:
    return (name, *(f"{value:,.0f}" for value in (d.mean, d.p50, d.p90, d.p99, d.max)))


def _lines(found: Fingerprint) -> list[str]:
    lines = _shapes(found)
    if found.arrivals is not None:
        a = found.arrivals
        cv = "not to be had" if a.cv_interarrival is None else f"{a.cv_interarrival:.2f}"
        lines.append(
            f"arrivals: {a.rate_per_s:.4g} per s over {found.span_s:,.0f} s; peak minute "
            f"{a.peak_per_minute} ({a.peak_to_mean_minute:.2f} x mean); inter-arrival CV {cv}"
        )
        if a.per_minute and len(a.per_minute) > 2:
            lines.append(f"  per minute  {spark(a.per_minute)}")
        if a.per_hour_of_day:
            lines.append(f"  hour of day {spark(a.per_hour_of_day)} (UTC, from 0 h)")
        shown = ", ".join(
            f"{k} {v:.2f}" for k, v in a.dispersion_full_bins.items() if v is not None
        )
        lines.append(f"dispersion (1 is Poisson): {shown or 'span too short'}")
    if found.prefix is not None:
        p = found.prefix
        lines.append(
            f"prefix reuse: {p.token_hit:.1%} of input tokens (infinite cache), "
            f"{p.unique_blocks:,} distinct blocks of {p.block_tokens}"
        )
        below = [(int(k), v) for k, v in p.lru.items() if int(k) < p.unique_blocks]
        if below:
            lines.append("LRU of blocks: " + ", ".join(f"{k:,}: {v:.1%}" for k, v in below))
    if found.sessions is not None:
        s = found.sessions
        lines.append(f"sessions: {s.count:,}, {s.turns_mean:.1f} turns on average")
    if found.concurrency is not None:
        c = found.concurrency
        lines.append(f"in flight: {c.mean:.1f} on average, at most {c.max} (exact, from latencies)")
    elif found.concurrency_little is not None:
        law = found.concurrency_little
        lines.append(
            f"in flight: {law.mean:.3g} on average (Little's law: rate x {law.stay_s:.3g} "
            f"s alone on {law.reference})"
        )
    if found.features:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in found.features.items())
        lines.append(f"features: {shares}")
    for name, skew in found.skew.items():
        lines.append(f"{name}: {skew.categories}, the busiest {skew.top1_share:.0%}")
    return lines


def _shapes(found: Fingerprint) -> list[str]:
    """Histograms of both lengths over powers of two."""
    if found.lengths is None:
        return []
    inputs = [sum(row) for row in found.lengths.counts]
    outputs = [sum(column) for column in zip(*found.lengths.counts, strict=True)]
    lines = []
    for name, counts, edges in (
        ("input", inputs, found.lengths.input_edges),
        ("output", outputs, found.lengths.output_edges),
    ):
        low = next((i for i, count in enumerate(counts) if count), 0)
        lines.append(f"  {name:<7} {edges[low]:>7,} {spark(counts[low:])} {edges[-1]:,} tokens")
    return lines


def _bad(console: Console, found: Fingerprint) -> None:
    if found.rows.bad:
        console.warn(f"{found.rows.bad} rows were refused:")
        for bad in found.rows.first_bad:
            console.note(f"  {bad.file} line {bad.line}: {bad.why}")
