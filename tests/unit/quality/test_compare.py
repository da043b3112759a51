"""The rule: what passes, what fails, what stays undecided, and what is not comparable."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from seatrial.core.errors import UsageError
from seatrial.core.provenance import provenance
from seatrial.quality.answers import SCHEMA, Answer, Answers, Position
from seatrial.quality.compare import compare
from seatrial.quality.margin import Margin, margin_for
from seatrial.quality.precision import Precision

N = 64


def answers(noise: float, *, n: int = N, name: str = "c", precision: Precision | None = None):
    """n prompts of 4 tokens over 6 tokens each; ``noise`` is added to the logits."""
    base = np.random.default_rng(1)
    own = np.random.default_rng(2)
    made = []
    for prompt in range(n):
        positions = []
        for _ in range(4):
            logits = base.normal(0, 3.0, 6)
            logits = logits + own.normal(0, 1.0, 6) * noise
            logp = logits - math.log(np.exp(logits).sum())
            order = np.argsort(-logp)
            top = [(str(i), float(logp[i])) for i in order]
            positions.append(Position(token=top[0][0], logprob=top[0][1], top=top))
        made.append(Answer(prompt=f"p{prompt}", positions=positions))
    return Answers(
        schema=SCHEMA,
        candidate=name,
        engine="llama.cpp",
        model="m",
        tokens=4,
        top=6,
        seed=1,
        prompts_sha256="x",
        answers=made,
        provenance=provenance(),
        precision=precision,
    )


REFERENCE = answers(0.0, name="f16")


def test_the_same_answers_pass_the_strictest_margin():
    result = compare(REFERENCE, answers(0.0))
    assert (result.verdict, result.diff.best, result.agreement.best) == ("pass", 0.0, 1.0)
    assert result.n == N
    assert result.positions == 4 * N


def test_small_noise_passes_though_answers_flip():
    noisy = answers(0.1)
    flips = sum(
        a.positions[0].token != b.positions[0].token
        for a, b in zip(REFERENCE.answers, noisy.answers, strict=True)
    )
    assert flips >= 1
    assert compare(REFERENCE, noisy).verdict == "pass"


def test_large_noise_fails_at_16_bits_and_at_4():
    for bits in (16.0, 4.5):
        hurt = answers(2.0, precision=Precision(name="x", bits=bits))
        result = compare(REFERENCE, hurt)
        assert result.verdict == "fail"
        assert result.diff.low > result.margin


def test_the_same_loss_is_judged_by_the_precision_claimed():
    noise = 0.45
    fine = compare(REFERENCE, answers(noise, precision=Precision(name="F16", bits=16.0)))
    coarse = compare(REFERENCE, answers(noise, precision=Precision(name="Q4_0", bits=4.5)))
    assert (fine.verdict, coarse.verdict) == ("fail", "pass")
    assert fine.diff == coarse.diff


def test_an_interval_across_the_margin_is_undecided():
    result = compare(REFERENCE, answers(0.45))
    at_the_edge = Margin(kl_nats=result.diff.best, agreement=0.1, because="test")
    assert compare(REFERENCE, answers(0.45), margin=at_the_edge).verdict == "undecided"


def test_few_prompts_never_pass():
    few = answers(0.0, n=10, name="f16")
    assert compare(few, answers(0.0, n=10)).verdict == "undecided"


def test_prompts_without_an_answer_count_as_disagreement():
    mute = answers(0.0)
    silent = [Answer(prompt=a.prompt, positions=[], error="HTTP 500") for a in mute.answers[:40]]
    mute = msgspec.structs.replace(mute, answers=[*silent, *mute.answers[40:]])
    result = compare(REFERENCE, mute)
    assert result.verdict == "fail"
    assert len(result.unanswered) == 40
    assert result.agreement.best == pytest.approx(24 / 64)


def test_other_prompts_are_refused():
    other = msgspec.structs.replace(answers(0.0), prompts_sha256="y")
    with pytest.raises(UsageError, match="prompts_sha256"):
        compare(REFERENCE, other)


def test_same_seed_same_bytes():
    one, two = (compare(REFERENCE, answers(0.3)) for _ in range(2))
    assert one.kl == two.kl


@pytest.mark.parametrize(
    ("bits", "kl"), [(32.0, 0.02), (8.5, 0.02), (6.5, 0.1), (5.0, 0.1), (4.5, 0.3), (1.7, 0.3)]
)
def test_margin_by_bits(bits: float, kl: float):
    assert margin_for(Precision(name="x", bits=bits)).kl_nats == kl


def test_unknown_precision_gets_the_strictest_margin():
    assert margin_for(None).kl_nats == 0.02
