"""Estimate how probably each candidate has an answer at its image after all, and how hard it is to see that it has none.

Reads   ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json, vocabulary/reconstructed.jsonl,
        screen/screened.jsonl
Writes  estimates.jsonl   Estimate: one of each candidate, in the order of screened.jsonl
        estimate.json     the weights and what they were fitted on; per subset how many questions are expected to have an
                          answer, and how many are of each difficulty

The weights are fitted on images with published graphs, which are hidden and then shown (`pipeline/candidates/estimating/held_out_graphs.py`).
Where there is none, base rates must do: that all that a question takes for granted is there. That is not calibrated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any

from pipeline.candidates.estimating.answerability import (
    LogisticWeights,
    compute_features,
    estimate_by_base_rates,
    estimate_claims,
    extract_candidate_claims,
    fit_weights,
    predict_probability,
)
from pipeline.candidates.estimating.claims import ClaimEstimator
from pipeline.candidates.estimating.difficulty import DifficultyClassifier
from pipeline.candidates.estimating.held_out_graphs import build_training_cases, sample_images
from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import format_count, run_command
from pipeline.core.json_files import write_jsonl
from pipeline.core.jsonl_index import GroupedIndex, UniqueIndex
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import Params, Seed, load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import CandidateEstimate, Question, SceneGraph, ScreenedCandidate, Subset
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.presence_model import get_known_names

CANDIDATES_PER_BATCH = 256  # candidates that a process is given at once
CANDIDATES_PER_PROCESS = 20_000  # candidates for which another process is worth its start


class EstimateParams(Params):
    """Parameters of stage `estimate`.

    Attributes:
        seed: Seed of the questions that are tried at images with scene graphs to calibrate the
            estimates.
    """

    seed: Seed = 0


def fit_on_hidden_graphs(
    folders: DatasetFolders, claim_estimator: ClaimEstimator, seed: int
) -> tuple[LogisticWeights | None, dict[str, Any]]:
    """The weights, None where there are no graphs to fit them on, and what is told of how they came about."""
    scenes = UniqueIndex(folders.record_file(SceneGraph), SceneGraph, "image_id")
    drawn = sample_images(list(scenes))
    asked = GroupedIndex(folders.record_file(Question), Question, "image_id") if drawn else {}
    hidden = build_training_cases(
        {key: scenes[key] for key in drawn},
        {key: asked[key] for key in drawn if key in asked},
        folders.read_vocabulary(),
        claim_estimator,
        seed,
    )
    labels = [case.is_answerable for case in hidden.cases]
    calibrated = 0 < sum(labels) < len(labels)
    weights = fit_weights([case.features for case in hidden.cases], labels) if calibrated else None
    return weights, {
        "calibrated": calibrated,
        "images": len(drawn),
        "questions": len(labels),
        "answerable": sum(labels),
        "own_questions": hidden.num_own,
        "own_questions_answerable": hidden.num_own_answerable,
        "weights": weights,
    }


class Estimator:
    """What candidates are estimated with; of the rows in files those of one image at a time are in memory."""

    def __init__(self, folders: DatasetFolders, weights: LogisticWeights | None) -> None:
        vocabulary = folders.read_vocabulary()
        self._claim_estimator, self._weights = ClaimEstimator(vocabulary), weights
        self._difficulty = DifficultyClassifier(vocabulary, self._claim_estimator)
        self._facts_of = make_evidence_loader(folders, vocabulary)

    def estimate_batch(self, rows: Sequence[ScreenedCandidate]) -> list[tuple[Subset, CandidateEstimate]]:
        """The estimates of candidates, with their subsets."""
        made = []
        for image, same in groupby(rows, lambda row: row.candidate.image_id):
            facts = self._facts_of(image)
            for row in same:
                candidate, refuted = row.candidate, row.verifier_result.answerability == "unanswerable"
                found = estimate_claims(extract_candidate_claims(candidate), facts, self._claim_estimator)
                if self._weights:
                    sure = predict_probability(
                        compute_features(found, refuted, bool(candidate.edits)), self._weights
                    )
                else:
                    sure = estimate_by_base_rates(found, refuted)
                difficulty = self._difficulty(candidate, found, get_known_names(facts))
                key = candidate.candidate_id
                estimate = CandidateEstimate(candidate_id=key, p_answerable=sure, difficulty=difficulty)
                made.append((candidate.subset, estimate))
        return made


def estimate_all(
    folders: DatasetFolders, weights: LogisticWeights | None
) -> Iterator[tuple[Subset, CandidateEstimate]]:
    """The estimates of all candidates, with their subsets, in the order of screened.jsonl."""
    with open_for_reading(folders.record_file(ScreenedCandidate)) as file:
        candidates = sum(1 for _ in file)
    rows = folders.read_records(ScreenedCandidate)
    parts = iter(lambda: list(islice(rows, CANDIDATES_PER_BATCH)), [])
    set_up, side_by_side = (
        partial(Estimator, folders, weights),
        choose_num_workers(candidates, CANDIDATES_PER_PROCESS),
    )
    done = ordered_map(Estimator.estimate_batch, parts, set_up, side_by_side, 1)
    for part in track(
        done, "estimate", -(-candidates // CANDIDATES_PER_BATCH), f"{CANDIDATES_PER_BATCH} candidates"
    ):
        yield from part


class EstimateCounter:
    """Counts estimates as they pass: how many there are, how many are expected to have an answer, of which difficulty."""

    def __init__(self) -> None:
        self._difficulty: defaultdict[Subset, Counter[str]] = defaultdict(Counter)
        self.expected_answerable: defaultdict[Subset, float] = defaultdict(float)

    def count(self, rows: Iterable[tuple[Subset, CandidateEstimate]]) -> Iterator[CandidateEstimate]:
        for subset, row in rows:
            self._difficulty[subset][row.difficulty] += 1
            self.expected_answerable[subset] += row.p_answerable
            yield row

    def report(self) -> dict[Subset, dict[str, Any]]:
        """Per subset."""
        return {
            subset: {
                "candidates": found.total(),
                "expected_answerable": round(self.expected_answerable[subset], 1),
                "difficulty": dict(sorted(found.items())),
            }
            for subset, found in self._difficulty.items()
        }


def main() -> None:
    folders, p = DatasetFolders(), load_params("estimate", EstimateParams)
    weights, fitted = fit_on_hidden_graphs(folders, ClaimEstimator(folders.read_vocabulary()), p.seed)
    expected = EstimateCounter()
    write_jsonl(folders.record_file(CandidateEstimate), expected.count(estimate_all(folders, weights)))
    subsets = expected.report()
    candidates = sum(figures["candidates"] for figures in subsets.values())
    what = f"{sum(expected.expected_answerable.values()):,.0f} of {format_count(candidates, 'candidate')} are expected to have an answer"
    what += "" if fitted["calibrated"] else " (not calibrated here: no graphs)"
    folders.write_stage_outputs("estimate", what, {"estimate.json": {"fitted": fitted, "subsets": subsets}})


if __name__ == "__main__":
    run_command(main)
