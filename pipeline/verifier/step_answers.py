"""The values of steps in three-valued logic, and what several things come to: one answer, or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.core.records import Category
from pipeline.language.similarity import spoken
from pipeline.verifier.known_objects import Truth


@dataclass(frozen=True, slots=True)
class StepAnswer:
    """The value of a step that finds nothing.

    Attributes:
        right: the answer, when it is known.
        possible: what it may be; () when nothing limits it.
        doubt: why it is not known whether there is an answer at all; "" when there is one.
    """

    right: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    doubt: str = ""


YES, NO, YES_OR_NO = (
    StepAnswer(("yes",), ("yes",)),
    StepAnswer(("no",), ("no",)),
    StepAnswer((), ("yes", "no")),
)


class Void(Exception):
    """The question has no answer, or more than one (`answers`), but for a small `risk` that something was left out."""

    def __init__(
        self, category: Category, detail: str, answers: Iterable[str] = (), risk: float = 0.0
    ) -> None:
        self.category: Category = category
        self.detail = f"{detail}, or left out (chance {risk:.3f})" if risk else detail
        super().__init__(self.detail)
        self.answers, self.risk = tuple(sorted(answers)), risk


def unless(negated: bool, truth: Truth) -> Truth:
    """The truth, or its opposite under `not(...)`."""
    return truth if truth is None or not negated else not truth


def any_of(truths: Iterable[Truth]) -> Truth:
    """True if one is, False if all are, else not known."""
    known = set(truths)
    return True if True in known else None if None in known else False


def connect(verb: str, answers: Sequence[StepAnswer]) -> StepAnswer:
    """`and`, `or`: one false (true) decides, else one unknown leaves it unknown."""
    decisive = NO if verb == "and" else YES
    if decisive in answers:
        return decisive
    return next((answer for answer in answers if not answer.right), answers[0])


def agreed(truths: Sequence[Truth], what: str) -> StepAnswer:
    """Yes or no when the truth is the same for all. If it is not known of the only one, there is an answer
    all the same; of several it may differ."""
    if True in truths and False in truths:
        raise Void("underspecified", f"{what}: true of some, not of others", YES_OR_NO.possible)
    if None in truths and len(truths) > 1:
        return StepAnswer(possible=YES_OR_NO.possible, doubt=f"{what}: perhaps true of some only")
    return {True: YES, False: NO, None: YES_OR_NO}[truths[0] if truths else None]


def one_value(values: Sequence[frozenset[str]], what: str, *, closed: bool) -> StepAnswer:
    """The one value that all have. `closed`: a value that is not listed does not exist."""
    every = frozenset[str]().union(*values)
    differ = all(values) and not frozenset.intersection(*values) if values else False
    if len(every) > 1 and (closed or differ):
        raise Void("underspecified", f"several answers for the {what}: {', '.join(sorted(every))}", every)
    if len(every) == 1 and all(values):
        return StepAnswer(tuple(every), tuple(every))
    if not closed or not values:
        return StepAnswer(possible=tuple(sorted(every)), doubt=f"the {what} is not known")
    if every:
        raise Void("underspecified", f"the {what} is {min(every)} for some and nothing for others", every)
    raise Void("no valid answer", f"there is no {what}")


def one_option(cases: Sequence[dict[str, Truth]], options: Sequence[str], what: str) -> StepAnswer:
    """The one option that is true, the same in every case (a thing, or a pair of things)."""
    if len(set(options)) < len(options):
        raise Void("no valid answer", f"the same choice twice: {' or '.join(options)}")
    outcomes: set[str] = set()
    unknown = not cases
    for case in cases:
        true = [option for option in options if case[option]]
        if None in case.values() and len(true) < 2:
            unknown = True
        else:
            outcomes.add(true[0] if len(true) == 1 else "both" if true else "neither")
    if len(outcomes) > 1:
        answers = map(spoken, outcomes - {"both", "neither"})
        raise Void("underspecified", f"{what}: {', '.join(sorted(outcomes))}", answers)
    if unknown:
        possible = (o for o in options if not cases or any(case[o] is not False for case in cases))
        doubt = f"{what}: it is not known whether {' or '.join(options)}"
        return StepAnswer(possible=tuple(map(spoken, possible)), doubt=doubt)
    (outcome,) = outcomes
    if outcome in ("both", "neither"):
        joined = " and ".join(options) if outcome == "both" else " nor ".join(options)
        raise Void("no valid answer", f"{what}: {outcome} {joined}")
    return StepAnswer((spoken(outcome),), (spoken(outcome),))
