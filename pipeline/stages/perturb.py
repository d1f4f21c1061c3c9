"""Edit questions so that something they presuppose is no longer true of their own image.

Reads   ingest/images.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, tag/tags.jsonl; ingest/ingest.json for the subsets that are made
Writes  candidates.jsonl     Candidate. PT-Easy: other objects; PT-Hard: other attributes of the same object, opposite relations
        unedited.jsonl       DroppedCandidate: questions without such an edit, with the reason, per subset
        perturb.json         counts: questions == candidates + unedited, in each subset
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from pipeline.candidates.perturbing.perturb_image import (
    SUBSETS,
    PerturbInputs,
    calibrate_inputs,
    perturb_image,
)
from pipeline.candidates.perturbing.raking import WordContext
from pipeline.candidates.perturbing.replacements import PerturbParams, ReplacementSampler
from pipeline.core.errors import run_command
from pipeline.core.jsonl_index import GroupedIndex, UniqueIndex
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.per_image import CountKey, Counts, list_image_ids, select_counts, write_per_image
from pipeline.core.records import Candidate, DroppedCandidate, Question, Subset, TaggedText
from pipeline.verifier.evidence_loading import make_evidence_loader

SurveyResult = tuple[Mapping[WordContext, np.ndarray], Mapping[Subset, float]]


@lru_cache(maxsize=1)
def read_inputs(folders: DatasetFolders, params: PerturbParams) -> PerturbInputs:
    """Read the inputs of perturbing. Only the rows of one image at a time are in memory.

    A process that calibrates and then perturbs uses the same inputs and their cached results.
    """
    vocabulary = folders.read_vocabulary()
    return PerturbInputs(
        GroupedIndex(folders.record_file(Question), Question, "image_id"),
        make_evidence_loader(folders, vocabulary),
        UniqueIndex(folders.record_file(TaggedText), TaggedText, "text"),
        ReplacementSampler(vocabulary, params),
    )


def survey_images(inputs: PerturbInputs, images: Sequence[str]) -> SurveyResult:
    """Calibrate on a sample of the images: factors that balance the words, and the proportion of query-only candidates to make."""
    calibrated = calibrate_inputs(inputs, images)
    return calibrated.replacements.word_factors, calibrated.query_only_rates


def apply_survey(
    folders: DatasetFolders,
    params: PerturbParams,
    factors: Mapping[WordContext, np.ndarray],
    query_only_rates: Mapping[Subset, float],
) -> PerturbInputs:
    """Return the inputs with the results of the calibration."""
    inputs = replace(read_inputs(folders, params), query_only_rates=query_only_rates)
    inputs.replacements.word_factors = factors
    return inputs


def perturb_requested(
    subsets: Collection[Subset], inputs: PerturbInputs, image_id: str
) -> list[Candidate | DroppedCandidate]:
    """Perturb the questions of an image for some subsets. The rows are the same as if all subsets were made."""
    return [row for row in perturb_image(inputs, image_id) if row.subset in subsets]


def count_keys(row: Candidate | DroppedCandidate) -> list[CountKey]:
    """Return what is counted of a row: candidates, query-only ones, kinds of edits, and reasons why a question has none."""
    if isinstance(row, DroppedCandidate):
        return [(row.subset, "unedited", row.reason)]
    query_only: list[CountKey] = [(row.subset, "query_only", "")] if row.query_only else []
    return [
        (row.subset, "candidates", ""),
        *query_only,
        *((row.subset, "edits", edit.kind) for edit in row.edits),
    ]


def make_report(counts: Counts, requested: Sequence[Subset] = SUBSETS) -> dict[str, dict[str, object]]:
    """Return counts per subset and reason, and edits per kind. Each question has a candidate or a reason why not."""
    subsets = {}
    for subset in requested:
        named = select_counts(counts, subset, "edits", "unedited")
        candidates = counts[subset, "candidates", ""]
        questions = candidates + sum(named["unedited"].values())
        query_only = counts[subset, "query_only", ""]
        subsets[subset] = {
            "questions": questions,
            "candidates": candidates,
            "query_only": query_only,
            **named,
        }
    return subsets


def main() -> None:
    folders, params = DatasetFolders(), load_params("perturb", PerturbParams)
    files = {"candidates.jsonl": Candidate, "unedited.jsonl": DroppedCandidate}
    requested: list[Subset] = [subset for subset in folders.read_subsets() if subset in SUBSETS]
    # Without a subset of edited questions, the files are empty.
    images = list_image_ids(folders) if requested else []
    set_up, num_workers = partial(read_inputs, folders, params), choose_num_workers(len(images))
    # With several processes, a separate one calibrates and then ends, because what it has read takes as much memory as they use.
    surveys: Iterable[SurveyResult] = (
        ordered_map(survey_images, [images], set_up, num_workers, 1) if requested else [({}, {})]
    )
    [survey] = surveys
    inputs = partial(apply_survey, folders, params, *survey)
    perturb = partial(perturb_requested, requested)
    counts = write_per_image(folders.stage_dir("perturb"), images, files, inputs, perturb, count_keys)
    subsets = make_report(counts, requested)
    candidates = sum(counts[subset, "candidates", ""] for subset in requested)
    what = (
        f"{candidates:,} candidates from {subsets[requested[0]]['questions']:,} questions"
        if requested
        else "nothing edited, because no PT subset is made"
    )
    folders.write_stage_outputs("perturb", what, {"perturb.json": subsets})


if __name__ == "__main__":
    run_command(main)
