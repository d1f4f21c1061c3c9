"""Tasks that need another vote: votes were set aside, or one more would decide.

Tasks that nobody has finished yet are not among them: those are in somebody's queue already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from annotation.study.collect_rules import CollectRules
from annotation.study.posteriors import ConfusionTable, usual
from annotation.study.votes import CandidateVotes, status
from pipeline.core.records import Choice, Record, Subset, Verified

VOTES: tuple[Choice, ...] = ("valid", "invalid")
Likelihoods = Mapping[
    Choice, tuple[float, float]
]  # choice -> how often it is made where valid, where invalid is true


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


def another_vote(
    verified: Iterable[Verified],
    votes: Mapping[str, CandidateVotes],
    rules: CollectRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
    tables: Sequence[ConfusionTable] = (),
) -> list[AnotherVote]:
    """What to ask again, sorted by task id.

    Args:
        verified: what the votes came to.
        posteriors, tables: of the rule dawid-skene: candidate id -> probability of invalid; annotators' tables.
    """
    likelihoods: dict[Subset, Likelihoods] = {
        table.subset: {choice: usual(tables, table.subset, choice) for choice in VOTES} for table in tables
    }
    again = []
    for row in verified:
        key, subset = row.candidate.candidate_id, row.candidate.subset
        lost = row.status == "unjudged" and row.votes_set_aside > 0
        if not lost and row.status != "doubtful":
            continue
        choices = votes[key].choices
        if lost or one_more_decides(choices, rules, posteriors.get(key), likelihoods.get(subset)):
            again.append(
                AnotherVote(
                    task_id=votes[key].task_id,
                    candidate_id=key,
                    votes_counted=len(choices),
                    votes_wanted=max(rules.min_votes, len(choices) + 1),
                    reason="votes were set aside" if lost else "one more vote decides",
                )
            )
    return sorted(again, key=lambda row: row.task_id)


def one_more_decides(
    choices: Sequence[Choice],
    rules: CollectRules,
    posterior: float | None = None,
    likelihoods: Likelihoods | None = None,
) -> bool:
    """Whether one more vote can end a doubt.

    Args:
        posterior, likelihoods: of the rule dawid-skene: the probability of invalid, and what somebody like the others on
            average says.

    >>> one_more_decides(["invalid", "valid"], CollectRules(rule="majority", min_votes=2))
    True
    >>> rules = CollectRules(rule="dawid-skene", min_votes=2, min_posterior=0.95)
    >>> likelihoods = {"valid": (0.9, 0.1), "invalid": (0.1, 0.9)}
    >>> one_more_decides(["invalid", "valid"], rules, 0.8, likelihoods)  # odds 4, times 9: 0.973
    True
    """
    for vote in VOTES:
        after = None
        if posterior is not None and likelihoods:
            where_valid, where_invalid = likelihoods[vote]
            invalid, valid = posterior * where_invalid, (1 - posterior) * where_valid
            if not invalid + valid:
                continue
            after = invalid / (invalid + valid)
        if status([*choices, vote], rules, after) in ("unanswerable", "answerable"):
            return True
    return False
