"""How well screen decided, against the complete truth (known for drawn worlds alone).

Not the judge says what is true, whose work is graded here, but the independent reader of the truth, `research.simulated_annotators.answerability`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from pipeline.benchmark.auditing.verifier_agreement import share
from pipeline.candidates.screening.screen_rules import HELD_ANSWERABLE
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import Folders
from pipeline.core.records import (
    Answerability,
    Candidate,
    Dropped,
    Picture,
    Record,
    Scene,
    Screened,
    Subset,
)
from pipeline.research_registry import truth_reader
from pipeline.sources import gqa_files


class Screening(Record):
    """Screen's decisions on one subset. `precision`: share of kept candidates that are truly unanswerable; `recall`:
    share of the truly unanswerable that were kept; `false_drop_rate`: share of the truly unanswerable among those
    dropped because they were held to be answerable. Shares leave out the `unclear`, of which even the truth does not
    tell; null where nothing is counted."""

    kept: int
    dropped: int
    unclear: int
    unanswerable: int
    held_answerable: int
    precision: float | None
    recall: float | None
    false_drop_rate: float | None


def known_truth(folders: Folders) -> dict[str, Scene]:
    """The complete scene graphs by picture id; {} where nobody knows them."""
    if not any(folders.truth.glob("*.json")):
        return {}
    return gqa_files.truth(folders.truth, (picture.split for picture in folders.rows(Picture)))


def screen_against_truth(folders: Folders, truth: Mapping[str, Scene]) -> dict[Subset, Screening]:
    """Screen's decisions against the complete truth; {} where nobody knows it. Candidates without a program are left
    out: no program, no truth about them."""
    if not truth:
        return {}
    what_is_so = truth_reader(folders.vocabulary())
    candidates = (
        candidate
        for stage in ("rank", "perturb")
        for candidate in read_jsonl(folders.stage(stage) / "candidates.jsonl", Candidate)
        if candidate.program
    )
    dropped = read_jsonl(folders.stage("screen") / "dropped.jsonl", Dropped)
    return screening(
        ((c, what_is_so(c.program, truth[c.picture_id])) for c in candidates),
        {row.candidate.candidate_id for row in folders.rows(Screened)},
        {row.candidate_id for row in dropped if row.reason in HELD_ANSWERABLE},
    )


def screening(
    candidates: Iterable[tuple[Candidate, Answerability]], kept: Set[str], held_answerable: Set[str]
) -> dict[Subset, Screening]:
    """Compare screen's decisions with the truth.

    Args:
        candidates: all that went into screen, each with what is true of it. kept: ids that stayed. held_answerable: ids
            dropped because the question was held to have an answer (other reasons, such as a text that gives its answer
            away, are no claim on the picture).
    """
    found: defaultdict[Subset, Counter[_Decided]] = defaultdict(Counter)
    for row, truth in candidates:
        key = row.candidate_id
        found[row.subset][_Decided(truth, key in kept, key in held_answerable)] += 1
    return {subset: _screening(found[subset]) for subset in sorted(found)}


class _Decided(NamedTuple):
    """What is true of a candidate, and what screen did with it."""

    truth: Answerability
    stayed: bool
    held: bool


def _screening(rows: Counter[_Decided]) -> Screening:
    def number(condition: Callable[[_Decided], bool]) -> int:
        return sum(times for row, times in rows.items() if condition(row))

    lacking = "unanswerable"
    return Screening(
        kept=number(lambda row: row.stayed),
        dropped=number(lambda row: not row.stayed),
        unclear=number(lambda row: row.truth == "unknown"),
        unanswerable=(unanswerable := number(lambda row: row.truth == lacking)),
        held_answerable=number(lambda row: row.held),
        precision=share(
            found := number(lambda row: row.stayed and row.truth == lacking),
            number(lambda row: row.stayed and row.truth != "unknown"),
        ),
        recall=share(found, unanswerable),
        false_drop_rate=share(
            number(lambda row: row.held and row.truth == lacking),
            number(lambda row: row.held and row.truth != "unknown"),
        ),
    )
