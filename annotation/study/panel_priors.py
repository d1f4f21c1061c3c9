"""Let the verdicts of a panel of models change the prior probabilities of candidates, and measure how often the panel errs.

A candidate still needs votes of people: the prior only decides how many. In a random audit sample of the tasks, the panel's verdicts
are not used. There, people's votes alone tell how often the panel is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import binomtest

from annotation.study.base_rates import to_log_odds
from annotation.study.panel_verdicts import PanelVerdict
from annotation.study.panel_votes import PanelVotes, fit_panel
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import UNCONFIRMED, Record, Subset, Task, list_judged_subsets

# The panel's error is stated for at least so many audited candidates.
MIN_AUDITED = 30


class PanelVoter(Record):
    """A model with one prompt.

    Attributes:
        model, prompt: The model and the prompt.
        votes: Number of candidates that it judged.
        sensitivity, specificity: Its rates by subset, measured on gold questions and on candidates that people judged.
        correlation: Correlation of its errors with those of each other voter.
    """

    model: str
    prompt: str
    votes: int
    sensitivity: dict[Subset, float]
    specificity: dict[Subset, float]
    correlation: dict[str, float]


class PanelReport(Record):
    """The panel of a study.

    Attributes:
        voters: The models, sorted by name and prompt.
        num_audited: Number of candidates of the audit sample that people decided.
        num_wrong: Number of these on which the panel and people differ.
        error, low, high: The proportion of them with its 95 % Clopper-Pearson interval; None if there are too few.
        warning: What the study leader must know; "" if nothing.
    """

    voters: tuple[PanelVoter, ...]
    num_audited: int
    num_wrong: int
    error: float | None
    low: float | None
    high: float | None
    warning: str


class PanelPriors(NamedTuple):
    """Prior probabilities with the panel.

    Attributes:
        answerable: Candidate id -> prior probability of being answerable, with the panel's verdicts except in the audit sample.
        by_panel: Candidate id -> probability of being answerable by the estimate and the panel, for all candidates that it judged.
        audited: Ids of the candidates of the audit sample.
        voters: The voters of the panel.
    """

    answerable: dict[str, float]
    by_panel: dict[str, float]
    audited: set[str]
    voters: tuple[PanelVoter, ...]


def is_panel_audit_task(key: str, seed: int, rate: float) -> bool:
    """Return whether a task is in the panel's audit sample, in which only people's votes are used."""
    return hash_uniform(str(seed), "panel audit", key) < rate


def add_panel(
    tasks: Iterable[Task],
    verdicts: Iterable[PanelVerdict],
    answerable: Mapping[str, float],
    invalid_by_people: Mapping[str, float],
    seed: int,
    audit_rate: float,
    discarded: Collection[tuple[str, str]] = (),
) -> PanelPriors:
    """Return the prior probabilities of candidates, with the verdicts of a panel.

    Args:
        tasks: The tasks.
        verdicts: The verdicts of the panel. Those on other tasks are ignored.
        answerable: Candidate id -> prior probability of being answerable; 0.5 for other candidates.
        invalid_by_people: Candidate id -> probability of being unanswerable by people's votes, for candidates that people judged.
        seed: Seed of the audit sample.
        audit_rate: Proportion of tasks in the audit sample.
        discarded: Image id and text of gold questions that do not count.
    """
    by_id = {task.task_id: task for task in tasks}
    given = [row for row in verdicts if row.task_id in by_id]
    names = sorted({(row.model, row.prompt) for row in given})
    voter = {name: number for number, name in enumerate(names)}
    own = {
        row.candidate_id: task
        for task in by_id.values()
        for row in (task.first, task.second)
        if row.role == "candidate" and row.candidate_id
    }
    keys = sorted(own)
    index = {key: number for number, key in enumerate(keys)}
    golds = dict[tuple[str, str, str], int]()
    expected: list[bool] = []
    # (row, voter) -> the votes: a candidate that is asked twice has two.
    cast = dict[tuple[int, int], list[float]](), dict[tuple[int, int], list[float]]()
    for row in given:
        task, number = by_id[row.task_id], voter[row.model, row.prompt]
        for asked, choice in ((task.first, row.first), (task.second, row.second)):
            vote = float(choice == "invalid")
            if asked.role != "gold":
                if asked.candidate_id in index:
                    cast[0].setdefault((index[asked.candidate_id], number), []).append(vote)
            elif not asked.gold_source.endswith(UNCONFIRMED) and (task.image_id, asked.text) not in discarded:
                key = task.image_id, asked.text, str(asked.expected_choice)
                if key not in golds:
                    golds[key] = len(golds)
                    expected.append(asked.expected_choice == "invalid")
                cast[1].setdefault((golds[key], number), []).append(vote)
    models = sorted({model for model, _ in names})
    subsets = list_judged_subsets({task.subset for task in own.values()})
    subset = np.array([subsets.index(own[key].subset) for key in keys], np.int64)
    table = PanelVotes(
        _make_matrix(cast[0], len(keys), len(names)),
        subset,
        len(subsets),
        np.array([invalid_by_people.get(key, np.nan) for key in keys], float),
        _make_matrix(cast[1], len(golds), len(names)),
        np.array(expected, bool),
        np.array([models.index(model) for model, _ in names], np.int64),
    )
    fit = fit_panel(table)
    audited = {key for key in keys if is_panel_audit_task(own[key].task_id, seed, audit_rate)}
    odds = to_log_odds(np.array([answerable.get(key, 0.5) for key in keys])) + fit.evidence
    by_panel = dict(zip(keys, expit(odds).tolist(), strict=True))
    judged = {key for key, row in zip(keys, table.votes, strict=True) if not np.isnan(row).all()}
    changed = {key: by_panel[key] for key in judged - audited}
    texts = [" ".join(name) for name in names]
    voters = tuple(
        PanelVoter(
            model=model,
            prompt=prompt,
            votes=int((~np.isnan(table.votes[:, number])).sum()),
            sensitivity=_by_subset(fit.rates[number, :, 0], subset, subsets),
            specificity=_by_subset(fit.rates[number, :, 1], subset, subsets),
            correlation={
                text: round(float(fit.correlation[number, other]), 3)
                for other, text in enumerate(texts)
                if other != number
            },
        )
        for number, (model, prompt) in enumerate(names)
    )
    return PanelPriors(
        {**answerable, **dict(sorted(changed.items()))},
        {key: by_panel[key] for key in sorted(judged)},
        audited,
        voters,
    )


def audit_panel(priors: PanelPriors, status_by_people: Mapping[str, str]) -> PanelReport:
    """Measure on the audit sample how often the panel errs.

    Args:
        priors: The result of `add_panel`.
        status_by_people: Candidate id -> status by people's votes alone.
    """
    decided = [
        key
        for key in sorted(priors.audited)
        if key in priors.by_panel and status_by_people.get(key) in ("answerable", "unanswerable")
    ]
    num_wrong = sum(
        (priors.by_panel[key] > 0.5) != (status_by_people[key] == "answerable") for key in decided
    )
    if len(decided) < MIN_AUDITED:
        warning = (
            f"how often the panel errs is not known: people decided {len(decided)} of the {MIN_AUDITED} candidates of its audit "
            "sample that are needed"
        )
        return PanelReport(
            voters=priors.voters,
            num_audited=len(decided),
            num_wrong=num_wrong,
            error=None,
            low=None,
            high=None,
            warning=warning,
        )
    interval = binomtest(num_wrong, len(decided)).proportion_ci(method="exact")  # of Clopper and Pearson
    error = num_wrong / len(decided)
    # Without a look at the image, the more frequent status is right as often as this.
    most = max(sum(status_by_people[key] == one for key in decided) for one in ("answerable", "unanswerable"))
    warning = (
        ""
        if interval.high < 1 - most / len(decided)
        else f"the panel may be useless: it errs on {num_wrong} of {len(decided)} audited candidates, which does not show that it errs less "
        f"often than a guess of the more frequent status ({len(decided) - most} of {len(decided)})"
    )
    return PanelReport(
        voters=priors.voters,
        num_audited=len(decided),
        num_wrong=num_wrong,
        error=round(error, 4),
        low=round(float(interval.low), 4),
        high=round(float(interval.high), 4),
        warning=warning,
    )


def _make_matrix(cast: Mapping[tuple[int, int], list[float]], num_rows: int, num_voters: int) -> np.ndarray:
    """Return the votes as a matrix. Contradictory votes of a voter on one question cancel each other."""
    matrix = np.full((num_rows, num_voters), np.nan)
    for (row, voter), votes in cast.items():
        if len(set(votes)) == 1:
            matrix[row, voter] = votes[0]
    return matrix


def _by_subset(rates: np.ndarray, subset: np.ndarray, names: Sequence[Subset]) -> dict[Subset, float]:
    present = set(subset.tolist())
    return {name: round(float(rates[at]), 4) for at, name in enumerate(names) if at in present}
