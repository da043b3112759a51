"""The planted-truth suite: whole sequential trials with known truth, judged by the deciding rule.

Per cell of the grid (what differs x spread between starts x disturbance) it plays many trials of
two candidates with PLANNED starts each: log-normal requests, the same requests in every start,
noise per start and per request. It counts false winners (a winner whose true ratio on that metric
is not beyond the margin), true winners, equivalences, and the starts that were needed. ``make
bench-stats`` writes the table of docs/method/statistics.md.

    python bench/stats.py [--trials 2000] [--requests 100] [--json FILE] [--docs FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seatrial.core.seeds import stream
from seatrial.plan import Objective, Start, interleave, standing
from seatrial.plan.duel import duels, positions
from seatrial.stats import proportion_interval

MARGIN = 0.03
PLANNED = 5
SPREADS = (0.01, 0.03, 0.06)
DISTURBANCES = ("none", "drift", "one start off")
DRIFT = 0.10  # log change from the first cell of a trial to the last
OFF = 0.30
BURST_SHARE = 0.2
REQUEST_NOISE = 0.05  # per request and start, log
CHUNK = 100
METRICS = ("p50", "p95", "mean")
LINK = Objective(metric="y", log=True, higher_is_better=False)

Floats = NDArray[np.float64]


class Effect(NamedTuple):
    """What makes candidate b slower: everywhere, in its slowest tenth, or inside bursts.

    ``weight`` multiplies the trials where the rate that is checked lies close to its limit.
    """

    name: str
    everywhere: float = 0.0
    tail: float = 0.0
    burst: float = 0.0
    weight: int = 1


EFFECTS = (
    Effect("none"),
    Effect("3 %", everywhere=0.03, weight=8),
    Effect("10 %", everywhere=0.10, weight=8),
    Effect("30 %", everywhere=0.30),
    Effect("30 % in the tail only", tail=0.30),
    Effect("30 % under bursts only", burst=0.30),
)


def pair(rng: np.random.Generator, effect: Effect, n: int, requests: int) -> tuple[Floats, Floats]:
    """(n, requests) log latencies of candidates a and b without noise: log-normal, sigma 0.6."""
    size = rng.normal(0.0, 0.6, (n, requests))
    burst = rng.random((n, requests)) < BURST_SHARE
    tail = size >= np.quantile(size, 0.9, axis=1, keepdims=True)
    slower = np.log1p(effect.everywhere) + tail * np.log1p(effect.tail)
    return size, size + slower + burst * np.log1p(effect.burst)


def metric_of(latency: Floats, name: str) -> Floats:
    """The log of one metric over the last axis (log latencies)."""
    if name == "mean":
        return np.asarray(np.log(np.exp(latency).mean(axis=-1)))
    place = (0.5 if name == "p50" else 0.95) * (latency.shape[-1] - 1)
    low = int(place)
    ordered = np.partition(latency, (low, low + 1), axis=-1)
    # In logarithms; the linear rule between neighbours is the same to second order.
    return np.asarray(ordered[..., low] * (1 - place + low) + ordered[..., low + 1] * (place - low))


def play(
    effect: Effect, spread: float, disturbance: str, *, trials: int, requests: int
) -> dict[str, Floats]:
    """(trials, 2, PLANNED + 1) log values of each metric, with their truth."""
    rng = stream(1, "planted", effect.name, str(spread), disturbance)
    shape = (trials, 2, PLANNED + 1)
    shift = rng.normal(0.0, spread, shape)
    if disturbance == "drift":
        shift += DRIFT * positions(PLANNED, 1) / (2 * PLANNED - 1)
    if disturbance == "one start off":
        where = (np.arange(trials), rng.integers(0, 2, trials), rng.integers(0, PLANNED, trials))
        shift[where] += np.where(rng.random(trials) < 0.5, np.log1p(OFF), np.log1p(-OFF))
    out: dict[str, list[Floats]] = {name: [] for name in METRICS}
    truth: dict[str, list[Floats]] = {name: [] for name in METRICS}
    for at in range(0, trials, CHUNK):
        n = min(CHUNK, trials - at)
        base = np.stack(pair(rng, effect, n, requests), axis=1)  # (n, 2, requests)
        noise = rng.normal(0.0, REQUEST_NOISE, (n, 2, PLANNED + 1, requests))
        latency = base[:, :, None, :] + shift[at : at + n, :, :, None] + noise
        for name in METRICS:
            out[name].append(metric_of(latency, name))
            exact = metric_of(base, name)
            truth[name].append(exact[:, 1] - exact[:, 0])
    joined = {name: np.concatenate(parts) for name, parts in out.items()}
    return joined | {f"truth {name}": np.concatenate(parts) for name, parts in truth.items()}


def cell(effect: Effect, spread: float, disturbance: str, trials: int, requests: int) -> list[dict]:
    """One cell of the grid: a row per metric."""
    data = play(effect, spread, disturbance, trials=trials, requests=requests)
    rows = []
    for name in METRICS:
        found = duels(data[name], planned=PLANNED, margin=MARGIN)
        truth = data[f"truth {name}"]
        better, worse = found.outcome == "better", found.outcome == "worse"
        false = (better & (truth <= np.log1p(MARGIN) + 1e-9)) | worse
        rows.append(
            {
                "effect": effect.name,
                "spread": spread,
                "disturbance": disturbance,
                "metric": name,
                "trials": trials,
                "true_ratio": float(np.exp(np.median(truth))),
                "false_winner": float(false.mean()),
                "false_high": proportion_interval(int(false.sum()), trials).high,
                "winner": float((better & ~false).mean()),
                "equivalent": float((found.outcome == "equivalent").mean()),
                "undecided": float((found.outcome == "undecided").mean()),
                "mean_starts": float(found.starts.mean()),
            }
        )
    return rows


def families(trials: int) -> list[dict]:
    """Several candidates, the first better than all others by exactly the margin, or by nothing.

    Any candidate found worse is a false claim here: no true difference is beyond the margin.
    """
    rows = []
    for k in (3, 5):
        names = [f"c{i}" for i in range(k)]
        order = interleave(names, PLANNED, 1)
        for spread, gap in ((0.03, MARGIN), (0.06, MARGIN), (0.06, 0.0)):
            rng = stream(1, "family", k, str(spread), str(gap))
            false = 0
            for _ in range(trials):
                have: dict[str, list[Start]] = {name: [] for name in names}
                for planned in order:
                    shift = 0.0 if planned.candidate == "c0" else np.log1p(gap)
                    y = float(np.exp(rng.normal(shift, spread)))
                    have[planned.candidate].append(Start(planned.start, planned.position, {"y": y}))
                false += bool(standing(have, [LINK], planned=PLANNED, margin=MARGIN).worse)
            within = proportion_interval(false, trials)
            row = {"candidates": k, "spread": spread, "gap": gap, "trials": trials}
            rows.append(row | {"false": false / trials, "low": within.low, "high": within.high})
    return rows


def family_table(rows: list[dict]) -> str:
    """Markdown."""
    lines = [
        "| candidates | SD | first ahead by | any false claim | 95 % interval |",
        "|" + "---|" * 5,
    ]
    lines += [
        f"| {r['candidates']} | {r['spread']:.0%} | {r['gap']:.0%} | {r['false']:.1%}"
        f" | {r['low']:.1%} to {r['high']:.1%} |"
        for r in rows
    ]
    return "\n".join(lines)


def table(rows: list[dict], metric: str) -> str:
    """A Markdown table of one metric: shares in per cent, a column per disturbance."""
    lines = [
        "| differs | true ratio | SD | " + " | ".join(DISTURBANCES) + " |",
        "|---|---|---|" + "---|" * len(DISTURBANCES),
    ]
    mine = {(r["effect"], r["spread"], r["disturbance"]): r for r in rows if r["metric"] == metric}
    for effect in EFFECTS:
        for spread in SPREADS:
            found = [mine[effect.name, spread, d] for d in DISTURBANCES]
            cells = " | ".join(_shares(r) for r in found)
            ratio = found[0]["true_ratio"]
            lines.append(f"| {effect.name} | {ratio:.3f} | {spread:.0%} | {cells} |")
    return "\n".join(lines)


def _shares(row: dict) -> str:
    names = ("false_winner", "winner", "equivalent", "undecided")
    return " / ".join(f"{100 * row[name]:.1f}" for name in names) + f" ({row['mean_starts']:.1f})"


def write_docs(path: Path, rows: list[dict], family: list[dict], trials: int) -> None:
    """Put the tables after the mark in docs/method/statistics.md."""
    text = path.read_text()
    mark = "<!-- bench-stats -->"
    head = text[: text.index(mark) + len(mark)]
    parts = [
        f"\n\n{trials} trials a cell ({8 * trials} at 3 % and 10 %). Entries: false winner / true"
        " winner / equivalent / undecided in per cent (mean starts of each candidate).\n",
        *(
            f"\n{'Yes' if holds else 'NO'}: {what}; worst {where}.\n"
            for what, holds, where in checks(rows, family)
        ),
    ]
    for metric, title in (("mean", "Mean latency"), ("p95", "p95 latency")):
        parts.append(f"\n### {title}\n\n{table(rows, metric)}\n")
    parts.append(f"\n### Several candidates\n\n{family_table(family)}\n")
    path.write_text(head + "".join(parts))


def checks(rows: list[dict], family: list[dict]) -> list[tuple[str, bool, str]]:
    """What must hold, whether it does, and the worst cell."""
    worst = max(rows, key=lambda r: r["false_winner"])
    power = [
        r for r in rows if r["effect"] == "10 %" and r["spread"] <= 0.03 and r["metric"] == "mean"
    ]
    least = min(power, key=lambda r: r["winner"])
    tie = [
        r for r in rows if r["effect"] == "none" and r["spread"] == 0.01 and r["metric"] == "mean"
    ]
    few = min(tie, key=lambda r: r["equivalent"])
    most = max(family, key=lambda r: r["false"])
    several = f"{most['false']:.1%} ({most['candidates']} candidates, SD {most['spread']:.0%})"
    return [
        ("any false claim among several candidates not above 5 %", most["low"] <= 0.05, several),
        (
            "false winners <= 5 % in every cell",
            worst["false_winner"] <= 0.05,
            _where(worst, "false_winner"),
        ),
        ("power >= 90 % at 10 %, SD <= 3 %", least["winner"] >= 0.90, _where(least, "winner")),
        ("equivalence found at SD 1 %", few["equivalent"] >= 0.90, _where(few, "equivalent")),
    ]


def _where(row: dict, key: str) -> str:
    names = (row["effect"], f"SD {row['spread']:.0%}", row["disturbance"], row["metric"])
    return f"{row[key]:.1%} ({', '.join(names)})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    given = parser.parse_args()
    began = time.monotonic()
    rows = [
        row
        for effect in EFFECTS
        for spread in SPREADS
        for disturbance in DISTURBANCES
        for row in cell(effect, spread, disturbance, given.trials * effect.weight, given.requests)
    ]
    family = families(given.trials)
    print(f"\n### several candidates\n\n{family_table(family)}")
    for metric in METRICS:
        print(f"\n### {metric}\n\n{table(rows, metric)}")
    took = time.monotonic() - began
    print(f"\n{len(rows)} rows, {given.trials} trials each (x8 at 3 and 10 %), {took:.0f} s\n")
    found = checks(rows, family)
    for what, holds, where in found:
        print(f"{'holds' if holds else 'FAILS'}: {what}; worst {where}")
    if given.docs:
        write_docs(given.docs, rows, family, given.trials)
    if given.json:
        given.json.write_text(json.dumps({"pairs": rows, "families": family}, indent=1) + "\n")
    return 0 if all(holds for _, holds, _ in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
