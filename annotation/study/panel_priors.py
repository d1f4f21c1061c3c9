"""Let the verdicts of a panel of models change the prior probabilities of candidates, and measure how often the panel errs.

By default, a candidate still needs votes of people: the prior only decides how many. In a random audit sample of the tasks, the
panel's verdicts are not used. There, people's votes alone tell how often the panel is wrong. A panel that the audit does not show to
tell answerable from unanswerable questions changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binomtest, fisher_exact

from annotation.study.assignment import MIN_VALID_POSTERIOR, AssignmentRules, is_overlap_task
from annotation.study.base_rates import to_log_odds
from annotation.study.panel_verdicts import PanelVerdict
from annotation.study.panel_votes import PanelVotes, fit_panel
from pipeline.core.records import DRAFTED_AQ, UNCONFIRMED, Record, Subset, Task, list_judged_subsets

# The panel's error is stated for at least so many audited candidates.
MIN_AUDITED = 30
# The panel is used if Fisher's exact test on the audited candidates has at most this probability, and as long as fewer than
# `MIN_AUDITED` of them are decided.
MAX_P_VALUE = 0.05
# A panel calls a candidate valid if its verdicts change the log odds by at least so much.
MIN_SUPPORT = 1.0
# Maximum shift of the log odds of a subset by its base rate.
MAX_SHIFT = 8.0


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
        is_used: Whether the verdicts of the panel change anything. They do not if the audit does not show that they depend on
            whether a question is answerable.
    """

    voters: tuple[PanelVoter, ...]
    num_audited: int
    num_wrong: int
    error: float | None
    low: float | None
    high: float | None
    warning: str
    is_used: bool = True

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models, sorted."""
        return tuple(sorted({voter.model for voter in self.voters}))


class PanelPriors(NamedTuple):
    """Prior probabilities with the panel.

    Attributes:
        answerable: Candidate id -> prior probability of being answerable, with the panel's verdicts except in the audit sample.
        by_panel: Candidate id -> probability of being answerable by the estimate and the panel, for all candidates that it judged.
        audited: Ids of the candidates of the audit sample.
        voters: The voters of the panel.
        evidence: Candidate id -> log odds of being answerable by the panel's verdicts alone, for the same candidates as `by_panel`.
        subsets: Candidate id -> subset, for the same candidates.
    """

    answerable: dict[str, float]
    by_panel: dict[str, float]
    audited: set[str]
    voters: tuple[PanelVoter, ...]
    evidence: Mapping[str, float] = MappingProxyType({})
    subsets: Mapping[str, Subset] = MappingProxyType({})


def is_panel_audit_task(key: str, seed: int, rate: float) -> bool:
    """Return whether a task is in the panel's audit sample, in which only people's votes are used.

    The audit sample and the overlap, in which several people vote in any case, contain each other: the smaller one is a part of
    the larger one. So the audit needs no votes that are not requested anyway.
    """
    return is_overlap_task(key, AssignmentRules(seed=seed, overlap_rate=rate))


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
        {key: value for key, value in zip(keys, fit.evidence.tolist(), strict=True) if key in judged},
        {key: own[key].subset for key in keys if key in judged},
    )


def audit_panel(priors: PanelPriors, status_by_people: Mapping[str, str]) -> PanelReport:
    """Measure on the audit sample how often the panel errs. Drafted questions are left out: a panel that only tells them from edited
    questions would seem to be of use.

    Args:
        priors: The result of `add_panel`.
        status_by_people: Candidate id -> status by people's votes alone.
    """
    decided = [
        key
        for key in sorted(priors.audited)
        if key in priors.by_panel
        and priors.subsets.get(key) != DRAFTED_AQ
        and status_by_people.get(key) in ("answerable", "unanswerable")
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
    p_value = _compute_p_value(priors, status_by_people, decided)
    warning = (
        ""
        if p_value <= MAX_P_VALUE
        else f"the panel may be useless, so its verdicts are not used: on {len(decided)} audited candidates, its verdicts are not shown to depend "
        f"on whether the question has an answer (Fisher's exact test, p = {p_value:.2f}, at most {MAX_P_VALUE} is needed)"
    )
    return PanelReport(
        voters=priors.voters,
        num_audited=len(decided),
        num_wrong=num_wrong,
        error=round(error, 4),
        low=round(float(interval.low), 4),
        high=round(float(interval.high), 4),
        warning=warning,
        is_used=not warning,
    )


def decide_by_panel(
    priors: PanelPriors,
    min_posterior: float,
    base_rates: Mapping[Subset, float] = MappingProxyType({}),
    judged: Collection[str] = (),
) -> dict[str, Literal["answerable", "unanswerable"]]:
    """Return the status of the candidates that the panel can decide without people (`collect.min_people: 0`).

    The panel decides no candidate of the audit sample, and no drafted question, which people must confirm. Elsewhere it decides if the candidate is probable enough, and if its verdicts
    support this: not even a certain prior decides against them.

    Args:
        priors: The result of `add_panel`.
        min_posterior: Minimum probability of an unanswerable candidate (`collect.min_posterior`). An answerable one needs
            `MIN_VALID_POSTERIOR`.
        base_rates: Subset -> proportion of answerable candidates among those that people judged, by their votes.
        judged: Ids of the candidates that people judged. The base rate of a subset shifts the log odds of all its candidates alike, so
            that their mean over these candidates is the base rate.
    """
    log_odds = {key: float(to_log_odds(np.array(value))) for key, value in priors.by_panel.items()}
    shifts = dict.fromkeys(priors.subsets.values(), 0.0)
    for subset, rate in base_rates.items():
        own = np.array([log_odds[key] for key in judged if priors.subsets.get(key) == subset])
        if subset in shifts and len(own):
            shifts[subset] = _find_shift(own, rate)
    statuses: dict[str, Literal["answerable", "unanswerable"]] = {}
    for key, value in log_odds.items():
        answerable = float(expit(value + shifts[priors.subsets[key]]))
        if key in priors.audited or priors.subsets[key] == DRAFTED_AQ:
            continue
        if 1 - answerable >= min_posterior and priors.evidence[key] < 0:
            statuses[key] = "unanswerable"
        elif answerable >= MIN_VALID_POSTERIOR and priors.evidence[key] > 0:
            statuses[key] = "answerable"
    return statuses


def find_called_valid(priors: PanelPriors) -> list[str]:
    """Return the sorted ids of the candidates that the panel calls valid, without those of the audit sample.

    One "valid" vote of a person decides these candidates, because the models speak against the possibility that the person has not
    looked.
    """
    return sorted(
        key for key, value in priors.evidence.items() if value >= MIN_SUPPORT and key not in priors.audited
    )


def _find_shift(log_odds: np.ndarray, rate: float) -> float:
    """Return the shift of log odds after which their mean probability is a rate.

    >>> round(_find_shift(np.array([0.0, 0.0]), 0.75), 4)
    1.0986
    """
    wanted = np.clip(rate, expit(-MAX_SHIFT), expit(MAX_SHIFT))
    bound = MAX_SHIFT + np.abs(log_odds).max()
    shift: Any = brentq(lambda value: expit(log_odds + value).mean() - wanted, -bound, bound)
    return float(shift)


def _compute_p_value(
    priors: PanelPriors, status_by_people: Mapping[str, str], decided: Collection[str]
) -> float:
    """Return the probability of at least so much agreement between panel and people if the panel's verdicts did not depend on the
    status (Fisher's exact test, one-sided).
    """
    table = np.zeros((2, 2), np.int64)
    for key in decided:
        if evidence := priors.evidence.get(key, 0.0):
            table[int(evidence > 0), int(status_by_people[key] == "answerable")] += 1
    found: Any = fisher_exact(table, alternative="greater")
    return float(found.pvalue)


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
