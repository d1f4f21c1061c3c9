"""Crowds of honest, careless and hostile annotators, to test how votes are collected and aggregated.

Ten crowds repeat attacks that were found when the annotation was attacked. Six more were invented afterwards. A hostile
annotator often recognises the gold questions, answers them nearly without errors, and answers the candidates without
looking at the image.

The error rates of honest annotators are random. `research.studies.crowd_robustness` says which seeds the constants of
the aggregation were chosen on.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pipeline.core.randomness import hash_uniform, make_generator
from pipeline.core.records import Choice, Subset
from research.simulated_annotators.annotators import SimulatedAnnotator

# Error rate on hard questions, and on questions that are misread.
HARD_ERROR_RATE, MISREAD_ERROR_RATE = 0.5, 0.95


class CrowdMember(NamedTuple):
    """An account, and how it answers.

    Attributes:
        annotator: Name and error rates, as far as the annotator looks at the image.
        is_honest: Whether the annotator does what the guidelines say.
        cheats_with: What the annotator says of candidates without looking; "" for annotators who always look. The
            annotator recognises the gold questions.
        invalid_rate: How often the annotator says "invalid", if `cheats_with` is "random".
        cheats_after: The annotator cheats after so many tasks.
        cheats_in: The annotator cheats in these subsets only; () means in all.
        error_source: Accounts with the same text make the same errors. Without a text, the errors are independent of all others.
        speed: Number of tasks that the account does while others do one.
        misread_rate: Proportion of unanswerable candidates that all annotators with such a rate misread.
        misread_answerable_rate: The same for answerable candidates.
    """

    annotator: SimulatedAnnotator
    is_honest: bool = True
    cheats_with: Literal["", "valid", "invalid", "random"] = ""
    invalid_rate: float = 0.5
    cheats_after: int = 0
    cheats_in: tuple[Subset, ...] = ()
    error_source: str = ""
    speed: int = 1
    misread_rate: float = 0.0
    misread_answerable_rate: float = 0.0

    @property
    def name(self) -> str:
        """Return the name of the account."""
        return self.annotator.name

    @property
    def person(self) -> str:
        """Return the same text for all accounts with the same errors."""
        return self.error_source or self.name


class Crowd(NamedTuple):
    """A crowd.

    Attributes:
        key: A short name for the command line.
        description: What it is.
        members: The accounts.
        hard_rates: Proportions of hard candidates among unanswerable and among answerable ones. Half of the
            annotators are wrong on a hard candidate.
    """

    key: str
    description: str
    members: tuple[CrowdMember, ...]
    hard_rates: tuple[float, float] = (0.0, 0.0)

    @property
    def is_mostly_honest(self) -> bool:
        """Return whether at least half of the people are honest. Accounts of one person count once."""
        is_honest = {member.person: member.is_honest for member in self.members}
        return 2 * sum(is_honest.values()) >= len(is_honest)


def make_hostile_crowds(seed: int) -> list[Crowd]:
    """Make all crowds. Their order and keys do not depend on the seed.

    >>> [crowd.key for crowd in make_hostile_crowds(1)][:3]
    ['honest', 'invalid-majority', 'valid-minority']
    """

    def honest(count: int, crowd: str) -> tuple[CrowdMember, ...]:
        draw = make_generator(seed, "honest", crowd)
        return tuple(
            CrowdMember(
                SimulatedAnnotator(
                    f"honest-{number}",
                    miss_rate=draw.uniform(0.02, 0.12),
                    false_alarm_rate=draw.uniform(0.005, 0.04),
                    unsure_rate=draw.uniform(0.1, 0.6),
                )
            )
            for number in range(1, count + 1)
        )

    readers, misreaders = honest(3, "readers"), honest(3, "misreaders")
    return [
        Crowd("honest", "5 honest", honest(5, "honest")),
        Crowd(
            "invalid-majority",
            "2 honest + 5 who know the gold questions, else say invalid",
            honest(2, "invalid-majority") + _cheat(5, "invalid"),
        ),
        Crowd(
            "valid-minority",
            "5 honest + 3 who know the gold questions, else say valid",
            honest(5, "valid-minority") + _cheat(3, "valid"),
        ),
        Crowd(
            "fast-invalid",
            "5 honest + 1 ten times as fast who knows the gold questions, else says invalid",
            honest(5, "fast-invalid") + _cheat(1, "invalid", speed=10),
        ),
        Crowd(
            "fast-valid",
            "5 honest + 1 ten times as fast who knows the gold questions, else says valid",
            honest(5, "fast-valid") + _cheat(1, "valid", speed=10),
        ),
        Crowd(
            "five-accounts",
            "5 honest + a lenient person with 5 accounts",
            honest(5, "five-accounts")
            + tuple(
                _make_member(f"lenient-{number}", 0.28, 0.005)._replace(error_source="lenient")
                for number in range(1, 6)
            ),
        ),
        Crowd("hard", "5 honest, 15 % of the UQs are hard", honest(5, "hard"), (0.15, 0.0)),
        Crowd("alone", "1 alone who knows the gold questions, else says invalid", _cheat(1, "invalid")),
        Crowd(
            "random-pair",
            "6 honest + 2 who know the gold questions, else answer at random",
            honest(6, "random-pair") + _cheat(2, "random"),
        ),
        Crowd(
            "careless",
            "5 honest + 2 careless + 1 who often says invalid",
            (
                *honest(5, "careless"),
                _make_member("careless-1", 0.45, 0.4),
                _make_member("careless-2", 0.45, 0.4),
                _make_member("biased", 0.0, 0.39),
            ),
        ),
        Crowd(
            "half-time",
            "5 honest + 3 who say invalid without looking after 200 tasks",
            honest(5, "half-time") + _cheat(3, "invalid", cheats_after=200),
        ),
        Crowd(
            "one-subset",
            "4 honest + 3 who say valid without looking in pt-hard only",
            honest(4, "one-subset") + _cheat(3, "valid", cheats_in=("pt-hard",)),
        ),
        Crowd("hard-both", "5 honest, 10 % of UQs and of AQs are hard", honest(5, "hard-both"), (0.1, 0.1)),
        Crowd(
            "misreading",
            "6 honest, 3 of whom misread the same 10 % of the UQs",
            readers
            + tuple(
                row._replace(annotator=row.annotator._replace(name=f"misreads-{number}"), misread_rate=0.1)
                for number, row in enumerate(misreaders, 1)
            ),
        ),
        Crowd(
            "shared-coin",
            "4 honest + 4 who know the gold questions, else toss the same coin",
            honest(4, "shared-coin") + _cheat(4, "random", invalid_rate=0.7, error_source="coin"),
        ),
        Crowd(
            "shared-misreading",
            "5 honest who misread the same 20 % of the answerable candidates",
            tuple(row._replace(misread_answerable_rate=0.2) for row in honest(5, "shared-misreading")),
        ),
    ]


def _make_member(name: str, miss_rate: float, false_alarm_rate: float) -> CrowdMember:
    return CrowdMember(
        SimulatedAnnotator(name, miss_rate, false_alarm_rate, unsure_rate=0.2), is_honest=False
    )


def _cheat(
    count: int, cheats_with: Literal["valid", "invalid", "random"], **more: Any
) -> tuple[CrowdMember, ...]:
    return tuple(
        _make_member(f"cheat-{number}", 0.01, 0.005)._replace(cheats_with=cheats_with, **more)
        for number in range(1, count + 1)
    )


def choose_answer(
    member: CrowdMember,
    hard_rates: tuple[float, float],
    obstacle: str,
    question: str,
    seed: int,
    *,
    is_gold: bool,
    subset: Subset,
    num_tasks: int,
) -> Choice:
    """Return the answer of a member to a question.

    Args:
        member: The member.
        hard_rates: As in `Crowd`. They do not concern gold questions.
        obstacle: What a faultless annotator finds: "" if the question is answerable, or "unclear".
        question: Identifies the question. The same account answers it twice in the same way.
        seed: Seed of the errors.
        is_gold: Whether it is a gold question.
        subset: The subset of the task.
        num_tasks: Number of tasks that the member has done before.

    >>> liar = _cheat(1, "invalid")[0]
    >>> choose_answer(liar, (0, 0), "", "c1", 1, is_gold=False, subset="pt-hard", num_tasks=0)
    'invalid'
    """

    def draw(*key: str) -> float:
        return hash_uniform(str(seed), *key, question)

    is_cheating = num_tasks >= member.cheats_after and (not member.cheats_in or subset in member.cheats_in)
    if member.cheats_with and not is_gold and is_cheating:
        if member.cheats_with == "random":
            return "invalid" if draw("random", member.person) < member.invalid_rate else "valid"
        return member.cheats_with
    _, miss_rate, false_alarm_rate, unsure_rate = member.annotator
    if obstacle == "unclear":
        return "unsure" if draw("unsure", member.person) < unsure_rate else "valid"
    if not is_gold:
        if draw("misread") < (member.misread_rate if obstacle else member.misread_answerable_rate):
            miss_rate = false_alarm_rate = MISREAD_ERROR_RATE
        if draw("hard") < hard_rates[0 if obstacle else 1]:
            miss_rate = false_alarm_rate = HARD_ERROR_RATE
    errs = draw("error", member.person) < (miss_rate if obstacle else false_alarm_rate)
    return "invalid" if bool(obstacle) != errs else "valid"
