"""What the verdicts come to: votes per candidate after unreliable verdicts are set aside."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, get_args

from annotation.study.quality import candidate_choice, candidate_of, filter_choice, said
from pipeline.core.records import AqCheck, Category, Choice, Record, Screened, Task, Verdict, Verified

Rule = Literal["majority", "unanimity", "dawid-skene"]
Status = Literal["unanswerable", "answerable", "doubtful", "unjudged"]


class SetAside(Record):
    """A verdict that does not count, and why; `detail` has the figures."""

    verdict_id: str
    task_id: str
    annotator: str
    reason: Literal["annotator excluded", "filter failed"]
    detail: str = ""


def set_aside(
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    excluded: Mapping[str, Sequence[str]],
    refuted: set[tuple[str, str]],
) -> list[SetAside]:
    """Verdicts of excluded annotators, and those whose filter question was failed and is not refuted.

    Args:
        excluded: annotator -> the reasons.
        refuted: filter questions, see `annotation.study.quality.refuted`.
    """
    rows = []
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        failed = said(choice) != question.expected and (task.picture_id, question.text) not in refuted
        if verdict.annotator in excluded or failed:
            out = verdict.annotator in excluded
            rows.append(
                SetAside(
                    verdict_id=verdict.verdict_id,
                    task_id=verdict.task_id,
                    annotator=verdict.annotator,
                    reason="annotator excluded" if out else "filter failed",
                    detail="; ".join(excluded[verdict.annotator])
                    if out
                    else f"said {choice}, {question.expected} was expected",
                )
            )
    return rows


def status(
    choices: Sequence[Choice],
    rule: Rule,
    min_votes: int,
    posterior: float | None = None,
    min_posterior: float = 1.0,
) -> Status:
    """What the counted choices on one candidate come to. Only "unanswerable" goes on, so doubt discards.

    majority: more than half say invalid (valid); unanimity: all do. "unsure" is never a vote for anything.
    dawid-skene: the probability of invalid (valid) is at least `min_posterior`, and more votes say invalid than valid
    (valid than invalid): where nearly all is invalid, that alone makes a candidate probable that most call valid.

    Args:
        posterior: probability of invalid by `annotation.study.dawid_skene`, for that rule alone.
    """
    if len(choices) < min_votes:
        return "unjudged"
    invalid, valid = choices.count("invalid"), choices.count("valid")
    if rule == "dawid-skene":
        probability = posterior if posterior is not None else 0.5
        if probability >= min_posterior and invalid > valid:
            return "unanswerable"
        return "answerable" if 1 - probability >= min_posterior and valid > invalid else "doubtful"
    needed = len(choices) if rule == "unanimity" else len(choices) // 2 + 1
    if invalid >= needed:
        return "unanswerable"
    return "answerable" if valid >= needed else "doubtful"


def verify(
    screened: Iterable[Screened],
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    aside: set[str],
    rule: Rule,
    min_votes: int,
    posteriors: Mapping[str, float] = MappingProxyType({}),
    min_posterior: float = 1.0,
) -> list[Verified]:
    """Every candidate with its votes, sorted by id. "unsure" is counted with the valid votes.

    Args:
        aside: ids of the verdicts that do not count.
        posteriors: candidate id -> probability of invalid, for the rule "dawid-skene".
    """
    by_candidate: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_candidate[candidate_of(tasks[verdict.task_id])].append(verdict)
    rows = []
    for row in screened:
        given = by_candidate[row.candidate.candidate_id]
        counting = [v for v in given if v.verdict_id not in aside]
        counted = [candidate_choice(tasks[v.task_id], v) for v in counting]
        invalid = counted.count("invalid")
        rows.append(
            Verified(
                candidate=row.candidate,
                judgement=row.judgement,
                status=status(
                    counted, rule, min_votes, posteriors.get(row.candidate.candidate_id), min_posterior
                ),
                votes_invalid=invalid,
                votes_valid=len(counted) - invalid,
                votes_set_aside=len(given) - len(counted),
                verdict_ids=tuple(sorted(v.verdict_id for v in given)),
                simulated=any(v.simulated for v in given),
                rehearsal=any(v.rehearsal for v in given),
                reason=commonest(reason_of(tasks[v.task_id], v) for v in counting),
            )
        )
    return sorted(rows, key=lambda row: row.candidate.candidate_id)


def reason_of(task: Task, verdict: Verdict) -> str:
    """Why the annotator called the candidate invalid; "" if no reason was given or it was called valid."""
    return verdict.first_reason if task.first.role == "candidate" else verdict.second_reason


def commonest(reasons: Iterable[str]) -> Category | None:
    """The reason given most often, of those that name a category; of equally frequent ones the first by alphabet."""
    counts = Counter(reason for reason in reasons if reason in get_args(Category))
    return min(counts, key=lambda reason: (-counts[reason], reason)) if counts else None


def check_aqs(
    tasks: Mapping[str, Task], verdicts: Iterable[Verdict], excluded: Collection[str]
) -> list[AqCheck]:
    """What annotators that are not excluded said of the pictures' own questions that served as filters.

    Verified or refuted by more than half of at least two votes, else open. Sorted by question id.
    """
    votes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        if question.source == "own question" and verdict.annotator not in excluded:
            votes[question.question_id or "", task.picture_id, question.text].append(said(choice))
    checks = []
    for (question_id, picture_id, text), row in sorted(votes.items()):
        valid, invalid = row.count("valid"), row.count("invalid")
        decided = len(row) >= 2 and valid != invalid
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
