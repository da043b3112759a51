"""Kullback-Leibler divergence between two next-token distributions known by their top tokens.

    KL(p || q) = sum_i p_i ln(p_i / q_i)   in nats      (Kullback and Leibler, 1951)

An engine gives the probabilities of its N most probable tokens only. What follows is a lower
bound of the true divergence, exact when the lists cover everything:

* a token in both lists gives its own term;
* a token that the candidate does not list has at most the smallest probability it lists, so its
  term is at least p ln(p / q_min);
* all tokens that the reference does not list are one bucket: by the log-sum inequality (Cover and
  Thomas, Elements of Information Theory, theorem 2.7.1) their terms sum to at least
  P_rest ln(P_rest / Q_rest), and Q_rest is at most what the shared tokens leave.
"""

from __future__ import annotations

import math

from seatrial.quality.answers import Answer, Position

Top = list[tuple[str, float]]
_FLOOR = 1e-12


def kl_bound(reference: Top, candidate: Top) -> float:
    """Lower bound of KL(reference || candidate) in nats; never negative.

    Both lists: (token, ln probability). An empty list tells nothing: 0.
    """
    if not reference or not candidate:
        return 0.0
    q = dict(candidate)
    least = min(q.values())
    total, p_listed, q_shared = 0.0, 0.0, 0.0
    for token, ln_p in reference:
        p = math.exp(ln_p)
        p_listed += p
        if token in q:
            q_shared += math.exp(q[token])
        total += p * (ln_p - q.get(token, least))
    p_rest, q_rest = 1.0 - p_listed, max(1.0 - q_shared, _FLOOR)
    if p_rest > _FLOOR:
        total += p_rest * math.log(p_rest / q_rest)
    return max(total, 0.0)


def shared_positions(reference: Answer, candidate: Answer) -> list[tuple[Position, Position]]:
    """The positions whose context is the same in both: up to the first token that differs.

    The position *of* that token is still shared: both distributions follow the same text.
    """
    pairs = []
    for one, other in zip(reference.positions, candidate.positions, strict=False):
        pairs.append((one, other))
        if one.token != other.token:
            break
    return pairs


def answer_kl(reference: Answer, candidate: Answer) -> float:
    """Mean KL bound in nats over the shared positions of one prompt; both answers non-empty."""
    pairs = shared_positions(reference, candidate)
    return sum(kl_bound(one.top, other.top) for one, other in pairs) / len(pairs)
