"""Every figure of the quality report, as records: `quality.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pandas as pd

from annotation.study.agreement import SubsetAgreement, agreement
from annotation.study.dawid_skene import ConfusionTable
from annotation.study.habits import Habits
from annotation.study.judged import counted, records
from annotation.study.votes import AnotherVote, Status
from annotation.study.weighing import Weighed
from pipeline.core.records import Choice, Record, Subset, Verified


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
    expected: Choice
    answered: int
    right: int


class RefutedFilter(Record):
    """A filter question that nearly all annotators contradicted, and what they chose."""

    picture_id: str
    text: str
    expected: Choice
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
    """Put together what was found; floats are rounded to 6 significant digits, and what is undefined is None."""
    judged = weighed.judged
    reasons = Counter(judged["aside"])
    quality = Quality(
        simulated=bool(judged["simulated"].any()),
        rehearsal=bool(judged["rehearsal"].any()),
        settings=dict(settings),
        given=len(judged),
        excluded=reasons["annotator excluded"],
        failed=reasons["filter failed"],
        counted=reasons[""],
        annotators=tuple(_annotators(weighed)),
        filters=tuple(_filters(judged)),
        refuted=tuple(_refuted(judged)),
        agreement=tuple(agreement(counted(judged))),
        agreement_given=tuple(agreement(judged)),
        subsets=tuple(_subsets(verified)),
        another_vote=dict(sorted(Counter(row.reason for row in again).items())),
        tables=tuple(tables),
    )
    rounding = msgspec.json.Decoder(float_hook=lambda number: float(f"{float(number):.6g}"))
    return msgspec.convert(rounding.decode(msgspec.json.encode(quality)), Quality)


def _annotators(weighed: Weighed) -> list[AnnotatorRow]:
    given, failed = (
        Counter(rows["annotator"])
        for rows in (weighed.judged, weighed.judged[weighed.judged["aside"] == "filter failed"])
    )
    return [
        AnnotatorRow(
            name=name,
            verdicts=given[name],
            failed=failed[name],
            excluded=tuple(weighed.excluded.get(name, ())),
            habits=weighed.habits[name],
            **msgspec.structs.asdict(accuracy),
        )
        for name, accuracy in weighed.accuracies.items()
    ]


def _filters(judged: pd.DataFrame) -> list[FilterRow]:
    rows = judged[(judged["aside"] != "annotator excluded") & ~judged["refuted"]]
    passed = rows.groupby(["source", "expected"])["passed"]
    return records(passed.agg(answered="size", right="sum").reset_index(), FilterRow)


def _refuted(judged: pd.DataFrame) -> list[RefutedFilter]:
    question = ["picture_id", "text", "expected"]
    chosen = judged[judged["refuted"]].groupby(question)["filter_choice"].agg(list).rename("choices")
    choices = chosen.map(lambda said: dict(sorted(Counter(said).items())))
    return records(choices.reset_index(), RefutedFilter)


def _subsets(verified: Sequence[Verified]) -> list[SubsetRow]:
    votes = Counter(
        (row.candidate.subset, row.votes_invalid, row.votes_invalid + row.votes_valid, row.status)
        for row in verified
    )
    table = pd.DataFrame(
        [(*key, count) for key, count in sorted(votes.items())],
        columns=["subset", "invalid", "counted", "status", "candidates"],
    )
    rows = [
        {
            "subset": subset,
            "candidates": int(of["candidates"].sum()),
            "statuses": of.groupby("status")["candidates"].sum().to_dict(),
            "votes": of.drop(columns="subset").to_dict("records"),
        }
        for subset, of in table.groupby("subset")
    ]
    return msgspec.convert(rows, list[SubsetRow])
