"""What the verdicts that count come to: votes per candidate and on pictures' own questions, and which tasks need another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from annotation.study.dawid_skene import ConfusionTable, usual
from annotation.study.exports import CHOICES
from annotation.study.judged import CollectRules, counted, records
from pipeline.core.records import AqCheck, Category, Record, Screened, Verified

Status = Literal["unanswerable", "answerable", "doubtful", "unjudged"]


class AnotherVote(Record):
    """A task to be offered again, to somebody who has not judged it and is not excluded.

    Attributes:
        votes_counted: verdicts on it that count. votes_wanted: how many should, at least one more.
    """

    task_id: str
    candidate_id: str
    votes_counted: int
    votes_wanted: int
    reason: Literal["votes were set aside", "one more vote decides"]


def votes_on(judged: pd.DataFrame, candidates: list[str]) -> pd.DataFrame:
    """How many verdicts that count say valid, invalid, unsure (the columns) of each candidate (the rows)."""
    said = counted(judged).groupby(["candidate_id", "choice"]).size().unstack(fill_value=0)
    return said.reindex(index=candidates, columns=CHOICES, fill_value=0)


def status(votes: pd.DataFrame, rules: CollectRules, posterior: pd.Series | float = 0.5) -> np.ndarray:
    """What the votes on each candidate come to, a Status. Only "unanswerable" goes on, so doubt discards.

    majority: more than half say invalid (valid); unanimity: all do. "unsure" is never a vote for anything.
    dawid-skene: the probability of invalid (valid) is at least `min_posterior`, and more votes say invalid than valid
    (valid than invalid): where nearly all is invalid, that alone makes a candidate probable that most call valid.

    Args:
        votes: see `votes_on`. posterior: probability of invalid by `annotation.study.dawid_skene`, for that rule alone.
    """
    invalid, valid, total = votes["invalid"], votes["valid"], votes.sum(axis=1)
    if rules.rule == "dawid-skene":
        unanswerable = (posterior >= rules.min_posterior) & (invalid > valid)
        answerable = (1 - posterior >= rules.min_posterior) & (valid > invalid)
    else:
        needed = total if rules.rule == "unanimity" else total // 2 + 1
        unanswerable, answerable = invalid >= needed, valid >= needed
    cases = [total < rules.min_votes, unanswerable, answerable]
    return np.select(cases, ["unjudged", "unanswerable", "answerable"], "doubtful")


def verify(
    screened: Iterable[Screened],
    judged: pd.DataFrame,
    rules: CollectRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
) -> list[Verified]:
    """Every candidate with its votes, sorted by id. "unsure" is counted with the valid votes.

    Args:
        posteriors: candidate id -> probability of invalid, for the rule "dawid-skene".
    """
    rows = sorted(screened, key=lambda row: row.candidate.candidate_id)
    keys = [row.candidate.candidate_id for row in rows]
    votes = votes_on(judged, keys)
    statuses = status(votes, rules, _of(posteriors, keys))
    given: dict[str, list[Any]] = defaultdict(list)
    fields = ["candidate_id", "verdict_id", "simulated", "rehearsal", "aside", "why"]
    for verdict in judged.sort_values("verdict_id")[fields].itertuples(index=False):
        given[str(verdict.candidate_id)].append(verdict)
    verified = []
    for row, key, came_to, invalid, total in zip(
        rows, keys, statuses.tolist(), votes["invalid"].tolist(), votes.sum(axis=1).tolist(), strict=True
    ):
        verdicts = given[key]
        verified.append(
            Verified(
                candidate=row.candidate,
                judgement=row.judgement,
                status=came_to,
                votes_invalid=invalid,
                votes_valid=total - invalid,
                votes_set_aside=len(verdicts) - total,
                verdict_ids=tuple(verdict.verdict_id for verdict in verdicts),
                simulated=any(verdict.simulated for verdict in verdicts),
                rehearsal=any(verdict.rehearsal for verdict in verdicts),
                reason=commonest(verdict.why for verdict in verdicts if not verdict.aside),
            )
        )
    return verified


def commonest(reasons: Iterable[str]) -> Category | None:
    """The reason given most often, of those that name a category; of equally frequent ones the first by alphabet."""
    given = list(reasons)
    named = [category for category in sorted(get_args(Category)) if category in given]
    return max(named, key=given.count, default=None)


def another_vote(
    verified: Sequence[Verified],
    judged: pd.DataFrame,
    rules: CollectRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
    tables: Sequence[ConfusionTable] = (),
) -> list[AnotherVote]:
    """What to ask again, sorted by task id: votes were set aside, or one more, by somebody like the others on average, would
    end a doubt. Tasks that nobody has finished yet are not among them: those are in somebody's queue already.

    Args:
        verified: what the votes came to.
        posteriors, tables: of the rule dawid-skene: candidate id -> probability of invalid; annotators' tables.
    """
    rows = [
        row
        for row in verified
        if row.status == "doubtful" or (row.status == "unjudged" and row.votes_set_aside)
    ]
    keys = [row.candidate.candidate_id for row in rows]
    votes, posterior = votes_on(judged, keys), _of(posteriors, keys)
    lost = np.array([row.status == "unjudged" for row in rows], bool)
    decides = np.zeros(len(rows), bool)
    for vote in ("valid", "invalid"):
        average = {table.subset: usual(tables, table.subset, vote) for table in tables}
        shares = np.array([average.get(row.candidate.subset, (1, 1)) for row in rows]).reshape(-1, 2)
        invalid, valid = posterior * shares[:, 1], (1 - posterior) * shares[:, 0]
        after = status(votes.assign(**{vote: votes[vote] + 1}), rules, invalid / (invalid + valid))
        decides |= np.isin(after, ["unanswerable", "answerable"])
    counts = votes.sum(axis=1)
    again = pd.DataFrame(
        {
            "task_id": judged.drop_duplicates("candidate_id").set_index("candidate_id")["task_id"][keys],
            "candidate_id": keys,
            "votes_counted": counts,
            "votes_wanted": np.maximum(rules.min_votes, counts + 1),
            "reason": np.where(lost, "votes were set aside", "one more vote decides"),
        }
    )
    return records(again[lost | decides].sort_values("task_id"), AnotherVote)


def _of(posteriors: Mapping[str, float], candidates: list[str]) -> pd.Series:
    return pd.Series(dict(posteriors), dtype=float).reindex(candidates).fillna(0.5)


def check_aqs(judged: pd.DataFrame) -> list[AqCheck]:
    """What annotators that are not excluded said of the pictures' own questions that served as filters.

    Verified or refuted by more than half of at least two votes, else open. Sorted by question id.
    """
    asked = judged[(judged["source"] == "own question") & (judged["aside"] != "annotator excluded")]
    question = [asked["question_id"], asked["picture_id"], asked["text"]]
    votes = (asked["filter_choice"] == "invalid").groupby(question).agg(given="size", votes_invalid="sum")
    invalid, valid = votes["votes_invalid"], votes["given"] - votes["votes_invalid"]
    cases = [(votes["given"] < 2) | (valid == invalid), valid > invalid]
    came_to = np.select(cases, ["open", "verified"], "refuted")
    return records(
        votes.assign(votes_valid=valid, status=came_to).drop(columns="given").reset_index(), AqCheck
    )
