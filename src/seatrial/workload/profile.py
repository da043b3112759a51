"""The fingerprint's records: the JSON that ``seatrial profile --json`` prints.

Every number is defined in ``docs/method/fingerprint.md``. What the trace does not carry is null,
never 0; the words for it stand in ``missing``. Nothing in it is text of a prompt or names a
person. Names of keys are a contract: others read them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "seatrial/profile/1"
PressureLabel = Literal[
    "prefill", "decode_kv", "prefix_cache", "queueing", "nothing", "not_derivable"
]

Family = Literal["single_user", "multi_tenant_chat", "structured_programs"]


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Of ``n`` values: percentiles by linear interpolation, population standard deviation."""

    n: int
    mean: float
    std: float
    min: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float
    sum: float


class Arrivals(msgspec.Struct, frozen=True, kw_only=True):
    """When requests come. Bins start at the first arrival; counts include empty bins.

    ``per_hour_of_day`` and ``_of_week`` (Monday 0 h first) are requests per hour in UTC, where the
    trace has dates and spans a day or a week.
    ``cv_interarrival`` is null where the time stamps are too coarse to have one;
    ``dispersion_full_bins`` leaves the last, partial bin out: it weighs much in a short trace.
    ``cv_interarrival_naive`` is what a tool that ignores the grain would print.
    """

    rate_per_s: float
    cv_interarrival: float | None
    cv_interarrival_naive: float | None
    grain_s: float
    dispersion: dict[str, float | None]
    dispersion_full_bins: dict[str, float | None]
    peak_per_second: int | None
    peak_per_minute: int
    mean_per_minute: float
    peak_to_mean_minute: float
    peak_to_mean_minute_full_bins: float | None
    interarrival_s: Distribution | None
    share_zero_interarrival: float | None
    distinct_timestamps: int | None
    on_share: float | None
    per_minute: list[int] | None
    per_hour_of_day: list[float] | None
    per_hour_of_week: list[float] | None


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """Reuse of prompt prefixes. Hits are for an infinite cache unless a capacity is named.

    ``lru``: capacity in blocks -> token-weighted hit of an LRU cache, blocks touched last to
    first. Tokens behind the last block of a request count as missed. ``per_session_block_hit``:
    each session's own block hit, as if it had a cache for itself. ``aligned_chunk_hit``: pieces
    whose content was seen in an earlier request at any place, whatever stood before it.
    """

    block_tokens: int
    blocks: int
    unique_blocks: int
    block_hit: float
    token_hit: float
    per_request_mean: float
    last_half_token_hit: float | None
    per_session_block_hit: Distribution | None
    requests_with_hit: float
    requests_all_hit: float
    lru: dict[str, float]
    aligned_chunk_hit: float | None
    shared_prefix_tokens: int
    shared_prefix_share: float


class Sessions(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one conversation or agent run. ``think_s``: from an answer to the next turn.

    Null where answers' ends are not logged; ``gap_s``, from arrival to arrival, is given then.
    """

    count: int
    turns_mean: float
    turns: Distribution
    gap_s: Distribution | None
    think_s: Distribution | None


class Concurrency(msgspec.Struct, frozen=True, kw_only=True):
    """Requests in flight, exact: where latency is logged, else null (see ``LittleConcurrency``).

    ``per_minute``: the mean in each minute from the first arrival; null in traces beyond 14 days.
    """

    mean: float
    max: int
    p99: float
    per_minute: list[float] | None = None


class LittleConcurrency(msgspec.Struct, frozen=True, kw_only=True):
    """Requests in flight by Little's law: rate x ``stay_s``, the mean time of a request.

    ``basis`` says whose time that is: the log's own, or what each request would take alone on
    ``reference``, without waiting, batching or prefix hits. ``per_minute``: by minute of arrival.
    """

    basis: Literal["logged_latency", "alone_on_reference"]
    stay_s: float
    mean: float
    per_minute: list[float] | None
    reference: str | None


class Skew(msgspec.Struct, frozen=True, kw_only=True):
    """How unevenly requests fall on categories (clients, adapters, models).

    ``entropy_bits`` is Shannon's; ``effective`` is exp(entropy in nats): the number of equally
    busy categories with the same entropy.
    """

    categories: int
    top1_share: float
    top3_share: float
    top5_share: float
    entropy_bits: float
    effective: float
    counts: dict[str, int]


class ClientWindows(msgspec.Struct, frozen=True, kw_only=True):
    """Rates per client and window, where a source has those instead of requests (ServeGen).

    Shares and counts are of estimated requests (rate x window). ``share_requests_covered``: of
    them, those for which lengths are known. ``patterns``: family fitted to the gaps -> windows.
    """

    clients: int
    dataset_files: int
    window_s: int
    windows: int
    requests_estimated: float
    mean_rate_per_s: float
    peak_window_rate_per_s: float
    peak_to_mean_window: float | None
    peak_to_min_window: float | None
    top1_share: float
    top5_share: float
    clients_for_90pct: int
    active_client_windows: int
    cv_request_weighted_mean: float | None
    share_active_windows_cv_gt_1: float | None
    patterns: dict[str, int]
    request_weighted_means: dict[str, float]
    share_requests_covered: float


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """Second half of the requests over the first: 1.0 is no drift. Null where not carried."""

    rate: float | None
    input_mean: float | None
    output_mean: float | None


class Pressure(msgspec.Struct, frozen=True, kw_only=True):
    """What the workload presses on, by the arithmetic in ``because``.

    ``loads``: GPU-seconds per second (or per request where there are no times) on the reference.
    """

    label: PressureLabel
    because: str
    consequence: str
    family: Family | None
    reference: str
    loads: dict[str, float]


class Joint(msgspec.Struct, frozen=True, kw_only=True):
    """Joint histogram of lengths: ``counts[i][j]`` requests with input in bin i, output in bin j.

    Bin edges are powers of two; bin i holds input_edges[i] <= x < input_edges[i + 1].
    """

    input_edges: list[int]
    output_edges: list[int]
    counts: list[list[int]]
    pearson: float | None
    spearman: float | None


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A source file: base name, SHA-256, rows read and refused."""

    name: str
    sha256: str
    rows: int
    bad: int


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A refused row: file, line, why; nothing of its content."""

    file: str
    line: int
    why: str


class RowCount(msgspec.Struct, frozen=True, kw_only=True):
    """Rows read and refused; the first ten refused ones are named."""

    read: int
    bad: int
    first_bad: list[Refused]


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a trace says about its workload."""

    schema: str
    format: str
    requests: int
    span_s: float | None
    input_tokens: Distribution | None
    output_tokens: Distribution | None
    input_output_ratio: float | None
    lengths: Joint | None
    arrivals: Arrivals | None
    prefix: Prefix | None
    sessions: Sessions | None
    concurrency: Concurrency | None
    concurrency_little: LittleConcurrency | None = None
    clients: ClientWindows | None
    features: dict[str, float]
    skew: dict[str, Skew]
    input_chars: Distribution | None
    output_chars: Distribution | None
    estimated: list[str]
    ttft_ms: Distribution | None
    e2e_ms: Distribution | None
    drift: Drift
    pressure: Pressure
    missing: list[str]
    notes: list[str]
    rows: RowCount
    files: list[File]
