"""Compare the decisions of stage `screen` with the complete ground truth, which is known for synthetic worlds only.

The truth is read by `research.simulated_annotators.answerability`, which is independent of the verifier that
is evaluated here.
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
from pipeline.research_registry import make_truth_reader
from pipeline.sources import gqa_files


class ScreeningAccuracy(Record):
    """Decisions of stage `screen` on one subset.

    Proportions exclude undecidable candidates. A proportion is None if its denominator is 0.

    Attributes:
        kept, dropped: Number of candidates that were kept, and that were dropped.
        undecidable: Number of candidates whose answerability does not follow even from the complete ground truth.
        unanswerable: Number of candidates that are truly unanswerable.
        dropped_as_answerable: Number of candidates that were dropped because they were considered answerable.
        precision: Proportion of the kept candidates that are truly unanswerable.
        recall: Proportion of the truly unanswerable candidates that were kept.
        false_drop_rate: Proportion of the candidates dropped as answerable that are truly unanswerable.
    """

    kept: int
    dropped: int
    undecidable: int
    unanswerable: int
    dropped_as_answerable: int
    precision: float | None
    recall: float | None
    false_drop_rate: float | None


def read_truth(folders: DatasetFolders) -> dict[str, SceneGraph]:
    """Return image id -> complete scene graph. The result is {} if the complete ground truth is not known."""
    if not any(folders.truth.glob("*.json")):
        return {}
    return gqa_files.read_true_scene_graphs(
        folders.truth, (image.split for image in folders.read_records(ImageRecord))
    )


def measure_screening(
    folders: DatasetFolders, truth: Mapping[str, SceneGraph]
) -> dict[Subset, ScreeningAccuracy]:
    """Compare the decisions of stage `screen` with the complete ground truth.

    The result is {} if the complete ground truth is not known.
    Candidates without a program are excluded, because their truth cannot be computed.
    """
    if not truth:
        return {}
    true_answerability = make_truth_reader(folders.read_vocabulary())
    candidates = (
        candidate
        for stage in ("rank", "perturb")
        for candidate in read_jsonl(folders.stage_dir(stage) / "candidates.jsonl", Candidate)
        if candidate.program
    )
    dropped = read_jsonl(folders.stage_dir("screen") / "dropped.jsonl", DroppedCandidate)
    return compare_with_truth(
        ((c, true_answerability(c.program, truth[c.image_id])) for c in candidates),
        {row.candidate.candidate_id for row in folders.read_records(ScreenedCandidate)},
        {row.candidate_id for row in dropped if row.reason in ANSWERABLE_REASONS},
    )


def compare_with_truth(
    candidates: Iterable[tuple[Candidate, Answerability]], kept: Set[str], dropped_as_answerable: Set[str]
) -> dict[Subset, ScreeningAccuracy]:
    """Compare decisions with the truth, by subset.

    Args:
        candidates: All candidates that entered stage `screen`, each with its true answerability.
        kept: Ids of the candidates that were kept.
        dropped_as_answerable: Ids of the candidates that were dropped because they were considered
            answerable. Other reasons to drop a candidate, such as a text that reveals its answer, make no
            claim about the image.
    """
    decisions: defaultdict[Subset, Counter[_Decision]] = defaultdict(Counter)
    for row, truth in candidates:
        key = row.candidate_id
        decisions[row.subset][_Decision(truth, key in kept, key in dropped_as_answerable)] += 1
    return {subset: _summarize_decisions(decisions[subset]) for subset in sorted(decisions)}


class _Decision(NamedTuple):
    """The truth about a candidate, and the decision of stage `screen`."""

    truth: Answerability
    is_kept: bool
    is_dropped_as_answerable: bool


def _summarize_decisions(rows: Counter[_Decision]) -> ScreeningAccuracy:
    def number(condition: Callable[[_Decision], bool]) -> int:
        return sum(count for row, count in rows.items() if condition(row))

    return ScreeningAccuracy(
        kept=number(lambda row: row.is_kept),
        dropped=number(lambda row: not row.is_kept),
        undecidable=number(lambda row: row.truth == "unknown"),
        unanswerable=(unanswerable := number(lambda row: row.truth == "unanswerable")),
        dropped_as_answerable=number(lambda row: row.is_dropped_as_answerable),
        precision=compute_proportion(
            found := number(lambda row: row.is_kept and row.truth == "unanswerable"),
            number(lambda row: row.is_kept and row.truth != "unknown"),
        ),
        recall=compute_proportion(found, unanswerable),
        false_drop_rate=compute_proportion(
            number(lambda row: row.is_dropped_as_answerable and row.truth == "unanswerable"),
            number(lambda row: row.is_dropped_as_answerable and row.truth != "unknown"),
        ),
    )
