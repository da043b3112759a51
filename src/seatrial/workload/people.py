"""From "200 people" to a rate: an assumption in words, and how much hangs on it.

No log, no certainty. The translation is one product, each factor stated, with a low and a high
reading; a trace of an hour of real use is worth more than all of it.
"""

from __future__ import annotations

import msgspec


class Habit(msgspec.Struct, frozen=True, kw_only=True):
    """What is assumed of people at the busiest time of day.

    Attributes:
        active: share of them with a conversation open.
        seconds_between: from one question of an active person to the next.
        input_mean, input_p99, output_mean, output_p99: tokens per request (those of the Azure
            conversation trace of 2023, 19,366 requests; Patel et al., ISCA 2024).
    """

    active: float = 0.2
    seconds_between: float = 120.0
    input_mean: float = 1155.0
    input_p99: float = 4142.0
    output_mean: float = 211.0
    output_p99: float = 601.0


class PeopleEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Requests per second for a number of people, with a low and a high reading.

    ``in_flight`` is the mean number of requests in progress by Little's law at ``tokens_per_s``
    per stream.
    """

    people: int
    low_per_s: float
    rate_per_s: float
    high_per_s: float
    in_flight: float
    tokens_per_s: float
    habit: Habit
    assumption: str


LOW = Habit(active=0.1, seconds_between=240.0)
HIGH = Habit(active=0.5, seconds_between=60.0)
READING_TOKENS_PER_S = 10.0


def translate(people: int, habit: Habit | None = None) -> PeopleEstimate:
    """What ``people`` ask for at their busiest, under a stated assumption."""
    habit = habit or Habit()
    best = _rate(people, habit)
    low, high = min(best, _rate(people, LOW)), max(best, _rate(people, HIGH))
    in_flight = best * habit.output_mean / READING_TOKENS_PER_S
    return PeopleEstimate(
        people=people,
        low_per_s=low,
        rate_per_s=best,
        high_per_s=high,
        in_flight=in_flight,
        tokens_per_s=READING_TOKENS_PER_S,
        habit=habit,
        assumption=(
            f"{people} people: at the busiest time {habit.active:.0%} of them have a conversation "
            f"open and ask once in {habit.seconds_between:.0f} s, {habit.input_mean:.0f} tokens in "
            f"and {habit.output_mean:.0f} out on average. That is {best:.3g} requests per second "
            f"and about {in_flight:.2g} in flight at {READING_TOKENS_PER_S:.0f} tokens per second "
            f"each. With {LOW.active:.0%} asking every {LOW.seconds_between:.0f} s it would be "
            f"{low:.3g} per second, with {HIGH.active:.0%} every {HIGH.seconds_between:.0f} s "
            f"{high:.3g}: a factor of {high / low:.0f} that only a log can settle."
        ),
    )


def _rate(people: int, habit: Habit) -> float:
    return people * habit.active / habit.seconds_between
