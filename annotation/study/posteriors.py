"""Estimate from the answers table how probable it is that each candidate is unanswerable, and whose votes count.

The model is in `annotation.study.vote_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from annotation.study.agreement import IntervalEstimate
from annotation.study.answers_table import (
    EXCLUSION_REASONS,
    get_adjudications,
    make_categorical,
    select_gold_answers,
    select_votes,
)
from annotation.study.base_rates import to_log_odds
from annotation.study.vote_model import VoteFit, VoteTable, estimate_gold_rates, fit_votes, group_people
from pipeline.core.records import Record, Subset, list_judged_subsets

# The gold questions and the votes of a person differ if a rate is lower by so much among the votes, with at least so many
# votes.
MAX_RATE_DIFFERENCE, MIN_COMPARED_VOTES = 0.15, 50


class Posterior(Record):
    """The probability that a candidate is unanswerable (`invalid`)."""

    candidate_id: str
    invalid: float


class AnnotatorRates(Record):
    """Estimated error rates of an annotator in a subset, on candidates that are not hard.

    Attributes:
        subset: The subset.
        annotator: The pseudonym.
        votes: Number of votes.
        sensitivity: Rate at which unanswerable candidates are called invalid.
        specificity: Rate at which answerable candidates are not called invalid.
        gold_sensitivity, gold_specificity: The same rates by gold questions.
        trusted_before: Number of the first task (from 0 on) from which on the votes are not trusted; None if all are trusted.
    """

    subset: Subset
    annotator: str
    votes: int
    sensitivity: float
    specificity: float
    gold_sensitivity: float
    gold_specificity: float
    trusted_before: int | None


class PosteriorEstimates(NamedTuple):
    """The estimates for a whole study.

    Attributes:
        posteriors: The posteriors of candidates with votes, sorted by id.
        invalid_by_votes: Candidate id -> the same probability without the verdicts of adjudicators.
        rates: Sorted by subset and annotator.
        copies: Accounts that answer like one person, in groups.
        base_rates: For each subset the proportion of answerable candidates among those with votes that no
            adjudicator decided, with its 95 % credible interval.
        hard_rates: For each subset the proportions of hard candidates among unanswerable and among answerable ones.
        image_evidence: How much more probable the trusted votes are if annotators looked at the images than if each
            annotator calls a constant proportion of a subset invalid: a log ratio, per vote.
    """

    posteriors: list[Posterior]
    invalid_by_votes: dict[str, float]
    rates: list[AnnotatorRates]
    copies: list[list[str]]
    base_rates: dict[Subset, IntervalEstimate]
    hard_rates: dict[Subset, tuple[float, float]]
    image_evidence: float


NO_ESTIMATES = PosteriorEstimates([], {}, [], [], {}, {}, 0.0)


def estimate_posteriors(
    answers: pd.DataFrame, prior_answerable: Mapping[str, float]
) -> tuple[PosteriorEstimates, pd.DataFrame]:
    """Estimate the probability that each candidate is unanswerable.

    Args:
        answers: The answers table after quality control, with at least one vote.
        prior_answerable: Candidate id -> prior probability of being answerable; 0.5 for other candidates.

    Returns:
        The estimates, and the answers table, in which votes that are not trusted, and repeated votes of copies,
        have an exclusion reason.
    """
    votes = select_votes(answers).sort_values(
        ["annotator", "sequence_index", "position", "verdict_id"], kind="stable"
    )
    names, keys = (sorted(votes[name].astype(str).unique()) for name in ("annotator", "candidate_id"))
    person, item = (
        pd.Categorical(votes[name].astype(str), categories).codes.astype(np.int64)
        for name, categories in (("annotator", names), ("candidate_id", keys))
    )
    subsets = list_judged_subsets(set(votes["subset"].astype(str)))
    subset_of = np.zeros(len(keys), np.int64)
    subset_of[item] = pd.Categorical(votes["subset"].astype(str), subsets).codes
    known = pd.Series(keys).map(get_adjudications(answers).astype(float)).to_numpy(float)
    table = VoteTable(
        item,
        person,
        votes["sequence_index"].to_numpy(),
        (votes["choice"] == "invalid").to_numpy(),
        _count_gold(answers, names),
        to_log_odds(np.array([prior_answerable.get(key, 0.5) for key in keys])),
        subset_of,
        len(subsets),
        known,
    )
    fit = fit_votes(table)
    estimates = PosteriorEstimates(
        [
            Posterior(candidate_id=key, invalid=round(value, 6))
            for key, value in zip(keys, fit.invalid.tolist(), strict=True)
        ],
        dict(zip(keys, fit.invalid_by_votes.tolist(), strict=True)),
        _list_rates(table, fit, names, subsets),
        group_people(names, fit.credibility.group),
        {
            name: IntervalEstimate(
                **{end: round(value, 4) for end, value in zip(("value", "low", "high"), rate, strict=True)}
            )
            for name, rate in zip(subsets, fit.base_rates, strict=True)
            if rate
        },
        {
            name: (round(rates[0], 4), round(rates[1], 4))
            for name, rates in zip(subsets, fit.hard_rates.tolist(), strict=True)
        },
        float(fit.trusted_log_odds.sum() / max(1, (fit.vote_weight > 0).sum())),
    )
    return estimates, _mark_votes(answers, votes, table, fit)


def _count_gold(answers: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Return the numbers of answers to gold questions as in `VoteTable.gold_counts`."""
    gold = select_gold_answers(answers)
    # People without votes are not in `names`.
    gold = gold[(gold["exclusion_reason"] == "") & gold["annotator"].isin(names)]
    person = pd.Categorical(gold["annotator"].astype(str), names).codes.astype(np.int64)
    kind = 2 * (gold["expected_choice"] != "invalid").to_numpy(np.int64) + ~gold["is_correct"].to_numpy(bool)
    return np.bincount(4 * person + kind, minlength=4 * len(names)).reshape(-1, 4)


