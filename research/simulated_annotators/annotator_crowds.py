"""Make crowds of eight simulated annotators: five who try, one careless, one biased, one malicious."""

from __future__ import annotations

from pipeline.core.randomness import make_generator
from research.simulated_annotators.annotators import SimulatedAnnotator


def make_crowd(seed: int) -> tuple[SimulatedAnnotator, ...]:
    """Make a crowd. Those who try err at random rates.

    They miss 2 to 12 % of unanswerable questions and call 0.5 to 4 % of answerable questions invalid. The second rate is
    lower because annotators say "valid" when in doubt.
    """
    draw = make_generator(seed, "crowd")
    trying = [
        SimulatedAnnotator(
            f"simulated-{number}",
            miss_rate=draw.uniform(0.02, 0.12),
            false_alarm_rate=draw.uniform(0.005, 0.04),
            unsure_rate=draw.uniform(0.1, 0.6),
        )
        for number in range(1, 6)
    ]
    return (
        *trying,
        SimulatedAnnotator("simulated-6-careless", miss_rate=0.45, false_alarm_rate=0.40, unsure_rate=0.1),
        # This one looks, but calls many answerable questions invalid: 82.7 % of gold questions are right, half of them valid.
        SimulatedAnnotator("simulated-7-biased", miss_rate=0.0, false_alarm_rate=0.39, unsure_rate=0.0),
        # This one says "invalid" to everything, at once.
        SimulatedAnnotator("simulated-8-malicious", miss_rate=0.0, false_alarm_rate=1.0, unsure_rate=0.0),
    )
