"""Let annotators judge the answerable questions that a model drafted, before they are used as AQs.

A question of a person's own table counts as answerable unless annotators refute it as a gold question. A model may err, so
each question that it drafted becomes a candidate with a task of its own, and the rules for candidates decide: it is an AQ only if
annotators found it answerable. Such a candidate is of the subset "drafted-aq", which is no subset of the benchmark. What annotators
decided in an earlier round stays decided: such a question gets no task again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    DRAFTED_AQ,
    Candidate,
    CollectedCandidate,
    GoldQuestionCheck,
    Question,
    ScreenedCandidate,
    Task,
    VerifierResult,
    make_candidate_id,
)

T = TypeVar("T")
# GoldQuestionCheck, in interim/batch/: the drafted questions that earlier rounds decided. There is no such file if there are none.
JUDGED_DRAFTS_FILE = "judged_drafts.jsonl"


class JoinedSequence(Sequence[T]):
    """Two sequences, one after the other. Nothing is copied.

    >>> [*JoinedSequence([1, 2], [3])], JoinedSequence([1, 2], [3])[2]
    ([1, 2, 3], 3)
    """

    def __init__(self, first: Sequence[T], second: Sequence[T]) -> None:
        self._first, self._second, self._num_first = first, second, len(first)

    def __getitem__(self, number: int) -> T:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._first[number] if number < self._num_first else self._second[number - self._num_first]

    def __len__(self) -> int:
        return self._num_first + len(self._second)


def find_drafted_questions(
    questions: Iterable[Question],
    candidates: Iterable[Candidate],
    answerable_probabilities: Mapping[str, float] = MappingProxyType({}),
) -> tuple[list[Candidate], list[tuple[str, float]]]:
    """Return the drafted questions that can become AQs, as candidates.

    These are the questions from which candidates were made, and those with the text of an unedited candidate.

    Args:
        questions: The questions about the images of the benchmark.
        candidates: The candidates for unanswerable questions.
        answerable_probabilities: Candidate id -> estimated probability of being answerable; {} if there are no estimates.

    Returns:
        The drafted questions as candidates, sorted by id. And pairs of their ids and the probabilities by which tasks are ordered: the
        smallest one of the candidates that need the question as AQ, so that it is asked as early as they are. Without estimates,
        there are no pairs.
    """
    by_question, by_text = dict[str, float](), dict[str, float]()
    for candidate in candidates:
        probability = answerable_probabilities.get(candidate.candidate_id, 1.0)
        key, text = candidate.question_id, candidate.text
        by_question[key] = min(by_question.get(key, 1.0), probability)
        if not candidate.edits:
            by_text[text] = min(by_text.get(text, 1.0), probability)
    found = {
        question.question_id: (
            _make_candidate(question),
            min(by_question.get(question.question_id, 1.0), by_text.get(question.text, 1.0)),
        )
        for question in questions
        if question.drafted_by and (question.question_id in by_question or question.text in by_text)
    }
    rows = sorted(found.values(), key=lambda pair: pair[0].candidate_id)
    estimates = [(row.candidate_id, probability) for row, probability in rows]
    return [row for row, _ in rows], estimates if answerable_probabilities else []


def split_by_rounds(
    drafted: Iterable[Candidate], earlier: Iterable[CollectedCandidate]
) -> tuple[list[Candidate], list[GoldQuestionCheck]]:
    """Separate the drafted questions that annotators must still judge from those that an earlier round decided.

    A question whose text has changed since then is judged again.

    Args:
        drafted: The drafted questions, as `find_drafted_questions` returns them.
        earlier: The candidates that were verified in earlier rounds.

    Returns:
        The questions without a verdict, and the verdicts on the others.
    """
    decided = {
        (row.candidate.candidate_id, row.candidate.text): row for row in earlier if is_drafted_question(row)
    }
    left, known = list[Candidate](), list[CollectedCandidate]()
    for row in drafted:
        if verdict := decided.get((row.candidate_id, row.text)):
            known.append(verdict)
        else:
            left.append(row)
    return left, merge_checks((), known)


def read_judged_drafts(folders: DatasetFolders) -> list[GoldQuestionCheck]:
    """Return the verdicts of earlier rounds on drafted questions that have no task any more; [] if there are none."""
    path = folders.stage_dir("batch") / JUDGED_DRAFTS_FILE
    return [*read_jsonl(path, GoldQuestionCheck)] if path.exists() else []


def _make_candidate(question: Question) -> Candidate:
    return Candidate(
        candidate_id=make_candidate_id(DRAFTED_AQ, question.image_id, question.question_id),
        subset=DRAFTED_AQ,
        image_id=question.image_id,
        question_id=question.question_id,
        text=question.text,
        program=question.program,
    )


def read_drafted_questions(tasks: Iterable[Task]) -> dict[str, ScreenedCandidate]:
    """Return the drafted questions that have a task, by candidate id."""
    asked = (
        Candidate(
            candidate_id=row.candidate_id,
            subset=DRAFTED_AQ,
            image_id=task.image_id,
            question_id=row.question_id,
            text=row.text,
            program=row.program,
        )
        for task in tasks
        if task.subset == DRAFTED_AQ
        for row in (task.first, task.second)
        if row.role == "candidate" and row.candidate_id and row.question_id
    )
    nothing_known = VerifierResult(answerability="unknown")
    return {
        row.candidate_id: ScreenedCandidate(candidate=row, verifier_result=nothing_known) for row in asked
    }


def is_drafted_question(row: CollectedCandidate) -> bool:
    """Return whether a candidate is a drafted question, which may become an AQ."""
    return row.candidate.subset == DRAFTED_AQ


def merge_checks(
    as_gold: Iterable[GoldQuestionCheck],
    as_candidates: Iterable[CollectedCandidate],
    judged_earlier: Iterable[GoldQuestionCheck] = (),
) -> list[GoldQuestionCheck]:
    """Combine what annotators say of a question as a gold question and as a candidate.

    The verdict on the candidate decides. If its task has no votes that count, those on the gold question decide.

    Args:
        as_gold: The source's questions that were gold questions.
        as_candidates: The drafted questions that had tasks.
        judged_earlier: Verdicts of earlier rounds on drafted questions. They stay.

    Returns:
        One record for each question, sorted by question id. The votes of a question with a decided task are those of its task.
    """
    checks = {row.question_id: row for row in as_gold}
    for row in as_candidates:
        question = row.candidate
        own = GoldQuestionCheck(
            question_id=question.question_id,
            image_id=question.image_id,
            text=question.text,
            votes_valid=row.votes_valid,
            votes_invalid=row.votes_invalid,
            status="verified"
            if row.status == "answerable"
            else "refuted"
            if row.status == "unanswerable"
            else "open",
        )
        if row.status != "no_votes" or question.question_id not in checks:
            checks[question.question_id] = own
    checks |= {row.question_id: row for row in judged_earlier}
    return [checks[key] for key in sorted(checks)]
