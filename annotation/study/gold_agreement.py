"""Decide which unconfirmed gold questions count.

Without programs and scene graphs, the pipeline can only presume which gold questions have an answer
(`pipeline/tasks/absent_object_questions.py`). So such a question counts against nobody until annotators agree on
it: they judge it like any other question. Where they disagree, an adjudicator decides.

Annotators who give the same answer whatever is asked have no say. They are recognized without any single
question: among gold questions of both kinds, nearly all their answers are the same.

The module uses only the standard library, because it also runs in Label Studio's Python environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

# open: too few answers. confirmed: the presumed choice is correct. refuted: it is wrong or not certain, so the
# question counts for nobody. contested: answers differ, and an adjudicator has to decide.
GoldStatus = Literal["open", "confirmed", "refuted", "contested"]
# Answers are uniform if at least this proportion of at least so many answers to gold questions is the same
# choice. At least three of the gold questions, and a fifth of them, must be of each kind (valid and invalid).
# Of ten gold questions of which three are of one kind, an annotator with an accuracy of 90 % answers all in the
# same way with a probability of 0.9 ** 7 * 0.1 ** 3, which is 1 in 2,091.
MIN_UNIFORM_RATE, MIN_UNIFORM_ANSWERS = 0.95, 10
MIN_UNIFORM_PER_KIND, MIN_UNIFORM_PROPORTION = 3, 0.2


class GoldVotes(NamedTuple):
    """The answers of annotators to a gold question, with one answer per annotator.

    Attributes:
        num_expected: Number of annotators who made the presumed choice.
        num_other: Number of annotators who made the other choice. "unsure" counts as "valid".
        num_underspecified: Number of annotators who called a presumably valid question invalid because it is
            underspecified.
        adjudicated: Whether adjudicators made the presumed choice; None if none decided, or if they are tied.
    """

    num_expected: int = 0
    num_other: int = 0
    num_underspecified: int = 0
    adjudicated: bool | None = None


def decide_gold_status(votes: GoldVotes, min_agreement: int) -> GoldStatus:
    """Return whether an unconfirmed gold question counts.

    Args:
        votes: The answers.
        min_agreement: Number of annotators who must agree.

    >>> decide_gold_status(GoldVotes(num_expected=2, num_other=1), min_agreement=2)
    'confirmed'
    >>> decide_gold_status(GoldVotes(num_expected=1, num_other=1), min_agreement=2)
    'contested'
    >>> decide_gold_status(GoldVotes(num_expected=1, num_other=1, adjudicated=False), min_agreement=2)
    'refuted'
    >>> decide_gold_status(GoldVotes(num_expected=3, num_other=2, num_underspecified=2), min_agreement=2)
    'refuted'
    """
    expected, other = votes.num_expected, votes.num_other
    if votes.adjudicated is not None:
        return "confirmed" if votes.adjudicated else "refuted"
    # The owner of the question gets a report. Those who noticed it are not blamed.
    if votes.num_underspecified >= min_agreement:
        return "refuted"
    if max(expected, other) >= min_agreement and expected != other:
        return "confirmed" if expected > other else "refuted"
    return "contested" if expected and other else "open"


def count_votes(
    called_invalid: Mapping[str, bool],
    is_invalid: bool,
    adjudicators: Iterable[str] = (),
    underspecified: Iterable[str] = (),
) -> GoldVotes:
    """Count the answers to a gold question.

    Args:
        called_invalid: Person -> whether the person called the question invalid.
        is_invalid: Whether the question is presumably invalid.
        adjudicators: The people whose answers decide. They are not counted as annotators.
        underspecified: The people who gave the reason "underspecified".

    >>> count_votes({"ann": True, "ben": False, "eva": True}, is_invalid=True, adjudicators=["eva"])
    GoldVotes(num_expected=1, num_other=1, num_underspecified=0, adjudicated=True)
    """
    deciding = {*adjudicators} & called_invalid.keys()
    others = {person: choice for person, choice in called_invalid.items() if person not in deciding}
    num_expected = sum(choice == is_invalid for choice in others.values())
    balance = sum(1 if called_invalid[person] == is_invalid else -1 for person in deciding)
    return GoldVotes(
        num_expected,
        len(others) - num_expected,
        0 if is_invalid else sum(others.get(person, False) for person in {*underspecified}),
        balance > 0 if balance else None,
    )


def is_uniform(num_valid: int, num_invalid: int, num_called_invalid: int) -> bool:
    """Return whether an annotator gives nearly the same answer to all gold questions.

    Args:
        num_valid: Number of answered gold questions that are (presumably) valid.
        num_invalid: Number of answered gold questions that are (presumably) invalid.
        num_called_invalid: Number of all these that the annotator called invalid.

    >>> is_uniform(num_valid=7, num_invalid=5, num_called_invalid=0)
    True
    >>> is_uniform(num_valid=7, num_invalid=5, num_called_invalid=2)
    False
    """
    total = num_valid + num_invalid
    most = max(num_called_invalid, total - num_called_invalid)
    return (
        total >= MIN_UNIFORM_ANSWERS
        and min(num_valid, num_invalid) >= max(MIN_UNIFORM_PER_KIND, MIN_UNIFORM_PROPORTION * total)
        and most >= MIN_UNIFORM_RATE * total
    )
