"""Aggregate the answers that count: votes per candidate, and checks of the answerable questions used as gold
questions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, groupby
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from annotation.study import answers_table as table
from annotation.study.answers_table import BLOCK_SIZE, QualityRules, to_records
from annotation.study.assignment import (
    MIN_VALID_VOTES,
    MIN_VALID_VOTES_WITH_PANEL,
    find_answerable,
    find_unanswerable,
)
from annotation.study.exports import CHOICES
from annotation.study.gold_status import is_own_question
from pipeline.core.records import Category, CollectedCandidate, GoldQuestionCheck, ScreenedCandidate

Status = Literal["unanswerable", "answerable", "doubtful", "no_votes"]


def count_votes(answers: pd.DataFrame, candidates: list[str]) -> pd.DataFrame:
    """Count the votes per candidate.

    Args:
        answers: The answers table.
        candidates: Candidate ids, the rows of the result.

    Returns:
        A table with one row per candidate and the columns valid, invalid and unsure.
    """
    columns = answers[["candidate_id", "choice", "role", "exclusion_reason", "is_adjudicator"]]
    counts = (
        table.select_votes(columns)
        .groupby(["candidate_id", "choice"], observed=True)
        .size()
        .unstack(fill_value=0)
    )
    return counts.rename(str).rename(columns=str).reindex(index=candidates, columns=CHOICES, fill_value=0)


# Minimum number of "invalid" votes if no gold question was answered, so that nothing is known about the annotators.
MIN_VOTES_WITHOUT_GOLD = 2


def decide_status(
    votes: pd.DataFrame,
    rules: QualityRules,
    posterior: pd.Series | float = 0.5,
    *,
    has_gold_answers: bool = True,
    called_valid: Collection[str] = (),
) -> np.ndarray:
    """Decide the status of each candidate.

    Only candidates with the status "unanswerable" are released; doubtful candidates are lost. The rules are:

    - majority: more than half of the votes say invalid (or valid). "unsure" supports neither.
    - unanimity: all votes say invalid (or valid).
    - dawid-skene: the posterior probability of invalid is at least `min_posterior`, and more votes say invalid than
      valid, or at least two say invalid (on a hard question half of the annotators are wrong). So neither a
      prior alone nor a prior against the votes can decide. One vote can be enough for unanswerable. For answerable the
      probability of valid is at least 0.9, and at least two votes say valid or unsure, because an
      annotator who is in doubt or does not look says valid (`annotation.study.assignment`).

    Args:
        votes: Votes per candidate (`count_votes`).
        rules: The rule and its limits.
        posterior: Probability of invalid for each candidate (`annotation.study.posteriors`), only for the
            rule dawid-skene.
        has_gold_answers: Whether answers to gold questions count. Without them, the rule dawid-skene needs two votes for
            unanswerable.
        called_valid: Ids of candidates that a panel of models calls valid, so that one "valid" vote suffices.

    Returns:
        [candidates] of `Status`.
    """
    invalid, valid, total = votes["invalid"], votes["valid"], votes.sum(axis=1)
    if rules.aggregation == "dawid-skene":
        probability = np.clip(np.broadcast_to(posterior, total.shape), 1e-12, 1 - 1e-12)
        log_odds = np.log(probability) - np.log1p(-probability)
        counts = invalid.to_numpy(float), (total - invalid).to_numpy(float)
        unanswerable = find_unanswerable(log_odds, *counts, rules.min_posterior)
        is_called_valid = votes.index.isin([*called_valid])
        answerable = find_answerable(
            log_odds, *counts, np.where(is_called_valid, MIN_VALID_VOTES_WITH_PANEL, MIN_VALID_VOTES)
        )
        min_votes = 1
        if not has_gold_answers:
            unanswerable &= invalid >= MIN_VOTES_WITHOUT_GOLD
    else:
        needed = total if rules.aggregation == "unanimity" else total // 2 + 1
        unanswerable, answerable, min_votes = invalid >= needed, valid >= needed, rules.min_votes
    cases = [total < min_votes, unanswerable, answerable]
    return np.select(cases, ["no_votes", "unanswerable", "answerable"], "doubtful")


def decide_by_votes(
    answers: pd.DataFrame,
    candidates: Iterable[str],
    rules: QualityRules,
    posteriors: Mapping[str, float],
    called_valid: Collection[str] = (),
) -> dict[str, str]:
    """Return candidate id -> status by the votes alone, whatever adjudicators say.

    Args:
        answers: The answers table after quality control.
        candidates: Candidate ids.
        rules: The rule of aggregation.
        posteriors: Candidate id -> probability of invalid without the verdicts of adjudicators.
        called_valid: Ids of candidates that a panel of models calls valid.
    """
    keys = sorted(candidates)
    statuses = _decide_statuses(count_votes(answers, keys), answers, rules, posteriors, called_valid)
    return dict(zip(keys, statuses, strict=True))


def _decide_statuses(
    votes: pd.DataFrame,
    answers: pd.DataFrame,
    rules: QualityRules,
    posteriors: Mapping[str, float],
    called_valid: Collection[str],
) -> list[str]:
    """Return the status of each row of `votes` by these votes. The posterior of a candidate without one is 0.5."""
    return decide_status(
        votes,
        rules,
        pd.Series(dict(posteriors), dtype=float).reindex(votes.index).fillna(0.5),
        has_gold_answers=table.has_gold_answers(answers),
        called_valid=called_valid,
    ).tolist()


def verify_candidates(
    screened: Mapping[str, ScreenedCandidate],
    answers: pd.DataFrame,
    rules: QualityRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
    by_panel: Mapping[str, Status] = MappingProxyType({}),
    called_valid: Collection[str] = (),
) -> Iterator[CollectedCandidate]:
    """Yield every candidate with its votes and status, sorted by id.

    "unsure" is counted as a valid vote. The verdict of an adjudicator overrides the votes. A panel of models decides only where
    no vote counts.

    Args:
        screened: Candidate id -> candidate. Candidates are looked up one at a time.
        answers: The answers table after quality control.
        rules: The rule of aggregation.
        posteriors: Candidate id -> probability of invalid, for the rule dawid-skene.
        by_panel: Candidate id -> status by a panel of models.
        called_valid: Ids of candidates that a panel of models calls valid.
    """
    keys = sorted(screened)
    votes = count_votes(answers, keys)
    by_votes = _decide_statuses(votes, answers, rules, posteriors, called_valid)
    adjudicated = (
        table.get_adjudications(answers).map({True: "unanswerable", False: "answerable"}).reindex(keys)
    )
    columns: list[Iterable[Any]] = [
        adjudicated,
        by_votes,
        votes["invalid"].tolist(),
        votes.sum(axis=1).tolist(),
    ]
    for (key, given), decision, by_vote, invalid, total in zip(
        _group_answers(answers, keys), *columns, strict=True
    ):
        row, status, decided_by = screened[key], by_vote, "votes"
        if not pd.isna(decision):
            status, decided_by = decision, "adjudicator"
        elif not total and key in by_panel:
            status, decided_by = by_panel[key], "panel"
        yield CollectedCandidate(
            candidate=row.candidate,
            verifier_result=row.verifier_result,
            status=status,
            decided_by=decided_by,
            votes_invalid=invalid,
            votes_valid=total - invalid,
            votes_excluded=sum(bool(answer.exclusion_reason) for answer in given),
            verdict_ids=tuple(answer.verdict_id for answer in given),
            simulated=any(answer.simulated for answer in given),
            rehearsal=any(answer.rehearsal for answer in given),
            reason=most_common_reason(
                answer.invalid_reason for answer in given if not answer.exclusion_reason
            ),
        )


def _group_answers(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """Yield each candidate id in `keys`, which must be sorted, with its answers, sorted by verdict id."""
    fields = ["candidate_id", "verdict_id", "simulated", "rehearsal", "exclusion_reason", "invalid_reason"]
    answers = table.loc[table["role"] != "gold", fields]
    answers = answers.sort_values(["candidate_id", "verdict_id"], kind="stable")
    blocks = (answers.iloc[start : start + BLOCK_SIZE] for start in range(0, len(answers), BLOCK_SIZE))
    rows = chain.from_iterable(block.itertuples(index=False) for block in blocks)
    groups = groupby(rows, lambda answer: str(answer.candidate_id))
    current, group = next(groups, ("", ()))
    for key in keys:
        while current and current < key:
            current, group = next(groups, ("", ()))
        yield key, list(group) if current == key else []


def most_common_reason(reasons: Iterable[str]) -> Category | None:
    """Return the most frequent reason that is a category.

    Of equally frequent reasons, the alphabetically first is returned.

    >>> most_common_reason(["wrong relation", "missing object", "unclear image"])
    'missing object'
    """
    given = list(reasons)
    named = [category for category in sorted(get_args(Category)) if category in given]
    return max(named, key=given.count, default=None)


def check_aqs(answers: pd.DataFrame) -> list[GoldQuestionCheck]:
    """Check the source questions that served as gold questions against the answers of annotators who are not
    excluded.

    A question with at least two votes is verified (or refuted) if more than half of the votes say valid (or
    invalid). Other questions are open. If an annotator answered a question twice, the first answer counts.

    Returns:
        One record per question, sorted by question id.
    """
    question = ["question_id", "image_id", "text"]
    is_own = answers["gold_source"].map(is_own_question).astype(bool)
    asked = answers[is_own & (answers["exclusion_reason"] == "")]
    asked = asked.sort_values("sequence_index", kind="stable").drop_duplicates(["annotator", *question])
    votes = (
        (asked["choice"] == "invalid")
        .groupby([asked[name] for name in question], observed=True)
        .agg(num_votes="size", votes_invalid="sum")
    )
    invalid, valid = votes["votes_invalid"], votes["num_votes"] - votes["votes_invalid"]
    cases = [(votes["num_votes"] < 2) | (valid == invalid), valid > invalid]
    status = np.select(cases, ["open", "verified"], "refuted")
    return to_records(
        votes.assign(votes_valid=valid, status=status).drop(columns="num_votes").reset_index(),
        GoldQuestionCheck,
    )
