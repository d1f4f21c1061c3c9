"""Make crowds of eight simulated annotators: five are diligent, one is careless, one biased, one malicious."""

from __future__ import annotations

from pipeline.core.randomness import make_generator
from research.simulated_annotators.annotators import SimulatedAnnotator


def make_crowd(seed: int) -> tuple[SimulatedAnnotator, ...]:
    """Make a crowd. The diligent annotators err at random rates.

    A diligent annotator misses 2 to 12 % of the unanswerable questions, and calls 0.5 to 4 % of the
    answerable questions invalid. The second rate is lower, because annotators say "valid" when in doubt.
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
        # The biased annotator looks at the images, but calls many answerable questions invalid. If half of
        # the gold questions are valid, about 80 % of the answers to gold questions are correct.
        SimulatedAnnotator("simulated-7-biased", miss_rate=0.0, false_alarm_rate=0.39, unsure_rate=0.0),
        # The malicious annotator answers "invalid" to every question, very fast.
        SimulatedAnnotator("simulated-8-malicious", miss_rate=0.0, false_alarm_rate=1.0, unsure_rate=0.0),
    )
