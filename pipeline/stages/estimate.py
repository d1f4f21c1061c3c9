"""Estimate how probably each candidate is answerable after all, and how hard it is to notice that it is
unanswerable.

Reads   ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json, vocabulary/reconstructed.jsonl,
        screen/screened.jsonl
Writes  estimates.jsonl   CandidateEstimate: one per candidate, in the order of screened.jsonl
        estimate.json     the weights and a description of the data to which they were fitted; for each subset, how many
                          candidates are expected to be answerable, and how many have each difficulty

The weights of a logistic regression are fitted to images with published scene graphs, which are held out from
the evidence (`pipeline/candidates/estimating/held_out_graphs.py`). Without graphs, the mean of each subset is a
stated base rate, and only the order of its candidates comes from the claims of their questions. Verdicts
correct all estimates of a subset during the study (`annotation/study/base_rates.py`).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np
from msgspec import UNSET
from msgspec.structs import replace

from pipeline.candidates.estimating.answerability import (
    STATED_RATES,
    LogisticWeights,
    calibrate_scores,
    compute_features,
    estimate_claims,
    extract_candidate_claims,
    fit_weights,
    predict_probability,
    score_claims,
)
from pipeline.candidates.estimating.claims import ClaimEstimator
from pipeline.candidates.estimating.difficulty import DifficultyClassifier
from pipeline.candidates.estimating.held_out_graphs import build_training_cases, sample_images
from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import format_count, run_command
from pipeline.core.json_files import write_jsonl
from pipeline.core.jsonl_index import GroupedIndex, SpillMap, UniqueIndex
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import Params, Seed, load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import CandidateEstimate, Question, SceneGraph, ScreenedCandidate, Subset
from pipeline.verifier.evidence_loading import make_evidence_loader
from pipeline.verifier.presence_model import get_known_names

# Number of candidates that a process gets at once.
CANDIDATES_PER_BATCH = 256
# Number of candidates for which starting another process saves time.
CANDIDATES_PER_PROCESS = 20_000


class EstimateParams(Params):
    """Parameters of the stage estimate.

    Attributes:
        seed: Seed for the choice of the questions on which the logistic regression of the estimate is fitted, on images with graphs.
    """

    seed: Seed = 0


def fit_on_held_out_graphs(
    folders: DatasetFolders, claim_estimator: ClaimEstimator, seed: int
) -> tuple[LogisticWeights | None, dict[str, Any]]:
    """Fit the weights to held-out graphs.

    Returns:
        The weights (None if there are no graphs to which they could be fitted, see `explain_base_rates`), and the numbers for the
        report.
    """
    scenes = UniqueIndex(folders.record_file(SceneGraph), SceneGraph, "image_id")
    # A graph that a model drafted is no ground truth.
    sampled = sample_images([key for key, scene in scenes.items() if scene.drafted_by is UNSET])
    questions = GroupedIndex(folders.record_file(Question), Question, "image_id") if sampled else {}
    held_out = build_training_cases(
        {key: scenes[key] for key in sampled},
        {key: questions[key] for key in sampled if key in questions},
        folders.read_vocabulary(),
        claim_estimator,
        seed,
    )
    labels = [case.is_answerable for case in held_out.cases]
    calibrated = 0 < sum(labels) < len(labels)
    weights = fit_weights([case.features for case in held_out.cases], labels) if calibrated else None
    return weights, {
        "calibrated": calibrated,
        "images": len(sampled),
        "questions": len(labels),
        "answerable": sum(labels),
        "own_questions": held_out.num_own,
        "own_questions_answerable": held_out.num_own_answerable,
        "weights": weights,
    }


class Estimator:
    """Estimates the answerability and the difficulty of candidates.

    Only the evidence of one image at a time is in memory.

    Args:
        folders: The data set.
        weights: The fitted weights. If None, `p_answerable` is a score instead of a probability
            (`score_claims`), for `calibrate_estimates`.
    """

    def __init__(self, folders: DatasetFolders, weights: LogisticWeights | None) -> None:
        vocabulary = folders.read_vocabulary()
        self._claim_estimator, self._weights = ClaimEstimator(vocabulary), weights
        self._difficulty = DifficultyClassifier(vocabulary, self._claim_estimator)
        self._get_evidence = make_evidence_loader(folders, vocabulary)

    def estimate_batch(self, rows: Sequence[ScreenedCandidate]) -> list[tuple[Subset, CandidateEstimate]]:
        """Return the subset and the estimate of each candidate."""
        estimates = []
        for image, same in groupby(rows, lambda row: row.candidate.image_id):
            evidence = self._get_evidence(image)
            for row in same:
                candidate, refuted = row.candidate, row.verifier_result.answerability == "unanswerable"
                found = estimate_claims(extract_candidate_claims(candidate), evidence, self._claim_estimator)
                if self._weights:
                    probability = predict_probability(
                        compute_features(found, refuted, bool(candidate.edits)), self._weights
                    )
                else:
                    probability = score_claims(found, refuted)
                difficulty = self._difficulty(candidate, found, get_known_names(evidence))
                key = candidate.candidate_id
                estimate = CandidateEstimate(
                    candidate_id=key, p_answerable=probability, difficulty=difficulty
                )
                estimates.append((candidate.subset, estimate))
        return estimates


def estimate_all(
    folders: DatasetFolders, weights: LogisticWeights | None
) -> Iterator[tuple[Subset, CandidateEstimate]]:
    """Yield the subset and the estimate of each candidate, in the order of screened.jsonl."""
    with open_for_reading(folders.record_file(ScreenedCandidate)) as file:
        candidates = sum(1 for _ in file)
    rows = folders.read_records(ScreenedCandidate)
    batches = iter(lambda: list(islice(rows, CANDIDATES_PER_BATCH)), [])
    set_up, num_workers = (
        partial(Estimator, folders, weights),
        choose_num_workers(candidates, CANDIDATES_PER_PROCESS),
    )
    results = ordered_map(Estimator.estimate_batch, batches, set_up, num_workers, 1)
    for estimates in track(
        results, "estimate", -(-candidates // CANDIDATES_PER_BATCH), f"{CANDIDATES_PER_BATCH} candidates"
    ):
        yield from estimates


def calibrate_estimates(
    folders: DatasetFolders, scored: Iterable[tuple[Subset, CandidateEstimate]]
) -> Iterator[tuple[Subset, CandidateEstimate]]:
    """Yield estimates with probabilities in place of scores, so that the mean of each subset is its stated base rate."""
    scores: defaultdict[Subset, array[float]] = defaultdict(partial(array, "d"))
    subsets: list[Subset] = []

    def note_scores() -> Iterator[tuple[str, CandidateEstimate]]:
        for subset, row in scored:
            subsets.append(subset)
            scores[subset].append(row.p_answerable)
            # A score can be NaN, which JSON does not know.
            yield row.candidate_id, replace(row, p_answerable=0.0)

    rows: Collection[CandidateEstimate] = SpillMap(
        folders.stage_dir("estimate"), CandidateEstimate, note_scores()
    ).values()
    probabilities = {
        subset: iter(calibrate_scores(np.array(given), STATED_RATES[subset]).round(4).tolist())
        for subset, given in scores.items()
    }
    for subset, row in zip(subsets, rows, strict=True):
        yield subset, replace(row, p_answerable=min(max(next(probabilities[subset]), 0.0001), 0.9999))


class EstimateCounter:
    """Counts estimates while they are written: how many have each difficulty, and how many are expected to be
    answerable.
    """

    def __init__(self) -> None:
        self._difficulty: defaultdict[Subset, Counter[str]] = defaultdict(Counter)
        self.expected_answerable: defaultdict[Subset, float] = defaultdict(float)

    def count(self, rows: Iterable[tuple[Subset, CandidateEstimate]]) -> Iterator[CandidateEstimate]:
        for subset, row in rows:
            self._difficulty[subset][row.difficulty] += 1
            self.expected_answerable[subset] += row.p_answerable
            yield row

    def report(self) -> dict[Subset, dict[str, Any]]:
        """Return the counts of each subset."""
        return {
            subset: {
                "candidates": found.total(),
                "expected_answerable": round(self.expected_answerable[subset], 1),
                "difficulty": dict(sorted(found.items())),
            }
            for subset, found in self._difficulty.items()
        }


def explain_base_rates(num_graphs: int, num_sampled: int) -> str:
    """Return why the estimate is not fitted to graphs.

    Args:
        num_graphs: Number of scene graphs of the data set.
        num_sampled: Number of graphs on which the estimate was to be fitted. Drafted graphs are none of them.
    """
    if not num_graphs:
        return "there are no graphs"
    if not num_sampled:
        return f"a model drafted {'the only graph' if num_graphs == 1 else f'all {num_graphs:,} graphs'}"
    return "the questions about images with graphs are too few"


def main() -> None:
    folders, p = DatasetFolders(), load_params("estimate", EstimateParams)
    weights, fitted = fit_on_held_out_graphs(folders, ClaimEstimator(folders.read_vocabulary()), p.seed)
    counter = EstimateCounter()
    estimates = estimate_all(folders, weights)
    if weights is None:
        estimates = calibrate_estimates(folders, estimates)
    write_jsonl(folders.record_file(CandidateEstimate), counter.count(estimates))
    subsets = counter.report()
    candidates = sum(figures["candidates"] for figures in subsets.values())
    what = f"{sum(counter.expected_answerable.values()):,.0f} of {format_count(candidates, 'candidate')} are expected to be answerable"
    if not fitted["calibrated"]:
        num_graphs = sum(1 for _ in folders.read_records(SceneGraph))
        reason = explain_base_rates(num_graphs, fitted["images"])
        what += f" (by stated base rates, because {reason}; verdicts will correct them)"
    folders.write_stage_outputs("estimate", what, {"estimate.json": {"fitted": fitted, "subsets": subsets}})


if __name__ == "__main__":
    run_command(main)
