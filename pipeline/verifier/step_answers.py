"""Combine the answers of program steps in three-valued logic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Category
from pipeline.language.similarity import option_to_answer
from pipeline.verifier.evidence import TruthValue


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The answer of a program step.

    Attributes:
        correct_answers: The one correct answer, or () if it is not known.
        possible_answers: The answers that may be correct, or () if any answer may be correct.
        doubt: Why it is not known whether the question has an answer, or "" if the question has one.
    """

    correct_answers: tuple[str, ...] = ()
    possible_answers: tuple[str, ...] = ()
    doubt: str = ""


YES = StepAnswer(("yes",), ("yes",))
NO = StepAnswer(("no",), ("no",))
YES_OR_NO = StepAnswer((), ("yes", "no"))


class PresuppositionFailure(Exception):
    """Report that the question has no answer, or more than one answer.

    Attributes:
        category: Why the question is unanswerable.
        detail: The reason in words.
        answers: The correct answers if there are several, otherwise ().
        risk: The probability (0 to 1) that the question has an answer after all, because the evidence leaves
            out an object.
    """

    def __init__(
        self, category: Category, detail: str, answers: Iterable[str] = (), risk: float = 0.0
    ) -> None:
        self.category: Category = category
        self.detail = f"{detail}, or left out (probability {risk:.3f})" if risk else detail
        super().__init__(self.detail)
        self.answers, self.risk = tuple(sorted(answers)), risk


def negate_if(is_negated: bool, truth: TruthValue) -> TruthValue:
    """Return a truth value, or its opposite under `not(...)`.

    >>> negate_if(True, False), negate_if(True, None)
    (True, None)
    """
    return truth if truth is None or not is_negated else not truth


def any_true(truths: Iterable[TruthValue]) -> TruthValue:
    """Return True if any value is true, False if all are false, otherwise None.

    >>> any_true([False, True]), any_true([False, None]), any_true([])
    (True, None, False)
    """
    known = set(truths)
    return True if True in known else None if None in known else False


def combine_answers(verb: str, answers: Sequence[StepAnswer]) -> StepAnswer:
    """Return the answer of `and` or `or` over yes-no answers (Kleene's three-valued logic)."""
    decisive = NO if verb == "and" else YES
    if decisive in answers:
        return decisive
    return next((answer for answer in answers if not answer.correct_answers), answers[0])


def aggregate_truths(truths: Sequence[TruthValue], description: str) -> StepAnswer:
    """Return "yes" if a statement is true of all objects, and "no" if it is false of all objects.

    If the truth is not known, a single object still makes the question answerable: either "yes" or "no" is
    correct. Several objects may differ, so it is doubtful whether the question has one answer.

    Args:
        truths: The truth of the statement for each object.
        description: The statement in words.

    Raises:
        PresuppositionFailure: The statement is true of some objects and false of others.
    """
    if True in truths and False in truths:
        raise PresuppositionFailure(
            "underspecified", f"{description}: true of some, not of others", YES_OR_NO.possible_answers
        )
    if None in truths and len(truths) > 1:
        return StepAnswer(
            possible_answers=YES_OR_NO.possible_answers, doubt=f"{description}: perhaps true of some only"
        )
    return {True: YES, False: NO, None: YES_OR_NO}[truths[0] if truths else None]


def aggregate_values(values: Sequence[frozenset[str]], description: str, *, is_complete: bool) -> StepAnswer:
    """Return the one value that all objects have.

    Args:
        values: The known values of each object.
        description: What the values are, in words ("color of the cup").
        is_complete: Whether a value that is not listed does not exist.

    Raises:
        PresuppositionFailure: The objects have no value, or several values.
    """
    every = frozenset[str]().union(*values)
    differ = all(values) and not frozenset.intersection(*values) if values else False
    if len(every) > 1 and (is_complete or differ):
        raise PresuppositionFailure(
            "underspecified", f"several answers for the {description}: {', '.join(sorted(every))}", every
        )
    if len(every) == 1 and all(values):
        return StepAnswer(tuple(every), tuple(every))
    if not is_complete or not values:
        return StepAnswer(possible_answers=tuple(sorted(every)), doubt=f"the {description} is not known")
    if every:
        raise PresuppositionFailure(
            "underspecified", f"the {description} is {min(every)} for some and nothing for others", every
        )
    raise PresuppositionFailure("no valid answer", f"there is no {description}")


def aggregate_options(
    cases: Sequence[dict[str, TruthValue]], options: Sequence[str], description: str
) -> StepAnswer:
    """Return the one option that is true in every case.

    Args:
        cases: For each object (or pair of objects) the truth of each option.
        options: The options in the order of the question.
        description: The objects to which the options apply, in words.

    Raises:
        PresuppositionFailure: No option is true, several options are true, or the cases differ.
    """
    if len(set(options)) < len(options):
        raise PresuppositionFailure("no valid answer", f"the same choice twice: {' or '.join(options)}")
    outcomes: set[str] = set()
    is_unknown = not cases
    for case in cases:
        true = [option for option in options if case[option]]
        if None in case.values() and len(true) < 2:
            is_unknown = True
        else:
            outcomes.add(true[0] if len(true) == 1 else "both" if true else "neither")
    if len(outcomes) > 1:
        answers = map(option_to_answer, outcomes - {"both", "neither"})
        raise PresuppositionFailure(
            "underspecified", f"{description}: {', '.join(sorted(outcomes))}", answers
        )
    if is_unknown:
        possible = (o for o in options if not cases or any(case[o] is not False for case in cases))
        doubt = f"{description}: it is not known whether {' or '.join(options)}"
        return StepAnswer(possible_answers=tuple(map(option_to_answer, possible)), doubt=doubt)
    (outcome,) = outcomes
    if outcome in ("both", "neither"):
        joined = " and ".join(options) if outcome == "both" else " nor ".join(options)
        raise PresuppositionFailure("no valid answer", f"{description}: {outcome} {joined}")
    return StepAnswer((option_to_answer(outcome),), (option_to_answer(outcome),))
