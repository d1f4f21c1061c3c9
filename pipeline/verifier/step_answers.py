"""The values of steps in three-valued logic, and what several things come to: one answer, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Category
from pipeline.language.similarity import option_to_answer
from pipeline.verifier.known_objects import TruthValue


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The value of a step that finds nothing.

    Attributes:
        right: the answer, when it is known.
        possible: what it may be; () when nothing limits it.
        doubt: why it is not known whether there is an answer at all; "" when there is one.
    """

    correct_answers: tuple[str, ...] = ()
    possible_answers: tuple[str, ...] = ()
    doubt: str = ""


YES, NO, YES_OR_NO = (
    StepAnswer(("yes",), ("yes",)),
    StepAnswer(("no",), ("no",)),
    StepAnswer((), ("yes", "no")),
)


class PresuppositionFailure(Exception):
    """The question has no answer, or more than one (`answers`), but for a small `risk` that something was left out."""

    def __init__(
        self, category: Category, detail: str, answers: Iterable[str] = (), risk: float = 0.0
    ) -> None:
        self.category: Category = category
        self.detail = f"{detail}, or left out (chance {risk:.3f})" if risk else detail
        super().__init__(self.detail)
        self.answers, self.risk = tuple(sorted(answers)), risk


def negate_if(negated: bool, truth: TruthValue) -> TruthValue:
    """The truth, or its opposite under `not(...)`."""
    return truth if truth is None or not negated else not truth


def any_true(truths: Iterable[TruthValue]) -> TruthValue:
    """True if one is, False if all are, else not known."""
    known = set(truths)
    return True if True in known else None if None in known else False


def combine_answers(verb: str, answers: Sequence[StepAnswer]) -> StepAnswer:
    """`and`, `or`: one false (true) decides, else one unknown leaves it unknown."""
    decisive = NO if verb == "and" else YES
    if decisive in answers:
        return decisive
    return next((answer for answer in answers if not answer.correct_answers), answers[0])


def aggregate_truths(truths: Sequence[TruthValue], description: str) -> StepAnswer:
    """Yes or no when the truth is the same for all. If it is not known of the only one, there is an answer
    all the same; of several it may differ."""
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
    """The one value that all have. `closed`: a value that is not listed does not exist."""
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
    """The one option that is true, the same in every case (a thing, or a pair of things)."""
    if len(set(options)) < len(options):
        raise PresuppositionFailure("no valid answer", f"the same choice twice: {' or '.join(options)}")
    outcomes: set[str] = set()
    unknown = not cases
    for case in cases:
        true = [option for option in options if case[option]]
        if None in case.values() and len(true) < 2:
            unknown = True
        else:
            outcomes.add(true[0] if len(true) == 1 else "both" if true else "neither")
    if len(outcomes) > 1:
        answers = map(option_to_answer, outcomes - {"both", "neither"})
        raise PresuppositionFailure(
            "underspecified", f"{description}: {', '.join(sorted(outcomes))}", answers
        )
    if unknown:
        possible = (o for o in options if not cases or any(case[o] is not False for case in cases))
        doubt = f"{description}: it is not known whether {' or '.join(options)}"
        return StepAnswer(possible_answers=tuple(map(option_to_answer, possible)), doubt=doubt)
    (outcome,) = outcomes
    if outcome in ("both", "neither"):
        joined = " and ".join(options) if outcome == "both" else " nor ".join(options)
        raise PresuppositionFailure("no valid answer", f"{description}: {outcome} {joined}")
    return StepAnswer((option_to_answer(outcome),), (option_to_answer(outcome),))
