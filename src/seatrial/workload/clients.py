"""The fingerprint of ServeGen's client statistics: rates over windows, skew, weighted lengths.

There are no requests in such data, only windows of 600 s per client; what needs requests is null.
Requests are rates times window length. Lengths are weighted by the requests of each client in each
window that has a length distribution; how many requests that covers is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seatrial.trace.servegen import Client, Clients, Floats, read
from seatrial.workload.pressure import Reference, pressure
from seatrial.workload.profile import (
    SCHEMA,
    ClientWindows,
    Distribution,
    Drift,
    File,
    Fingerprint,
    RowCount,
)

WINDOW_S = 600
DATA_WINDOW_S = 21_600
_INPUTS = ("input_tokens", "text_tokens")


def profile_clients(
    paths: str | Path | Sequence[str | Path], *, reference: Reference | None = None
) -> Fingerprint:
    """The fingerprint of a folder or archive of ServeGen's clients."""
    data = read(paths)
    totals, windows = _rates(data)
    means, covered, lengths = _lengths(data)
    shares = np.sort(totals)[::-1] / (totals.sum() or 1.0)
    inputs = next((lengths[name] for name in _INPUTS if name in lengths), None)
    return Fingerprint(
        schema=SCHEMA,
        format="servegen",
        requests=round(float(totals.sum())),
        span_s=float(len(windows) * WINDOW_S),
        input_tokens=inputs,
        output_tokens=lengths.get("output_tokens"),
        input_output_ratio=None,
        lengths=None,
        arrivals=None,
        prefix=None,
        sessions=None,
        concurrency=None,
        clients=_windows(data, totals, windows, shares, means, covered),
        features={},
        skew={},
        input_chars=None,
        output_chars=None,
        estimated=["requests"],
        ttft_ms=None,
        e2e_ms=None,
        drift=Drift(rate=None, input_mean=None, output_mean=None),
        pressure=pressure(None, None, None, reference or Reference(), 0.0),
        missing=["requests (client windows only)", "arrival times", "sessions", "prefix blocks"],
        notes=["client statistics, not requests: seatrial trace synth makes requests of them"],
        rows=RowCount(read=sum(len(c.rate) for c in data.clients.values()), bad=0, first_bad=[]),
        files=[File(name=f.name, sha256=f.sha256, rows=f.rows, bad=f.bad) for f in data.files],
    )


def _rates(data: Clients) -> tuple[Floats, Floats]:
    """(requests per client, requests per second of all clients per window)."""
    length = max((len(c.rate) for c in data.clients.values()), default=0)
    windows = np.zeros(length)
    for client in data.clients.values():
        windows[: len(client.rate)] += client.rate
    totals = np.array([float(c.rate.sum()) * WINDOW_S for c in data.clients.values()])
    return totals, windows


def _per_data_window(client: Client) -> dict[int, float]:
    """Requests of a client per window of its length data."""
    out: dict[int, float] = {}
    starts = client.start_s // DATA_WINDOW_S * DATA_WINDOW_S
    for start, rate in zip(starts.tolist(), client.rate.tolist(), strict=True):
        out[start] = out.get(start, 0.0) + rate * WINDOW_S
    return out


def _lengths(data: Clients) -> tuple[dict[str, float], float, dict[str, Distribution]]:
    """(request-weighted mean per field, requests covered, distribution per field)."""
    sums: dict[str, float] = {}
    weight: dict[str, float] = {}
    mixed: dict[str, dict[float, float]] = {}
    covered = 0.0
    for client in data.clients.values():
        for start, requests in _per_data_window(client).items():
            fields = client.lengths.get(start)
            if not fields or requests == 0:
                continue
            covered += requests
            for name, pmf in fields.items():
                sums[name] = sums.get(name, 0.0) + requests * pmf.mean
                weight[name] = weight.get(name, 0.0) + requests
                into = mixed.setdefault(name, {})
                for value, share in zip(pmf.values.tolist(), pmf.shares.tolist(), strict=True):
                    into[value] = into.get(value, 0.0) + requests * share
    means = {name: sums[name] / weight[name] for name in sums}
    return means, covered, {name: _distribution(values) for name, values in mixed.items()}


def _distribution(mixed: dict[float, float]) -> Distribution:
    """Of weighted values; percentiles are the smallest value with that share at or below it."""
    values = np.array(sorted(mixed))
    mass = np.array([mixed[value] for value in values.tolist()])
    total = float(mass.sum()) or 1.0
    mean = float(np.dot(values, mass)) / total
    spread = float(np.dot((values - mean) ** 2, mass)) / total
    at = np.searchsorted(np.cumsum(mass) / total, [0.5, 0.9, 0.95, 0.99])
    p50, p90, p95, p99 = values[np.minimum(at, len(values) - 1)].tolist()
    return Distribution(
        n=round(total),
        mean=mean,
        std=spread**0.5,
        min=float(values[0]),
        p50=p50,
        p90=p90,
        p95=p95,
        p99=p99,
        max=float(values[-1]),
        sum=mean * total,
    )


def _windows(
    data: Clients,
    totals: Floats,
    windows: Floats,
    shares: Floats,
    means: dict[str, float],
    covered: float,
) -> ClientWindows:
    total, mean = float(totals.sum()), float(windows.mean())
    low = float(windows.min())
    active = [(c.rate > 0) & (np.array([bool(f) for f in c.family])) for c in data.clients.values()]
    cv = np.concatenate([c.cv[a] for c, a in zip(data.clients.values(), active, strict=True)])
    rate = np.concatenate([c.rate[a] for c, a in zip(data.clients.values(), active, strict=True)])
    patterns: dict[str, int] = {}
    for client, there in zip(data.clients.values(), active, strict=True):
        for name, on in zip(client.family, there.tolist(), strict=True):
            if on and name.isalpha():
                patterns[name[:20]] = patterns.get(name[:20], 0) + 1
    return ClientWindows(
        clients=len(data.clients),
        dataset_files=data.datasets,
        window_s=WINDOW_S,
        windows=len(windows),
        requests_estimated=total,
        mean_rate_per_s=mean,
        peak_window_rate_per_s=float(windows.max()),
        peak_to_mean_window=float(windows.max()) / mean if mean else None,
        peak_to_min_window=float(windows.max()) / low if low else None,
        top1_share=float(shares[:1].sum()),
        top5_share=float(shares[:5].sum()),
        clients_for_90pct=int(np.searchsorted(np.cumsum(shares), 0.9)) + 1,
        active_client_windows=len(cv),
        cv_request_weighted_mean=float(np.dot(cv, rate) / rate.sum()) if len(cv) else None,
        share_active_windows_cv_gt_1=float(np.mean(cv > 1)) if len(cv) else None,
        patterns=patterns,
        request_weighted_means=means,
        share_requests_covered=covered / total if total else 0.0,
    )
