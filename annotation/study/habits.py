"""Habits that make an annotator suspect: too fast to have looked, one answer too often, the same answers on and on.

A flag is a reason to look, not a proof. Whether it excludes is a parameter of `collect`.

Time. The tool's own time counts while the annotator is away, and may be missing; the time since the submission
before counts pauses, and is short for somebody with two windows open. So each is measured by itself, only very
short times are held against anybody, and medians and shares are told, no means.

Chance. What others answer in the same subsets is what is to be expected. Probabilities are multiplied by the
number of comparisons made (Bonferroni), so `level` is the chance that anybody at all is flagged without a cause.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import isfinite
from typing import Literal, get_args

import numpy as np
from scipy.stats import binom

from pipeline.core.records import Choice, Record, Subset, Task, Verdict

Suspicion = Literal["speed", "one answer", "long run"]
SHORTEST_RUN = 10  # the same answers in fewer tasks in a row are never held against anybody
CHOICES = get_args(Choice)
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
        share, expected: of all answers, theirs, and others' in the same subsets; in [0, 1].
        probability: of so many by chance, times the number of comparisons, at most 1.
    """

    choice: Choice
    share: float
    expected: float
    probability: float


class Run(Record):
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
    run: Run | None
    flags: tuple[Flag, ...]


class Limits(Record):
    """When a habit is flagged.

    Attributes:
        fast_seconds: less than this is too fast for a task. max_fast: share of such tasks that is tolerated.
        min_answers: fewer tasks than this tell nothing of anybody.
        max_excess: by how much the share of a choice may exceed what others give.
        level: probability, over all comparisons, below which it is not chance.
    """

    fast_seconds: float = 3.0
    max_fast: float = 0.25
    min_answers: int = 20
    max_excess: float = 0.2
    level: float = 0.001


def habits(tasks: Mapping[str, Task], verdicts: Sequence[Verdict], limits: Limits) -> dict[str, Habits]:
    """Annotator -> how they answered, sorted by name."""
    given: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        given[verdict.annotator].append(verdict)
    answered = {
        name: [(tasks[v.task_id].subset, (v.first, v.second)) for v in sorted(row, key=lambda v: v.order)]
        for name, row in sorted(given.items())
    }
    total = counted(pair for row in answered.values() for pair in row)
    made = {}
    for name, row in answered.items():
        own = counted(row)
        others = {subset: total[subset] - own[subset] for subset in own if total[subset] != own[subset]}
        shown = pace([v.seconds for v in given[name]], limits.fast_seconds)
        between = pace([v.gap for v in given[name]], limits.fast_seconds)
        most = excess(row, others, len(answered) * len(CHOICES))
        run = longest_run(row, others, len(answered) * len(CHOICES) ** 2)
        made[name] = Habits(
            tasks=len(row),
            choices={choice: sum(pair.count(choice) for _, pair in row) for choice in CHOICES},
            shown=shown,
            between=between,
            excess=most,
            run=run,
            flags=flags(len(row), shown, between, most, run, limits),
        )
    return made


def counted(rows: Iterable[tuple[Subset, Answers]]) -> dict[Subset, Counter[Answers]]:
    """How often each pair of answers was given in each subset."""
    counts: dict[Subset, Counter[Answers]] = defaultdict(Counter)
    for subset, pair in rows:
        counts[subset][pair] += 1
    return counts


def pace(seconds: Sequence[float | None], fast_seconds: float) -> Pace:
    """Quartiles of the times that are known: positive numbers."""
    known = np.array([s for s in seconds if s is not None and isfinite(s) and s > 0])
    low, median, high = np.quantile(known, (0.25, 0.5, 0.75)).tolist() if len(known) else (None,) * 3
    return Pace(known=len(known), low=low, median=median, high=high, fast=int((known < fast_seconds).sum()))


def excess(
    mine: Sequence[tuple[Subset, Answers]], others: Mapping[Subset, Counter[Answers]], comparisons: int
) -> Excess | None:
    """The choice least likely to be so frequent by chance, if others' shares in the same subsets hold.

    Args:
        others: what everybody else answered. Subsets without it are left out; None if none is left.
        comparisons: how many such probabilities are looked at in all.
    """
    own = [(subset, choice) for subset, pair in mine for choice in pair if subset in others]
    if not own:
        return None
    sizes = Counter(subset for subset, _ in own)
    found = []
    for choice in CHOICES:
        expected = sum(size * _share(others[subset], choice) for subset, size in sizes.items()) / len(own)
        count = sum(made == choice for _, made in own)
        chance = float(binom.sf(count - 1, len(own), expected))
        found.append(
            Excess(
                choice=choice,
                share=count / len(own),
                expected=expected,
                probability=min(1.0, comparisons * chance),
            )
        )
    return min(found, key=lambda row: (row.probability, row.expected - row.share))


def _share(answers: Counter[Answers], choice: Choice) -> float:
    return sum(pair.count(choice) * times for pair, times in answers.items()) / (2 * answers.total())


def longest_run(
    mine: Sequence[tuple[Subset, Answers]], others: Mapping[Subset, Counter[Answers]], comparisons: int
) -> Run | None:
    """The run of equal answers that is least likely by chance; None if there is nobody to compare with.

    How likely two answers are is taken to be the largest of: others' share of them in any subset that the annotator
    saw (queues may go through the subsets one by one), and their own share outside the run.
    """
    if not others:
        return None
    longest: dict[Answers, int] = {}
    for pair, row in groupby(pair for _, pair in mine):
        longest[pair] = max(longest.get(pair, 0), len(list(row)))
    own = Counter(pair for _, pair in mine)
    found = []
    for pair, length in longest.items():
        share = max(row[pair] / row.total() for row in others.values())
        if len(mine) > length:
            share = max(share, (own[pair] - length) / (len(mine) - length))
        probability = min(1.0, comparisons * run_probability(length, len(mine), share))
        found.append(Run(first=pair[0], second=pair[1], length=length, probability=probability))
    return min(found, key=lambda row: (row.probability, -row.length, row.first, row.second))


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


def flags(
    tasks: int, shown: Pace, between: Pace, most: Excess | None, run: Run | None, limits: Limits
) -> tuple[Flag, ...]:
    """What of all this is suspect."""
    found = []
    for row, clock in ((shown, "by the tool's clock"), (between, "after the submission before")):
        if row.known >= limits.min_answers and row.fast > limits.max_fast * row.known:
            detail = f"{row.fast} of {row.known} tasks in under {limits.fast_seconds:g} s {clock}"
            found.append(Flag(kind="speed", detail=f"{detail}, median {row.median:.1f} s"))
    told = tasks >= limits.min_answers and most and most.probability < limits.level
    if told and most.share - most.expected > limits.max_excess:
        detail = f"{most.share:.0%} of all answers are {most.choice}, of others' {most.expected:.0%}"
        found.append(Flag(kind="one answer", detail=detail))
    if run and run.length >= SHORTEST_RUN and run.probability < limits.level:
        detail = f"{run.first} and {run.second} in {run.length} tasks in a row"
        found.append(Flag(kind="long run", detail=f"{detail} (by chance: {run.probability:.1g})"))
    return tuple(found)
