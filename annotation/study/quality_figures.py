"""Every figure of the quality report, as records: `quality.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from annotation.study.agreement import SubsetAgreement, agreement
from annotation.study.another_vote import AnotherVote
from annotation.study.habits import Habits
from annotation.study.posteriors import Table
from annotation.study.quality import Accuracy, filter_choice, said
from annotation.study.votes import SetAside, Status
from pipeline.core.records import SUBSETS, Choice, Record, Subset, Task, Verdict, Verified


class AnnotatorRow(Record):
    """An annotator, by pseudonym.

    Attributes:
        filters, right: filter questions answered, and answered as expected; refuted ones left out.
        accuracy, low, high: right / filters and its 95 % Wilson interval; None without filters.
        failed: verdicts set aside because their own filter question was failed.
        excluded: the reasons, none if they are not.
    """

    name: str
    verdicts: int
    filters: int
    right: int
    accuracy: float | None
    low: float | None
    high: float | None
    failed: int
    excluded: tuple[str, ...]
    habits: Habits


class FilterRow(Record):
    """Filter questions of one source and expected verdict, as answered by annotators that are not excluded."""

    source: str
    expected: Literal["valid", "invalid"]
    answered: int
    right: int


class RefutedFilter(Record):
    """A filter question that nearly all annotators contradicted, and what they chose."""

    picture_id: str
    text: str
    expected: Literal["valid", "invalid"]
    choices: dict[Choice, int]


class VoteCount(Record):
    """How many candidates had `invalid` of `counted` votes and came to `status`."""

    invalid: int
    counted: int
    status: Status
    candidates: int


class SubsetRow(Record):
    """What came of the candidates of a subset."""

    subset: Subset
    candidates: int
    statuses: dict[Status, int]
    votes: tuple[VoteCount, ...]


class Quality(Record):
    """The report.

    Attributes:
        settings: the parameters that these figures rest on.
        given, excluded, failed, counted: verdicts: all, of excluded annotators, of others with a failed filter, left.
        agreement: on verdicts that count, all subsets together first; agreement_given: on all verdicts.
        another_vote: reason -> tasks that need one. tables: of the rule dawid-skene alone.
    """

    simulated: bool
    rehearsal: bool
    settings: dict[str, Any]
    given: int
    excluded: int
    failed: int
    counted: int
    annotators: tuple[AnnotatorRow, ...]
    filters: tuple[FilterRow, ...]
    refuted: tuple[RefutedFilter, ...]
    agreement: tuple[SubsetAgreement, ...]
    agreement_given: tuple[SubsetAgreement, ...]
    subsets: tuple[SubsetRow, ...]
    another_vote: dict[str, int]
    tables: tuple[Table, ...] = ()

    @property
    def unanswerable(self) -> int:
        """Candidates that go on."""
        return sum(row.statuses.get("unanswerable", 0) for row in self.subsets)


def summary(
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    verified: Sequence[Verified],
    aside: Sequence[SetAside],
    found: Mapping[str, Accuracy],
    habits: Mapping[str, Habits],
    excluded: Mapping[str, Sequence[str]],
    refuted: set[tuple[str, str]],
    again: Sequence[AnotherVote],
    tables: Sequence[Table],
    settings: Mapping[str, Any],
) -> Quality:
    """Put together what was found; floats are rounded to 6 significant digits."""
    dropped = {row.verdict_id for row in aside}
    reasons = Counter(row.reason for row in aside)
    quality = Quality(
        simulated=any(verdict.simulated for verdict in verdicts),
        rehearsal=any(verdict.rehearsal for verdict in verdicts),
        settings=dict(settings),
        given=len(verdicts),
        excluded=reasons["annotator excluded"],
        failed=reasons["filter failed"],
        counted=len(verdicts) - len(aside),
        annotators=tuple(_annotators(verdicts, aside, found, habits, excluded)),
        filters=tuple(_filters(tasks, verdicts, excluded, refuted)),
        refuted=tuple(_refuted(tasks, verdicts, refuted)),
        agreement=tuple(agreement(tasks, [v for v in verdicts if v.verdict_id not in dropped])),
        agreement_given=tuple(agreement(tasks, verdicts)),
        subsets=tuple(_subsets(verified)),
        another_vote=dict(sorted(Counter(row.reason for row in again).items())),
        tables=tuple(tables),
    )
    return msgspec.convert(_rounded(msgspec.to_builtins(quality)), Quality)


def _annotators(
    verdicts: Sequence[Verdict],
    aside: Sequence[SetAside],
    found: Mapping[str, Accuracy],
    habits: Mapping[str, Habits],
    excluded: Mapping[str, Sequence[str]],
) -> list[AnnotatorRow]:
    given = Counter(verdict.annotator for verdict in verdicts)
    failed = Counter(row.annotator for row in aside if row.reason == "filter failed")
    return [
        AnnotatorRow(
            name=name,
            verdicts=given[name],
            filters=row.answered,
            right=row.right,
            accuracy=row.share if row.answered else None,
            low=row.low if row.answered else None,
            high=row.high if row.answered else None,
            failed=failed[name],
            excluded=tuple(excluded.get(name, ())),
            habits=habits[name],
        )
        for name, row in sorted(found.items())
    ]


def _filters(
    tasks: Mapping[str, Task],
    verdicts: Sequence[Verdict],
    excluded: Mapping[str, Sequence[str]],
    refuted: set[tuple[str, str]],
) -> list[FilterRow]:
    answers: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        if verdict.annotator not in excluded and (task.picture_id, question.text) not in refuted:
            answers[question.source, question.expected or "valid"].append(said(choice) == question.expected)
    return [
        FilterRow(source=source, expected=expected, answered=len(row), right=sum(row))
        for (source, expected), row in sorted(answers.items())
    ]


def _refuted(
    tasks: Mapping[str, Task], verdicts: Sequence[Verdict], refuted: set[tuple[str, str]]
) -> list[RefutedFilter]:
    choices: dict[tuple[str, str, str], Counter[Choice]] = defaultdict(Counter)
    for verdict in verdicts:
        task = tasks[verdict.task_id]
        question, choice = filter_choice(task, verdict)
        if (task.picture_id, question.text) in refuted:
            choices[task.picture_id, question.text, question.expected or "valid"][choice] += 1
    return [
        RefutedFilter(picture_id=picture, text=text, expected=expected, choices=dict(sorted(row.items())))
        for (picture, text, expected), row in sorted(choices.items())
    ]


def _subsets(verified: Sequence[Verified]) -> list[SubsetRow]:
    rows = []
    for subset in SUBSETS:
        mine = [row for row in verified if row.candidate.subset == subset]
        votes = Counter((row.votes_invalid, row.votes_invalid + row.votes_valid, row.status) for row in mine)
        if mine:
            rows.append(
                SubsetRow(
                    subset=subset,
                    candidates=len(mine),
                    statuses=dict(sorted(Counter(row.status for row in mine).items())),
                    votes=tuple(
                        VoteCount(invalid=invalid, counted=counted, status=status, candidates=count)
                        for (invalid, counted, status), count in sorted(votes.items())
                    ),
                )
            )
    return rows


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple)) else value
