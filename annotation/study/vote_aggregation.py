"""What the answers that count come to: votes per candidate and on images' own questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from annotation.study import answers_table as table
from annotation.study.answers_table import BLOCK_SIZE, QualityRules, to_records
from annotation.study.exports import CHOICES
from pipeline.core.records import Category, CollectedCandidate, GoldQuestionCheck, ScreenedCandidate

Status = Literal["unanswerable", "answerable", "doubtful", "unjudged"]


def count_votes(answers: pd.DataFrame, candidates: list[str]) -> pd.DataFrame:
    """How many answers that count say valid, invalid, unsure (the columns) of each candidate (the rows)."""
    told = answers[["candidate_id", "choice", "role", "aside", "expert"]]
    said = (
        table.select_votes(told)
        .groupby(["candidate_id", "choice"], observed=True)
        .size()
        .unstack(fill_value=0)
    )
    return said.rename(str).rename(columns=str).reindex(index=candidates, columns=CHOICES, fill_value=0)


def decide_status(votes: pd.DataFrame, rules: QualityRules, posterior: pd.Series | float = 0.5) -> np.ndarray:
    """What the votes on each candidate come to, a Status. Only "unanswerable" goes on, so doubt discards.

    majority: more than half say invalid (valid); unanimity: all do. "unsure" is never a vote for anything.
    dawid-skene: the probability of invalid (valid) is at least `min_posterior`, and more votes say invalid than valid
    (valid than invalid): no prior alone, and none against the votes, puts a candidate into the set. One vote may do.

    Args:
        votes: see `votes_on`. posterior: probability of invalid by `annotation.study.dawid_skene`, for that rule alone.
    """
    invalid, valid, total = votes["invalid"], votes["valid"], votes.sum(axis=1)
    if rules.aggregation == "dawid-skene":
        unanswerable = (posterior >= rules.min_posterior) & (invalid > valid)
        answerable = (1 - posterior >= rules.min_posterior) & (valid > invalid)
        fewest = 1
    else:
        needed = total if rules.aggregation == "unanimity" else total // 2 + 1
        unanswerable, answerable, fewest = invalid >= needed, valid >= needed, rules.min_votes
    cases = [total < fewest, unanswerable, answerable]
    return np.select(cases, ["unjudged", "unanswerable", "answerable"], "doubtful")


def verify_candidates(
    screened: Mapping[str, ScreenedCandidate],
    answers: pd.DataFrame,
    rules: QualityRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[CollectedCandidate]:
    """Every candidate with its votes, sorted by id. "unsure" is counted with the valid votes. An expert's word decides.

    Args:
        screened: by id; they are looked up one at a time.
        posteriors: candidate id -> probability of invalid, for the rule "dawid-skene".
    """
    keys = sorted(screened)
    votes = count_votes(answers, keys)
    by_votes = decide_status(
        votes, rules, pd.Series(dict(posteriors), dtype=float).reindex(keys).fillna(0.5)
    ).tolist()
    word = table.get_adjudications(answers).map({True: "unanswerable", False: "answerable"}).reindex(keys)
    columns: list[Iterable[Any]] = [word, by_votes, votes["invalid"].tolist(), votes.sum(axis=1).tolist()]
    for (key, given), said, by_vote, invalid, total in zip(
        _group_answers(answers, keys), *columns, strict=True
    ):
        row = screened[key]
        yield CollectedCandidate(
            candidate=row.candidate,
            verifier_result=row.verifier_result,
            status=by_vote if pd.isna(said) else said,
            decided_by="votes" if pd.isna(said) else "expert",
            votes_invalid=invalid,
            votes_valid=total - invalid,
            votes_excluded=sum(bool(answer.aside) for answer in given),
            verdict_ids=tuple(answer.verdict_id for answer in given),
            simulated=any(answer.simulated for answer in given),
            rehearsal=any(answer.rehearsal for answer in given),
            reason=most_common_reason(answer.why for answer in given if not answer.aside),
        )


def _group_answers(judged: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """Each candidate, in the order of the sorted ids, with the answers on it, sorted by verdict."""
    fields = ["candidate_id", "verdict_id", "simulated", "rehearsal", "aside", "why"]
    answers = judged.loc[judged["role"] != "filter", fields]
    answers = answers.sort_values(["candidate_id", "verdict_id"], kind="stable")
    blocks = (answers.iloc[start : start + BLOCK_SIZE] for start in range(0, len(answers), BLOCK_SIZE))
    rows = chain.from_iterable(block.itertuples(index=False) for block in blocks)
    groups = groupby(rows, lambda answer: str(answer.candidate_id))
    about, given = next(groups, ("", ()))
    for key in keys:
        while about and about < key:
            about, given = next(groups, ("", ()))
        yield key, list(given) if about == key else []


def most_common_reason(reasons: Iterable[str]) -> Category | None:
    """The reason given most often, of those that name a category; of equally frequent ones the first by alphabet."""
    given = list(reasons)
    named = [category for category in sorted(get_args(Category)) if category in given]
    return max(named, key=given.count, default=None)


def check_aqs(answers: pd.DataFrame) -> list[GoldQuestionCheck]:
    """What annotators that are not excluded said of the images' own questions that served as filters.

    Verified or refuted by more than half of at least two votes, else open; of somebody who was asked twice the first counts.
    Sorted by question id.
    """
    question = ["question_id", "image_id", "text"]
    asked = answers[(answers["source"] == "own question") & (answers["aside"] == "")]
    asked = asked.sort_values("order", kind="stable").drop_duplicates(["annotator", *question])
    votes = (
        (asked["choice"] == "invalid")
        .groupby([asked[name] for name in question], observed=True)
        .agg(given="size", votes_invalid="sum")
    )
    invalid, valid = votes["votes_invalid"], votes["given"] - votes["votes_invalid"]
    cases = [(votes["given"] < 2) | (valid == invalid), valid > invalid]
    came_to = np.select(cases, ["open", "verified"], "refuted")
    return to_records(
        votes.assign(votes_valid=valid, status=came_to).drop(columns="given").reset_index(), GoldQuestionCheck
    )