def _list_rates(
    table: VoteTable, fit: VoteFit, names: list[str], subsets: Sequence[Subset]
) -> list[AnnotatorRates]:
    gold = estimate_gold_rates(table.gold_counts).round(4).tolist()
    shape = len(names), len(subsets)
    counts = np.bincount(
        table.person * len(subsets) + table.subset[table.item], minlength=shape[0] * shape[1]
    )
    counts = counts.reshape(shape)
    before = fit.credibility.trusted_before
    return [
        AnnotatorRates(
            subset=subset,
            annotator=name,
            votes=int(counts[row, column]),
            sensitivity=round(float(fit.rates[row, column, 0]), 4),
            specificity=round(float(fit.rates[row, column, 1]), 4),
            gold_sensitivity=gold[row][0],
            gold_specificity=gold[row][1],
            trusted_before=int(before[row, column]) if np.isfinite(before[row, column]) else None,
        )
        for column, subset in enumerate(subsets)
        for row, name in enumerate(names)
        if counts[row, column]
    ]


def _mark_votes(answers: pd.DataFrame, votes: pd.DataFrame, table: VoteTable, fit: VoteFit) -> pd.DataFrame:
    """Return the answers table with exclusion reasons for votes that do not count.

    Of the votes of copies on a candidate the first one counts if all agree, and otherwise none.
    """
    is_trusted = fit.vote_weight > 0
    rows = pd.DataFrame(
        {"item": table.item, "group": fit.credibility.group[table.person], "is_invalid": table.is_invalid},
        index=votes.index,
    )[is_trusted]
    grouped = rows.groupby(["item", "group"])["is_invalid"]
    is_copy = rows.duplicated(["item", "group"]) | (grouped.transform("nunique") > 1)
    codes = answers["exclusion_reason"].cat.codes.to_numpy().copy()
    position = pd.Series(np.arange(len(answers)), answers.index)
    codes[position[votes.index[~is_trusted]]] = EXCLUSION_REASONS.index("not trusted")
    codes[position[rows.index[is_copy]]] = EXCLUSION_REASONS.index("copy")
    return answers.assign(exclusion_reason=make_categorical(codes, EXCLUSION_REASONS))


def list_people_warnings(estimates: PosteriorEstimates) -> list[str]:
    """Return sentences about people whose votes do not count, or differ from their gold questions."""
    warnings = []
    for name in sorted({row.annotator for row in estimates.rates}):
        own = [row for row in estimates.rates if row.annotator == name]
        if out := [row for row in own if row.trusted_before is not None]:
            first = min(row.trusted_before or 0 for row in out)
            warnings.append(
                f"the votes of {name} from task {first + 1} on in {', '.join(row.subset for row in out)} do not depend on the images, and "
                "do not count. The annotator may know which questions are gold questions"
            )
        for row in own:
            differences = [
                f"{kind} {value:.0%} instead of {gold:.0%}"
                for kind, value, gold in (
                    ("sensitivity", row.sensitivity, row.gold_sensitivity),
                    ("specificity", row.specificity, row.gold_specificity),
                )
                if row.trusted_before is None
                and row.votes >= MIN_COMPARED_VOTES
                and gold - value > MAX_RATE_DIFFERENCE
            ]
            if differences:
                warnings.append(
                    f"{name} judges the candidates of {row.subset} worse than gold questions: {' and '.join(differences)}. "
                    "Look at these votes, or let an adjudicator judge some of them"
                )
    warnings += [
        f"the accounts {', '.join(people)} make the same errors. Their votes count as those of one person"
        for people in estimates.copies
    ]
    return warnings
