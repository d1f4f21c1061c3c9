"""Habits that make an annotator suspect: too fast to have looked, one answer too often, the same answers on and on.

A flag is a reason to look, not a proof. Whether it excludes is a parameter of `collect`.

Time. The tool's own time counts while the annotator is away, and may be missing; the time since the submission
before counts pauses, and is short for somebody with two windows open. So each is measured by itself, only very
short times are held against anybody, and medians and shares are told, no means.

Chance. What others answer in the same subsets is what is to be expected. Probabilities are multiplied by the
number of comparisons made (Bonferroni), so `flag_level` is the chance that anybody at all is flagged without a cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import bdtrc  # scipy.stats has it, too, but takes half a second to load

from annotation.study.exports import CHOICES
from annotation.study.judged import CollectRules
from pipeline.core.records import SUBSETS, Choice, Record

SHORTEST_RUN = 10  # the same answers in fewer tasks in a row are never held against anybody
Answers = tuple[Choice, Choice]


class Pace(Record):
    """Seconds per task. `known` tasks have a time; quartiles are None if none has; `fast` are below the limit."""

    known: int
    low: float | None
    median: float | None
    high: float | None
    fast: int


class Excess(Record):
    """The choice that somebody made more often than others would, by the most.

    Attributes:
        share, expected: of all answers, usual, and others' in the same subsets; in [0, 1].
        probability: of so many by chance, times the number of comparisons, at most 1.
    """

    choice: Choice
    share: float
    expected: float
    probability: float


class AnswerRun(Record):
    """The same two answers in `length` tasks in a row; `probability` as in Excess."""

    first: Choice
    second: Choice
    length: int
    probability: float


class Flag(Record):
    """What is suspect about an annotator, and the figures that say so."""

    kind: Literal["speed", "one answer", "long run"]
    detail: str


class Habits(Record):
    """How somebody answered.

    Attributes:
        tasks: how many they judged. choices: how often they chose what, over both questions.
        shown: seconds that the tool showed the task. between: seconds since their submission before.
        excess, run: None if there is nobody to compare with.
    """

    tasks: int
    choices: dict[Choice, int]
    shown: Pace
    between: Pace
    excess: Excess | None
    run: AnswerRun | None
    flags: tuple[Flag, ...]


def habits(judged: pd.DataFrame, rules: CollectRules) -> dict[str, Habits]:
    """Annotator -> how they answered, sorted by name."""
    people = judged.sort_values("order", kind="stable").groupby("annotator")  # each in the order of answering
    # How often somebody gave these answers: [annotators, subsets, first question, second question]
    kinds = {"subset": SUBSETS, "first": CHOICES, "second": CHOICES}
    places = [pd.Categorical(judged[column], values).codes for column, values in kinds.items()]
    counts = np.zeros((len(people), *map(len, kinds.values())), int)
    np.add.at(counts, (people.ngroup().reindex(judged.index), *places), 1)
    by_annotator = {}
    for (name, given), own in zip(people, counts, strict=True):
        others = counts.sum(axis=0) - own
        enough = len(given) >= rules.min_filter_answers
        shared = own.any(axis=(1, 2)) & others.any(axis=(1, 2))  # subsets in which others answered too
        shown, between = (pace(given[clock], rules.fast_seconds) for clock in ("seconds", "gap"))
        most = excess(own[shared], others[shared], len(counts) * len(CHOICES))
        answers: list[Answers] = list(zip(given["first"], given["second"], strict=True))
        run = longest_run(answers, others[shared], len(counts) * len(CHOICES) ** 2)
        by_annotator[str(name)] = Habits(
            tasks=len(given),
            choices=dict(zip(CHOICES, (own.sum(axis=(0, 1)) + own.sum(axis=(0, 2))).tolist(), strict=True)),
            shown=shown,
            between=between,
            excess=most,
            run=run,
            flags=tuple(suspicions(shown, between, most if enough else None, run, rules)),
        )
    return by_annotator


def pace(seconds: pd.Series, fast_seconds: float) -> Pace:
    """Quartiles of the times that are known: positive numbers."""
    known = seconds[(seconds > 0) & np.isfinite(seconds)]
    low, median, high = known.quantile([0.25, 0.5, 0.75]) if len(known) else (None,) * 3
    return Pace(known=len(known), low=low, median=median, high=high, fast=int((known < fast_seconds).sum()))


def excess(own: np.ndarray, others: np.ndarray, comparisons: int) -> Excess | None:
    """The choice least likely to be so frequent by chance, if others' shares in the same subsets hold.

    Args:
        own, others: [subsets, first, second], how often somebody and all others gave these two answers; in no subset
            none. None if there is no subset.
        comparisons: how many such probabilities are looked at in all.
    """
    if not len(own):
        return None
    chosen, usual = (
        counts.sum(axis=1) + counts.sum(axis=2) for counts in (own, others)
    )  # [subsets, choices]
    total = chosen.sum()
    shares = chosen.sum(axis=0) / total
    expected = chosen.sum(axis=1) @ (usual / usual.sum(axis=1, keepdims=True)) / total
    chance = np.minimum(1.0, comparisons * bdtrc(chosen.sum(axis=0) - 1.0, total, expected))
    most = np.lexsort((expected - shares, chance))[0]
    return Excess(
        choice=CHOICES[most],
        share=float(shares[most]),
        expected=float(expected[most]),
        probability=float(chance[most]),
    )


def longest_run(answers: Sequence[Answers], others: np.ndarray, comparisons: int) -> AnswerRun | None:
    """The run of equal answers that is least likely by chance; None if there is nobody to compare with.

    How likely two answers are is taken to be the largest of: others' share of them in any subset that the annotator
    saw (queues may go through the subsets one by one), and their own share outside the run.

    Args:
        answers: in the order given. others, comparisons: as in `excess`.
    """
    if not len(others):
        return None
    usual = (others / others.sum(axis=(1, 2), keepdims=True)).max(axis=0)
    lengths: dict[Answers, int] = {}
    for pair, run in groupby(answers):
        lengths[pair] = max(lengths.get(pair, 0), len(list(run)))
    runs = []
    for (first, second), length in lengths.items():
        share = float(usual[CHOICES.index(first), CHOICES.index(second)])
        if len(answers) > length:
            share = max(share, (answers.count((first, second)) - length) / (len(answers) - length))
        probability = min(1.0, comparisons * run_probability(length, len(answers), share))
        runs.append(AnswerRun(first=first, second=second, length=length, probability=probability))
    return min(runs, key=lambda run: (run.probability, -run.length, run.first, run.second))


def run_probability(length: int, trials: int, share: float) -> float:
    """Probability of at least one run of `length` successes in `trials` independent ones, exact.

    Feller, An Introduction to Probability Theory, XIII.7: the first run ends at trial t if trials t - length + 1 to
    t succeed, the one before failed, and no run ended before that.

    >>> run_probability(2, 3, 0.5)  # of eight: SSF, FSS, SSS
    0.375
    """
    if length > trials:
        return 0.0
    all_of_them = share**length
    ended = [0.0] * length + [all_of_them]  # by trial 0, 1, ... length
    for trial in range(length + 1, trials + 1):
        ended.append(ended[-1] + (1 - share) * all_of_them * (1 - ended[trial - length - 1]))
    return min(1.0, ended[trials])


def suspicions(
    shown: Pace, between: Pace, most: Excess | None, run: AnswerRun | None, rules: CollectRules
) -> Iterator[Flag]:
    """A flag for too many times that are too short by a clock, for one answer given too often, for a run that is too long.

    Args:
        most: None if there are too few answers to say.
    """
    for times, clock in ((shown, "by the tool's clock"), (between, "after the submission before")):
        if times.known >= rules.min_filter_answers and times.fast > rules.max_fast * times.known:
            detail = f"{times.fast} of {times.known} tasks in under {rules.fast_seconds:g} s {clock}"
            yield Flag(kind="speed", detail=f"{detail}, median {times.median:.1f} s")
    if most and most.probability < rules.flag_level and most.share - most.expected > rules.max_excess:
        detail = f"{most.share:.0%} of all answers are {most.choice}, of others' {most.expected:.0%}"
        yield Flag(kind="one answer", detail=detail)
    if run and run.length >= SHORTEST_RUN and run.probability < rules.flag_level:
        detail = f"{run.first} and {run.second} in {run.length} tasks in a row"
        yield Flag(kind="long run", detail=f"{detail} (by chance: {run.probability:.1g})")
