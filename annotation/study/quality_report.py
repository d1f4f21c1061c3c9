"""Every figure of the quality report, as records: `quality.json`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from annotation.study.agreement import Figure, Retest, SubsetAgreement, agreement, retest
from annotation.study.answers_table import filters, records, votes
from annotation.study.dawid_skene import ConfusionTable
from annotation.study.exports import CHOICES, EXPERT
from annotation.study.gold_leakage import Betrayal, betrayals, worst
from annotation.study.quality_control import Flag, Skill, Weighed, rate
from annotation.study.response_times import Pace
from annotation.study.vote_aggregation import Status, votes_on
from pipeline.core.errors import counted
from pipeline.core.records import Choice, Record, Subset, Verified

WORST = 20  # items to look at
MOST_ERRED, FEWEST_ALIKE = 0.01, 100  # people err and differ more often, of so many candidates
# Columns of the table of answers -> those that `betrayals` takes.
SHOWN = {
    "annotator": "person",
    "order": "order",
    "place": "position",
    "picture_id": "picture",
    "text": "text",
    "role": "role",
}


class AnnotatorRow(Record):
    """An annotator or an expert, by pseudonym.

    Attributes:
        failed: answers set aside because the filter question beside them was failed.
        excluded: the reasons, none if they are not; `since`: from which task on (0: all).
    """

    name: str
    verdicts: int
    skill: Skill
    failed: int
    excluded: tuple[str, ...]
    since: int
    pace: Pace
    flags: tuple[Flag, ...]

    @property
    def expert(self) -> bool:
        """Whether their word decides."""
        return self.name.startswith(EXPERT)


class FilterRow(Record):
    """Filter questions of one source and expected verdict, as answered by annotators that are not excluded."""

    source: str
    expected: Choice
    answered: int
    right: int


class FallenFilter(Record):
    """A filter question that good judges contradicted, what all chose, and the tasks that it stands in."""

    picture_id: str
    text: str
    expected: Choice
    choices: dict[Choice, int]
    tasks: tuple[str, ...]


class SubsetRow(Record):
    """What came of the candidates of a subset."""

    subset: Subset
    candidates: int
    statuses: dict[Status, int]
    by_expert: int


class WorstItem(Record):
    """A candidate that the votes left most in doubt; `invalid` is its probability, or the share of its votes."""

    candidate_id: str
    subset: Subset
    picture_id: str
    text: str
    choices: dict[Choice, int]
    invalid: float


class Quality(Record):
    """The report.

    Attributes:
        alarms: what somebody must look at before anything is published.
        settings: the parameters that these figures rest on.
        given: verdicts. answers, excluded, failed, repeated, counted: answers on candidates: all, of excluded annotators,
            beside a failed filter, of somebody who judged the candidate twice, left.
        doubtful: candidate id -> how probably it is invalid, of those that an expert is to decide.
        wrong: the share expected to be wrong among what votes verified as unanswerable, of the rule dawid-skene alone.
        agreement, retest: on the candidates that several judge by lot; all subsets together first. betrayals: what filters can be known by. tables: of the rule dawid-skene alone.
    """

    simulated: bool
    rehearsal: bool
    alarms: tuple[str, ...]
    settings: dict[str, Any]
    given: int
    answers: int
    excluded: int
    failed: int
    repeated: int
    counted: int
    annotators: tuple[AnnotatorRow, ...]
    filters: tuple[FilterRow, ...]
    fallen: tuple[FallenFilter, ...]
    agreement: tuple[SubsetAgreement, ...]
    retest: Retest
    betrayals: tuple[Betrayal, ...]
    subsets: tuple[SubsetRow, ...]
    wrong: Figure
    worst: tuple[WorstItem, ...]
    doubtful: dict[str, float]
    tables: tuple[ConfusionTable, ...] = ()

    @property
    def invalid_filters(self) -> int:
        """Answers that count to filter questions known to be unanswerable."""
        return sum(row.answered for row in self.filters if row.expected == "invalid")

    @property
    def unanswerable(self) -> int:
        """Candidates that go on."""
        return sum(row.statuses.get("unanswerable", 0) for row in self.subsets)


def summary(
    weighed: Weighed,
    verified: Collection[Verified],
    posteriors: Mapping[str, float],
    wrong: Figure,
    tables: Sequence[ConfusionTable],
    settings: Mapping[str, Any],
    overlap: Collection[str],
) -> Quality:
    """Put together what was found; floats are rounded to 6 significant digits, and what is undefined is None."""
    judged = weighed.judged
    candidate = judged["role"] != "filter"
    reasons = Counter(judged.loc[candidate, "aside"])
    by_lot = judged[candidate & judged["candidate_id"].isin(overlap) & ~judged["expert"]]
    doubts = _in_doubt(judged, verified, posteriors)
    undecided = [row.candidate.candidate_id for row in verified if row.status == "doubtful"]
    quality = Quality(
        simulated=bool(judged["simulated"].any()),
        rehearsal=bool(judged["rehearsal"].any()),
        alarms=(),
        settings=dict(settings),
        given=judged["verdict_id"].nunique(),
        answers=int(candidate.sum()),
        excluded=reasons["annotator excluded"],
        failed=reasons["filter failed"],
        repeated=reasons["judged before"] + reasons["contradicts themselves"],
        counted=reasons[""],
        annotators=tuple(_annotators(weighed)),
        filters=tuple(_filters(judged)),
        fallen=tuple(_fallen(judged)),
        agreement=tuple(agreement(votes(by_lot))),
        retest=retest(by_lot[by_lot["aside"] != "annotator excluded"]),
        betrayals=tuple(betrayals(judged[list(SHOWN)].rename(columns=SHOWN))),
        subsets=tuple(_subsets(verified)),
        wrong=wrong,
        worst=tuple(_worst(judged, verified, doubts[:WORST])),
        doubtful={str(key): value for key, value in doubts[doubts.index.isin(undecided)].items()},
        tables=tuple(tables),
    )
    quality = msgspec.structs.replace(quality, alarms=tuple(_alarms(quality)))
    rounding = msgspec.json.Decoder(float_hook=lambda number: float(f"{float(number):.6g}"))
    return msgspec.convert(rounding.decode(msgspec.json.encode(quality)), Quality)


def _alarms(quality: Quality) -> list[str]:
    alarms = []
    if quality.fallen:
        count = len(quality.fallen)
        alarms.append(
            f"{count} filter question{'s' if count > 1 else ''} fell: at least three people who answer the others well "
            "contradict what was known of it; nobody is blamed for them; look whether they or the people are wrong"
        )
    if quality.filters and not quality.invalid_filters:
        alarms.append(
            "no filter question that was answered is known to be unanswerable: who calls every question valid passes all of them"
        )
    judged = sum(
        count for row in quality.subsets for status, count in row.statuses.items() if status != "unjudged"
    )
    if judged and not quality.unanswerable:
        known = ": who simulates knows too little of these pictures" if quality.simulated else ""
        alarms.append(
            f"none of {judged:,} judged candidates is unanswerable, so nothing can be released{known}"
        )
    alarms += [
        f"filters may be known by {row.cue}: AUROC {row.auroc:.2f} ({row.low:.2f} to {row.high:.2f})"
        for row in worst(quality.betrayals)
    ]
    out = sum(bool(row.excluded) for row in quality.annotators)
    if 2 * out > len(quality.annotators):
        alarms.append(
            f"{out} of {counted(len(quality.annotators), 'annotator')} are excluded: either the filters are wrong, or the guidelines are "
            "not understood, or nobody looked"
        )
    right, answered = (sum(getattr(row, name) for row in quality.filters) for name in ("right", "answered"))
    erred, together = rate(answered - right, answered), quality.agreement[0]
    agreed = together.candidates >= FEWEST_ALIKE and (together.share.low or 0) > 1 - MOST_ERRED
    if agreed or (erred.high is not None and erred.high < MOST_ERRED):
        alarms.append(
            f"everything looks perfect: {right:,} of {answered:,} filter questions answered as known, "
            f"{together.share.value or 0:.1%} of verdicts on one candidate alike; people err more often. Perhaps filters can be "
            "told from candidates, somebody copies, or a program answers"
        )
    return alarms


def _annotators(weighed: Weighed) -> list[AnnotatorRow]:
    judged = weighed.judged
    given = judged.groupby("annotator", observed=True)["verdict_id"].nunique()
    failed = Counter(judged.loc[judged["aside"] == "filter failed", "annotator"])
    return [
        AnnotatorRow(
            name=name,
            verdicts=int(given[name]),
            skill=skill,
            failed=failed[name],
            excluded=out.reasons if (out := weighed.excluded.get(name)) else (),
            since=out.since if out else 0,
            pace=weighed.paces[name],
            flags=tuple(weighed.flags[name]),
        )
        for name, skill in weighed.skills.items()
    ]


def _filters(judged: pd.DataFrame) -> list[FilterRow]:
    rows = filters(judged)
    right = rows[rows["aside"] == ""].groupby(["source", "expected"], observed=True)["right"]
    return records(right.agg(answered="size", right="sum").reset_index(), FilterRow)


def _fallen(judged: pd.DataFrame) -> list[FallenFilter]:
    question = judged[judged["fallen"]].groupby(["picture_id", "text", "expected"], observed=True)
    rows = question.agg(
        choices=("choice", lambda said: dict(sorted(Counter(said).items()))),
        tasks=("task_id", lambda keys: tuple(sorted(set(keys)))),
    )
    return records(rows.reset_index(), FallenFilter)


def _subsets(verified: Collection[Verified]) -> list[SubsetRow]:
    statuses: dict[Subset, Counter[Status]] = defaultdict(Counter)
    for row in verified:
        statuses[row.candidate.subset][row.status] += 1
    by_expert = Counter(row.candidate.subset for row in verified if row.decided_by == "expert")
    return [
        SubsetRow(
            subset=subset,
            candidates=of.total(),
            statuses=dict(sorted(of.items())),
            by_expert=by_expert[subset],
        )
        for subset, of in sorted(statuses.items())
    ]


def _in_doubt(
    judged: pd.DataFrame, verified: Collection[Verified], posteriors: Mapping[str, float]
) -> pd.Series:
    """Candidate id -> probability of being invalid, of those that no expert decided and that votes leave any doubt of: first
    those nearest to one half, of equals the one with more votes."""
    left = {row.candidate.candidate_id: row.status for row in verified if row.decided_by == "votes"}
    votes = votes_on(judged, sorted(left))
    total = votes.sum(axis=1)
    invalid = (pd.Series(dict(posteriors), dtype=float) if posteriors else votes["invalid"] / total).reindex(
        votes.index
    )
    doubt = np.abs(invalid - 0.5)
    order = (
        pd.DataFrame({"doubt": doubt.round(2), "total": -total})
        .sort_values(["doubt", "total"], kind="stable")
        .index
    )
    doubted = (total > 0) & ((doubt < 0.5) | (pd.Series(left) == "doubtful"))
    return invalid[order][doubted[order]]


def _worst(judged: pd.DataFrame, verified: Collection[Verified], invalid: pd.Series) -> list[WorstItem]:
    wanted = set(invalid.index)
    candidates = {
        row.candidate.candidate_id: row.candidate for row in verified if row.candidate.candidate_id in wanted
    }
    fields = ("candidate_id", "subset", "picture_id", "text")
    votes = votes_on(judged, invalid.index.tolist()).to_dict("index")
    return [
        WorstItem(
            **{name: getattr(candidates[str(key)], name) for name in fields},
            choices={choice: votes[key][choice] for choice in CHOICES if votes[key][choice]},
            invalid=float(value),
        )
        for key, value in invalid.items()
    ]
