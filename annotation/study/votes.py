"""What the verdicts that count come to: votes per candidate, and on pictures' own questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from annotation.study.collect_rules import CollectRules
from annotation.study.judged import GivenAnswer, Judged
from pipeline.core.records import AqCheck, Category, Choice, Screened, Verdict, Verified

Status = Literal["unanswerable", "answerable", "doubtful", "unjudged"]


class CandidateVotes(NamedTuple):
    """The task that asks of a candidate, all verdicts on it, and those answers that count."""

    task_id: str
    verdicts: list[Verdict]
    counted: list[GivenAnswer]

    @property
    def choices(self) -> list[Choice]:
        return [answer.choice for answer in self.counted]


def status(choices: Sequence[Choice], rules: CollectRules, posterior: float | None = None) -> Status:
    """What the counted choices on one candidate come to. Only "unanswerable" goes on, so doubt discards.

    majority: more than half say invalid (valid); unanimity: all do. "unsure" is never a vote for anything.
    dawid-skene: the probability of invalid (valid) is at least `min_posterior`, and more votes say invalid than valid
    (valid than invalid): where nearly all is invalid, that alone makes a candidate probable that most call valid.

    Args:
        posterior: probability of invalid by `annotation.study.dawid_skene`, for that rule alone.
    """
    if len(choices) < rules.min_votes:
        return "unjudged"
    invalid, valid = choices.count("invalid"), choices.count("valid")
    if rules.rule == "dawid-skene":
        probability = 0.5 if posterior is None else posterior
        unanswerable = probability >= rules.min_posterior and invalid > valid
        answerable = 1 - probability >= rules.min_posterior and valid > invalid
    else:
        needed = len(choices) if rules.rule == "unanimity" else len(choices) // 2 + 1
        unanswerable, answerable = invalid >= needed, valid >= needed
    return "unanswerable" if unanswerable else "answerable" if answerable else "doubtful"


def by_candidate(judged: Iterable[Judged], aside: Collection[str] = ()) -> dict[str, CandidateVotes]:
    """Candidate id -> what was said of it.

    Args:
        aside: ids of the verdicts that do not count.
    """
    votes: dict[str, CandidateVotes] = {}
    for row in judged:
        candidate = votes.setdefault(row.candidate_id, CandidateVotes(row.task.task_id, [], []))
        candidate.verdicts.append(row.verdict)
        if row.verdict.verdict_id not in aside:
            candidate.counted.append(row.candidate)
    return votes


def verify(
    screened: Iterable[Screened],
    votes: Mapping[str, CandidateVotes],
    rules: CollectRules,
    posteriors: Mapping[str, float] = MappingProxyType({}),
) -> list[Verified]:
    """Every candidate with its votes, sorted by id. "unsure" is counted with the valid votes.

    Args:
        posteriors: candidate id -> probability of invalid, for the rule "dawid-skene".
    """
    verified = []
    for row in sorted(screened, key=lambda row: row.candidate.candidate_id):
        key = row.candidate.candidate_id
        given = votes.get(key, CandidateVotes("", [], []))
        invalid = given.choices.count("invalid")
        verified.append(
            Verified(
                candidate=row.candidate,
                judgement=row.judgement,
                status=status(given.choices, rules, posteriors.get(key)),
                votes_invalid=invalid,
                votes_valid=len(given.counted) - invalid,
                votes_set_aside=len(given.verdicts) - len(given.counted),
                verdict_ids=tuple(sorted(verdict.verdict_id for verdict in given.verdicts)),
                simulated=any(verdict.simulated for verdict in given.verdicts),
                rehearsal=any(verdict.rehearsal for verdict in given.verdicts),
                reason=commonest(answer.reason for answer in given.counted),
            )
        )
    return verified


def commonest(reasons: Iterable[str]) -> Category | None:
    """The reason given most often, of those that name a category; of equally frequent ones the first by alphabet."""
    given = list(reasons)
    named = [category for category in sorted(get_args(Category)) if category in given]
    return max(named, key=given.count, default=None)


def check_aqs(judged: Iterable[Judged], excluded: Collection[str]) -> list[AqCheck]:
    """What annotators that are not excluded said of the pictures' own questions that served as filters.

    Verified or refuted by more than half of at least two votes, else open. Sorted by question id.
    """
    votes: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for row in judged:
        question = row.filter.question
        if question.source == "own question" and row.verdict.annotator not in excluded:
            votes[question.question_id or "", *row.filter_key][row.filter.verdict] += 1
    checks = []
    for (question_id, picture_id, text), count in sorted(votes.items()):
        valid, invalid = count["valid"], count["invalid"]
        decided = valid + invalid >= 2 and valid != invalid
        checks.append(
            AqCheck(
                question_id=question_id,
                picture_id=picture_id,
                text=text,
                votes_valid=valid,
                votes_invalid=invalid,
                status=("verified" if valid > invalid else "refuted") if decided else "open",
            )
        )
    return checks
