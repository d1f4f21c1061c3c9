"""How well screen decided, against the complete truth (known for drawn worlds alone).

Not the judge says what is true, whose work is graded here, but the independent reader of the truth, `research.simulated_annotators.answerability`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from typing import NamedTuple

from pipeline.benchmark.auditing.verifier_agreement import compute_proportion
from pipeline.candidates.screening.screen_rules import ANSWERABLE_REASONS
from pipeline.core.json_files import read_jsonl
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    Answerability,
    Candidate,
    DroppedCandidate,
    ImageRecord,
    Record,
    SceneGraph,
    ScreenedCandidate,
    Subset,
)
from pipeline.research_registry import truth_reader
from pipeline.sources import gqa_files


class ScreeningAccuracy(Record):
    """Screen's decisions on one subset. `precision`: share of kept candidates that are truly unanswerable; `recall`:
    share of the truly unanswerable that were kept; `false_drop_rate`: share of the truly unanswerable among those
    dropped because they were held to be answerable. Shares leave out the `unclear`, of which even the truth does not
    tell; null where nothing is counted."""

    kept: int
    dropped: int
    undecidable: int
    unanswerable: int
    dropped_as_answerable: int
    precision: float | None
    recall: float | None
    false_drop_rate: float | None


def read_truth(folders: DatasetFolders) -> dict[str, SceneGraph]:
    """The complete scene graphs by image id; {} where nobody knows them."""
    if not any(folders.truth.glob("*.json")):
        return {}
    return gqa_files.read_true_scene_graphs(
        folders.truth, (image.split for image in folders.read_records(ImageRecord))
    )


def measure_screening(
    folders: DatasetFolders, truth: Mapping[str, SceneGraph]
) -> dict[Subset, ScreeningAccuracy]:
    """Screen's decisions against the complete truth; {} where nobody knows it. Candidates without a program are left
    out: no program, no truth about them."""
    if not truth:
        return {}
    what_is_so = truth_reader(folders.read_vocabulary())
    candidates = (
        candidate
        for stage in ("rank", "perturb")
        for candidate in read_jsonl(folders.stage_dir(stage) / "candidates.jsonl", Candidate)
        if candidate.program
    )
    dropped = read_jsonl(folders.stage_dir("screen") / "dropped.jsonl", DroppedCandidate)
    return compare_with_truth(
        ((c, what_is_so(c.program, truth[c.image_id])) for c in candidates),
        {row.candidate.candidate_id for row in folders.read_records(ScreenedCandidate)},
        {row.candidate_id for row in dropped if row.reason in ANSWERABLE_REASONS},
    )


def compare_with_truth(
    candidates: Iterable[tuple[Candidate, Answerability]], kept: Set[str], dropped_as_answerable: Set[str]
) -> dict[Subset, ScreeningAccuracy]:
    """Compare screen's decisions with the truth.

    Args:
        candidates: all that went into screen, each with what is true of it. kept: ids that stayed. held_answerable: ids
            dropped because the question was held to have an answer (other reasons, such as a text that gives its answer
            away, are no claim on the image).
    """
    found: defaultdict[Subset, Counter[_Decision]] = defaultdict(Counter)
    for row, truth in candidates:
        key = row.candidate_id
        found[row.subset][_Decision(truth, key in kept, key in dropped_as_answerable)] += 1
    return {subset: _summarize_decisions(found[subset]) for subset in sorted(found)}


class _Decision(NamedTuple):
    """What is true of a candidate, and what screen did with it."""

    truth: Answerability
    is_kept: bool
    is_dropped_as_answerable: bool


def _summarize_decisions(rows: Counter[_Decision]) -> ScreeningAccuracy:
    def number(condition: Callable[[_Decision], bool]) -> int:
        return sum(times for row, times in rows.items() if condition(row))

    lacking = "unanswerable"
    return ScreeningAccuracy(
        kept=number(lambda row: row.is_kept),
        dropped=number(lambda row: not row.is_kept),
        undecidable=number(lambda row: row.truth == "unknown"),
        unanswerable=(unanswerable := number(lambda row: row.truth == lacking)),
        dropped_as_answerable=number(lambda row: row.is_dropped_as_answerable),
        precision=compute_proportion(
            found := number(lambda row: row.is_kept and row.truth == lacking),
            number(lambda row: row.is_kept and row.truth != "unknown"),
        ),
        recall=compute_proportion(found, unanswerable),
        false_drop_rate=compute_proportion(
            number(lambda row: row.is_dropped_as_answerable and row.truth == lacking),
            number(lambda row: row.is_dropped_as_answerable and row.truth != "unknown"),
        ),
    )
