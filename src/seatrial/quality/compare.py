"""Does this artefact on this engine still say what the reference says?

Two numbers with their intervals over the prompts, and a rule stated before (``RULE``): one
flipped answer proves nothing, because two first tokens may lie 0.04 nats apart; a distribution
that moved by half a nat on most prompts proves a lot.

* first-token agreement: share of prompts whose first greedy token is the same, with its exact
  binomial interval (Clopper and Pearson);
* KL: mean over prompts of the mean divergence over the positions that both answered after the
  same text, in nats, with a bootstrap interval over prompts (a prompt is the unit; tokens of one
  answer are not independent).
"""

from __future__ import annotations

import msgspec

from seatrial.core.errors import UsageError
from seatrial.core.ids import sha256_value
from seatrial.core.provenance import Provenance, provenance
from seatrial.quality.answers import Answer, Answers
from seatrial.quality.divergence import answer_kl, shared_positions
from seatrial.quality.margin import Margin, margin_for
from seatrial.stats.interval import Interval, proportion_interval
from seatrial.stats.mean import bootstrap_mean

SCHEMA = "seatrial/quality/1"
PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
FEWEST = 20

RULE = (
    "pass: the 95 % interval of the mean KL lies at or below the margin and that of the "
    "first-token agreement at or above its floor. fail: either interval lies wholly on the wrong "
    "side. undecided: anything else, or fewer than 20 prompts"
)


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """The loss against the reference: mean KL in nats, 95 % interval."""

    low: float
    best: float
    high: float
    unit: str = "nats"


class QualityResult(msgspec.Struct, frozen=True, kw_only=True):
    """The finding; keys of DESIGN's ``quality --json`` and what is behind them.

    Attributes:
        n: prompts compared; ``margin``: the bound on ``diff`` in nats.
        agreement: share of equal first tokens; ``agreement_floor``: its bound.
        positions: tokens compared after the same text, over all prompts.
        unanswered: prompts that the reference answered and the candidate did not; they count
            as disagreement.
        worst: the prompts with the largest KL, for a person to look at.
    """

    schema: str
    verdict: str
    n: int
    margin: float
    diff: Diff
    reference: str
    candidate: str
    agreement: Interval
    agreement_floor: float
    kl: Interval
    positions: int
    unanswered: list[str]
    worst: list[tuple[str, float]]
    rule: str
    says: str
    because: str
    provenance: Provenance


def compare(
    reference: Answers,
    candidate: Answers,
    *,
    margin: Margin | float | None = None,
    seed: int = 1,
) -> QualityResult:
    """Compare two collections over the same prompts.

    Args:
        margin: the bounds; a number is a bound on the mean KL in nats; None takes the default
            for the precision of the candidate's artefact.
        seed: of the bootstrap.

    Raises:
        UsageError: other prompts, or other settings of the collection: nothing to compare.
    """
    bounds = _bounds(margin, candidate)
    _same_question(reference, candidate)
    theirs = {answer.prompt: answer for answer in candidate.answers}
    asked = [answer for answer in reference.answers if answer.positions]
    pairs = [(a, theirs[a.prompt]) for a in asked if theirs[a.prompt].positions]
    unanswered = [a.prompt for a in asked if not theirs[a.prompt].positions]
    if not pairs:
        raise UsageError(
            "there is no prompt that both answered",
            where=f"{reference.candidate} and {candidate.candidate}",
            remedy="see the errors in the collections; collect again",
        )
    losses = [answer_kl(one, other) for one, other in pairs]
    kl = bootstrap_mean(losses, seed=seed)
    same = sum(one.positions[0].token == other.positions[0].token for one, other in pairs)
    agreement = proportion_interval(same, len(asked))
    verdict = judge(kl, agreement, bounds)
    return QualityResult(
        schema=SCHEMA,
        verdict=verdict,
        n=len(pairs),
        margin=bounds.kl_nats,
        diff=Diff(low=kl.low, best=kl.best, high=kl.high),
        reference=reference.candidate,
        candidate=candidate.candidate,
        agreement=agreement,
        agreement_floor=bounds.agreement,
        kl=kl,
        positions=sum(len(shared_positions(one, other)) for one, other in pairs),
        unanswered=unanswered,
        worst=_worst(pairs, losses),
        rule=RULE,
        says=_says(verdict, kl, agreement, bounds),
        because=bounds.because,
        provenance=provenance(
            {"reference": sha256_value(reference), "candidate": sha256_value(candidate)},
            {"bootstrap": seed},
        ),
    )


def judge(kl: Interval, agreement: Interval, bounds: Margin) -> str:
    """The rule as code: pass, fail or undecided."""
    if kl.low > bounds.kl_nats or agreement.high < bounds.agreement:
        return FAIL
    if agreement.n < FEWEST or kl.n < FEWEST:
        return UNDECIDED
    if kl.high <= bounds.kl_nats and agreement.low >= bounds.agreement:
        return PASS
    return UNDECIDED


def _bounds(margin: Margin | float | None, candidate: Answers) -> Margin:
    if isinstance(margin, Margin):
        return margin
    default = margin_for(candidate.precision)
    if margin is None:
        return default
    return Margin(kl_nats=margin, agreement=default.agreement, because="stated by the caller")


def _same_question(reference: Answers, candidate: Answers) -> None:
    for what in ("prompts_sha256", "tokens", "top"):
        one, other = getattr(reference, what), getattr(candidate, what)
        if one != other:
            raise UsageError(
                f"the two collections differ in {what}: {one} and {other}",
                where=f"{reference.candidate} and {candidate.candidate}",
                remedy="collect both with the same prompts and settings",
            )


def _worst(pairs: list[tuple[Answer, Answer]], losses: list[float]) -> list[tuple[str, float]]:
    ranked = sorted(zip(pairs, losses, strict=True), key=lambda item: -item[1])
    return [(pair[0].prompt, loss) for pair, loss in ranked[:5]]


def _says(verdict: str, kl: Interval, agreement: Interval, bounds: Margin) -> str:
    text = (
        f"{verdict}: mean KL {kl.best:.4f} nats [{kl.low:.4f}, {kl.high:.4f}], margin "
        f"{bounds.kl_nats:g}; first token equal on {agreement.best:.0%} of prompts "
        f"[{agreement.low:.0%}, {agreement.high:.0%}], floor {bounds.agreement:.0%}"
    )
    if verdict == UNDECIDED:
        text += "; more prompts would narrow the intervals"
    return text
