"""Every figure of the quality report, as records: `quality.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from annotation.study.agreement import SubsetAgreement, agreement
from annotation.study.another_vote import AnotherVote
from annotation.study.habits import Habits
from annotation.study.posteriors import ConfusionTable
from annotation.study.votes import Status
from annotation.study.weighing import Weighed
from pipeline.core.records import SUBSETS, Choice, Record, Subset, Verified

Known = Literal["valid", "invalid"]


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
    expected: Known
    answered: int
    right: int


class RefutedFilter(Record):
    """A filter question that nearly all annotators contradicted, and what they chose."""

    picture_id: str
    text: str
    expected: Known
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
    tables: tuple[ConfusionTable, ...] = ()

    @property
    def unanswerable(self) -> int:
        """Candidates that go on."""
        return sum(row.statuses.get("unanswerable", 0) for row in self.subsets)


def summary(
    weighed: Weighed,
    verified: Sequence[Verified],
    again: Sequence[AnotherVote],
    tables: Sequence[ConfusionTable],
    settings: Mapping[str, Any],
) -> Quality:
    """Put together what was found; floats are rounded to 6 significant digits."""
    judged = weighed.judged
    reasons = Counter(row.reason for row in weighed.aside)
    quality = Quality(
        simulated=any(row.verdict.simulated for row in judged),
        rehearsal=any(row.verdict.rehearsal for row in judged),
        settings=dict(settings),
        given=len(judged),
        excluded=reasons["annotator excluded"],
        failed=reasons["filter failed"],
        counted=len(judged) - len(weighed.aside),
        annotators=tuple(_annotators(weighed)),
        filters=tuple(_filters(weighed)),
        refuted=tuple(_refuted(weighed)),
        agreement=tuple(agreement(weighed.counted)),
        agreement_given=tuple(agreement(judged)),
        subsets=tuple(_subsets(verified)),
        another_vote=dict(sorted(Counter(row.reason for row in again).items())),
        tables=tuple(tables),
    )
    return msgspec.convert(_rounded(msgspec.to_builtins(quality)), Quality)


def _annotators(weighed: Weighed) -> Iterator[AnnotatorRow]:
    given = Counter(row.verdict.annotator for row in weighed.judged)
    failed = Counter(row.annotator for row in weighed.aside if row.reason == "filter failed")
    for name, row in weighed.accuracies.items():
        share, low, high = (row.share, row.low, row.high) if row.answered else (None, None, None)
        yield AnnotatorRow(
            name=name,
            verdicts=given[name],
            filters=row.answered,
            right=row.right,
            accuracy=share,
            low=low,
            high=high,
            failed=failed[name],
            excluded=tuple(weighed.excluded.get(name, ())),
            habits=weighed.habits[name],
        )


def _filters(weighed: Weighed) -> Iterator[FilterRow]:
    results: dict[tuple[str, Known], list[bool]] = defaultdict(list)
    for row in weighed.judged:
        question = row.filter.question
        if row.verdict.annotator not in weighed.excluded and row.filter_key not in weighed.refuted:
            results[question.source, question.expected or "valid"].append(row.filter.as_expected)
    for (source, expected), right in sorted(results.items()):
        yield FilterRow(source=source, expected=expected, answered=len(right), right=sum(right))


def _refuted(weighed: Weighed) -> Iterator[RefutedFilter]:
    choices: dict[tuple[str, str, Known], Counter[Choice]] = defaultdict(Counter)
    for row in weighed.judged:
        if row.filter_key in weighed.refuted:
            choices[*row.filter_key, row.filter.question.expected or "valid"][row.filter.choice] += 1
    for (picture_id, text, expected), count in sorted(choices.items()):
        yield RefutedFilter(
            picture_id=picture_id, text=text, expected=expected, choices=dict(sorted(count.items()))
        )


def _subsets(verified: Sequence[Verified]) -> Iterator[SubsetRow]:
    for subset in SUBSETS:
        rows = [row for row in verified if row.candidate.subset == subset]
        votes: Counter[tuple[int, int, Status]] = Counter(
            (row.votes_invalid, row.votes_invalid + row.votes_valid, row.status) for row in rows
        )
        statuses: Counter[Status] = Counter(row.status for row in rows)
        if rows:
            yield SubsetRow(
                subset=subset,
                candidates=len(rows),
                statuses=dict(sorted(statuses.items())),
                votes=tuple(
                    VoteCount(invalid=invalid, counted=counted, status=status, candidates=count)
                    for (invalid, counted, status), count in sorted(votes.items())
                ),
            )


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple)) else value
