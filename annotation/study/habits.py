"""Habits that make an annotator suspect: too fast to have looked, one answer too often, the same answers on and on.

A flag is a reason to look, not a proof. Whether it excludes is a parameter of `collect`.

Time. The tool's own time counts while the annotator is away, and may be missing; the time since the submission
before counts pauses, and is short for somebody with two windows open. So each is measured by itself, only very
short times are held against anybody, and medians and shares are told, no means.

Chance. What others answer in the same subsets is what is to be expected. Probabilities are multiplied by the
number of comparisons made (Bonferroni), so `flag_level` is the chance that anybody at all is flagged without a cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import isfinite
from typing import Literal, get_args

import numpy as np
from scipy.stats import binom

from annotation.study.collect_rules import CollectRules
from annotation.study.judged import Judged
from pipeline.core.records import SUBSETS, Choice, Record, Verdict

Suspicion = Literal["speed", "one answer", "long run"]
SHORTEST_RUN = 10  # the same answers in fewer tasks in a row are never held against anybody
CHOICES: tuple[Choice, ...] = get_args(Choice)
SHAPE = (
    len(SUBSETS),
    len(CHOICES),
    len(CHOICES),
)  # counts of answers: in a subset, to the first and the second question
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

    kind: Suspicion
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


def habits(judged: Sequence[Judged], rules: CollectRules) -> dict[str, Habits]:
    """Annotator -> how they answered, sorted by name."""
    verdicts: dict[str, list[Verdict]] = defaultdict(list)  # in the order of answering
    counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(SHAPE, int))
    for row in sorted(judged, key=lambda row: row.verdict.order):
        verdict = row.verdict
        verdicts[verdict.annotator].append(verdict)
        at = SUBSETS.index(row.task.subset), CHOICES.index(verdict.first), CHOICES.index(verdict.second)
        counts[verdict.annotator][at] += 1
    everybody = sum(counts.values())
    by_annotator = {}
    for name, own in sorted(counts.items()):
        others = everybody - own
        shared = own.any(axis=(1, 2)) & others.any(axis=(1, 2))  # subsets in which others answered too
        given = verdicts[name]
        shown = pace([verdict.seconds for verdict in given], rules.fast_seconds)
        between = pace([verdict.gap for verdict in given], rules.fast_seconds)
        most = excess(own[shared], others[shared], len(counts) * len(CHOICES))
        answers: list[Answers] = [(verdict.first, verdict.second) for verdict in given]
        run = longest_run(answers, others[shared], len(counts) * len(CHOICES) ** 2)
        by_annotator[name] = Habits(
            tasks=len(given),
            choices=dict(zip(CHOICES, (own.sum(axis=(0, 1)) + own.sum(axis=(0, 2))).tolist(), strict=True)),
            shown=shown,
            between=between,
            excess=most,
            run=run,
            flags=(
                *too_fast(shown, "by the tool's clock", rules),
                *too_fast(between, "after the submission before", rules),
                *too_uniform(len(given), most, run, rules),
            ),
        )
    return by_annotator


def pace(seconds: Sequence[float | None], fast_seconds: float) -> Pace:
    """Quartiles of the times that are known: positive numbers."""
    known = np.array([second for second in seconds if second is not None and isfinite(second) and second > 0])
    low, median, high = np.quantile(known, (0.25, 0.5, 0.75)).tolist() if len(known) else (None,) * 3
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
    chance = np.minimum(1.0, comparisons * binom.sf(chosen.sum(axis=0) - 1, total, expected))
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


def too_fast(times: Pace, clock: str, rules: CollectRules) -> Iterator[Flag]:
    """A flag if too many of the times that are known by this clock are too short."""
    if times.known >= rules.min_filter_answers and times.fast > rules.max_fast * times.known:
        detail = f"{times.fast} of {times.known} tasks in under {rules.fast_seconds:g} s {clock}"
        yield Flag(kind="speed", detail=f"{detail}, median {times.median:.1f} s")


def too_uniform(
    tasks: int, most: Excess | None, run: AnswerRun | None, rules: CollectRules
) -> Iterator[Flag]:
    """Flags for one answer given too often, and for a run of equal answers that is too long."""
    if tasks < rules.min_filter_answers:  # too few to say
        most = None
    if most and most.probability < rules.flag_level and most.share - most.expected > rules.max_excess:
        detail = f"{most.share:.0%} of all answers are {most.choice}, of others' {most.expected:.0%}"
        yield Flag(kind="one answer", detail=detail)
    if run and run.length >= SHORTEST_RUN and run.probability < rules.flag_level:
        detail = f"{run.first} and {run.second} in {run.length} tasks in a row"
        yield Flag(kind="long run", detail=f"{detail} (by chance: {run.probability:.1g})")
