"""Edit questions so that something that they presuppose is no longer true of their own image (PT subsets).

Reads   ingest/images.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, tag/tags.jsonl; ingest/ingest.json for the subsets that are made
Writes  candidates.jsonl     Candidate. In pt-easy, an object is replaced by another object. In pt-hard, an attribute or
                             a relation is replaced: another attribute of the same object, or the opposite
                             relation.
        unedited.jsonl       DroppedCandidate: questions for which no such edit was found, with the reason, per subset
        perturb.json         counts; in each subset, questions == candidates + unedited
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
    """Read the inputs of stage `perturb`. Only the records of one image at a time are in memory.

    The result is cached, so that a process that first calibrates and then edits questions uses the same
    inputs.
    """
    vocabulary = folders.read_vocabulary()
    return PerturbInputs(
        GroupedIndex(folders.record_file(Question), Question, "image_id"),
        make_evidence_loader(folders, vocabulary),
        UniqueIndex(folders.record_file(TaggedText), TaggedText, "text"),
        ReplacementSampler(vocabulary, params),
    )


def survey_images(inputs: PerturbInputs, images: Sequence[str]) -> SurveyResult:
    """Calibrate the edits on a sample of the images.

    Returns:
        Factors that balance how often words are inserted and removed, and for each subset the proportion of
        query-only candidates to make.
    """
    calibrated = calibrate_inputs(inputs, images)
    return calibrated.replacements.word_factors, calibrated.query_only_rates


def apply_survey(
    folders: DatasetFolders,
    params: PerturbParams,
    factors: Mapping[WordContext, np.ndarray],
    query_only_rates: Mapping[Subset, float],
) -> PerturbInputs:
    """Return the inputs of stage `perturb` with the results of the calibration (`survey_images`)."""
    inputs = replace(read_inputs(folders, params), query_only_rates=query_only_rates)
    inputs.replacements.word_factors = factors
    return inputs


def perturb_requested(
    subsets: Collection[Subset], inputs: PerturbInputs, image_id: str
) -> list[Candidate | DroppedCandidate]:
    """Perturb the questions of an image for some subsets. The rows are the same as if all subsets were made."""
    return [row for row in perturb_image(inputs, image_id) if row.subset in subsets]


def count_keys(row: Candidate | DroppedCandidate) -> list[CountKey]:
    """Return the keys under which a record is counted.

    A candidate counts as a candidate, perhaps as query-only, and under the kind of each edit. A question
    without a candidate counts under the reason.
    """
    if isinstance(row, DroppedCandidate):
        return [(row.subset, "unedited", row.reason)]
    query_only: list[CountKey] = [(row.subset, "query_only", "")] if row.query_only else []
    return [
        (row.subset, "candidates", ""),
        *query_only,
        *((row.subset, "edits", edit.kind) for edit in row.edits),
    ]


def make_report(counts: Counts, requested: Sequence[Subset] = SUBSETS) -> dict[str, dict[str, object]]:
    """Return the counts of each requested subset.

    Each question has a candidate, or a reason why there is no candidate.
    """
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
    # With several processes, calibration runs in a separate process that then ends. The data that it has read
    # would otherwise take as much memory as all the other processes.
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
