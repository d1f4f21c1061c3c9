"""Tasks that need another vote: votes were set aside, or one more would decide.

Tasks that nobody has finished yet are not among them: those are in somebody's queue already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from annotation.study.quality import candidate_choice, candidate_of
from annotation.study.votes import Rule, Status, status
from pipeline.core.records import Choice, Record, Task, Verdict, Verified

VOTES: tuple[Choice, ...] = ("valid", "invalid")


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
    verified: Sequence[Verified],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    aside: set[str],
    decides: Callable[[str, Sequence[Choice]], bool],
    min_votes: int,
) -> list[AnotherVote]:
    """What to ask again, sorted by task id.

    Args:
        verified: what the votes came to. aside: ids of the verdicts that do not count.
        decides: may one more vote decide on this candidate with these counted choices? (See `one_more`.)
    """
    counted: dict[str, list[Choice]] = defaultdict(list)
    task_of: dict[str, str] = {}
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        task_of[candidate_of(task)] = task.task_id
        if verdict.verdict_id not in aside:
            counted[candidate_of(task)].append(candidate_choice(task, verdict))
    rows = []
    for row in verified:
        key = row.candidate.candidate_id
        choices = counted[key]
        lost = row.status == "unjudged" and row.votes_set_aside > 0
        tied = row.status == "doubtful" and decides(key, choices)
        if lost or tied:
            rows.append(
                AnotherVote(
                    task_id=task_of[key],
                    candidate_id=key,
                    votes_counted=len(choices),
                    votes_wanted=max(min_votes, len(choices) + 1),
                    reason="votes were set aside" if lost else "one more vote decides",
                )
            )
    return sorted(rows, key=lambda row: row.task_id)


def one_more(choices: Sequence[Choice], rule: Rule, min_votes: int) -> bool:
    """Whether one more vote can end a doubt, by majority or unanimity.

    >>> one_more(["invalid", "valid"], "majority", 2), one_more(["invalid", "valid", "unsure"], "majority", 2)
    (True, False)
    """
    decided: tuple[Status, ...] = ("unanswerable", "answerable")
    return any(status([*choices, vote], rule, min_votes) in decided for vote in VOTES)


def one_more_by_posterior(
    choices: Sequence[Choice],
    posterior: float,
    said_where_valid: Sequence[float],
    said_where_invalid: Sequence[float],
    min_posterior: float,
    min_votes: int,
) -> bool:
    """Whether one more vote, of somebody like the others on average, can end a doubt by Dawid and Skene's estimate.

    Args:
        said_where_valid, said_where_invalid: probability of "valid" and of "invalid" where that is true.

    >>> one_more_by_posterior(["invalid", "valid"], 0.8, (0.9, 0.1), (0.1, 0.9), 0.95, 2)  # odds 4, times 9: 0.973
    True
    """
    for vote, valid, invalid in zip(VOTES, said_where_valid, said_where_invalid, strict=True):
        likely = posterior * invalid, (1 - posterior) * valid
        if not sum(likely):
            continue
        after = likely[0] / sum(likely)
        if status([*choices, vote], "dawid-skene", min_votes, after, min_posterior) != "doubtful":
            return True
    return False
