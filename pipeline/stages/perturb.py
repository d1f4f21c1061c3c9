"""Edit questions so that what they take for granted is no longer true of their own picture.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, tag/tags.jsonl
Writes  candidates.jsonl     Candidate. PT-Easy: other things; PT-Hard: other attributes of the same thing, opposites
        unperturbed.jsonl    Dropped: questions that have no such edit, with the reason, per subset
        perturb.json         counts: questions == candidates + unperturbed, in each subset
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from pipeline.candidates.perturbing.perturb_image import SUBSETS, PerturbInputs, perturb_picture, surveyed
from pipeline.candidates.perturbing.raking import Kind
from pipeline.candidates.perturbing.replacements import PerturbParams, Replacements
from pipeline.core.errors import run
from pipeline.core.jsonl_index import Groups, Singles
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.per_image import Counts, Key, counted, pictures_in_order, write_by_picture
from pipeline.core.records import Candidate, Dropped, Question, Subset, Tagged
from pipeline.verifier.evidence_loading import evidence_files

Told = tuple[Mapping[Kind, np.ndarray], Mapping[Subset, float]]


@lru_cache(maxsize=1)
def read_inputs(folders: Folders, params: PerturbParams) -> PerturbInputs:
    """What pictures are perturbed with; of the rows in files those of one picture at a time are in memory. A process that
    surveys pictures and perturbs them, too, does so with the same inputs, and what they have worked out."""
    vocabulary = folders.vocabulary()
    return PerturbInputs(
        Groups(folders.file(Question), Question, "picture_id"),
        evidence_files(folders, vocabulary),
        Singles(folders.file(Tagged), Tagged, "text"),
        Replacements(vocabulary, params),
    )


def survey(inputs: PerturbInputs, pictures: Sequence[str]) -> Told:
    """What a sample of the pictures tells: factors that even out the words, the share of weak candidates that is made."""
    told = surveyed(inputs, pictures)
    return told.replacements.factors, told.weak_kept


def surveyed_inputs(
    folders: Folders,
    params: PerturbParams,
    factors: Mapping[Kind, np.ndarray],
    weak_kept: Mapping[Subset, float],
) -> PerturbInputs:
    """The same inputs with what the survey found."""
    inputs = replace(read_inputs(folders, params), weak_kept=weak_kept)
    inputs.replacements.factors = factors
    return inputs


def keys(row: Candidate | Dropped) -> list[Key]:
    """What is counted: candidates, weak ones, the kinds of their edits, the reasons why a question has none."""
    if isinstance(row, Dropped):
        return [(row.subset, "unperturbed", row.reason)]
    weak: list[Key] = [(row.subset, "weak", "")] if row.weak else []
    return [(row.subset, "candidates", ""), *weak, *((row.subset, "edits", edit.kind) for edit in row.edits)]


def report(counts: Counts) -> dict[str, dict[str, object]]:
    """Counts per subset and reason, and edits per kind. Each question has a candidate or a reason why not."""
    subsets = {}
    for subset in SUBSETS:
        named = counted(counts, subset, "edits", "unperturbed")
        candidates = counts[subset, "candidates", ""]
        questions = candidates + sum(named["unperturbed"].values())
        weak = counts[subset, "weak", ""]
        subsets[subset] = {"questions": questions, "candidates": candidates, "weak": weak, **named}
    return subsets


def main() -> None:
    folders, params = Folders(), load("perturb", PerturbParams)
    files = {"candidates.jsonl": Candidate, "unperturbed.jsonl": Dropped}
    pictures = pictures_in_order(folders)
    set_up, side_by_side = partial(read_inputs, folders, params), processes(len(pictures))
    # Where there are several processes, one more surveys and then ends: what it read is as much as they hold.
    [told] = ordered_map(survey, [pictures], set_up, side_by_side, 1)
    inputs = partial(surveyed_inputs, folders, params, *told)
    counts = write_by_picture(folders.stage("perturb"), pictures, files, inputs, perturb_picture, keys)
    subsets = report(counts)
    candidates = sum(counts[subset, "candidates", ""] for subset in SUBSETS)
    what = f"{candidates:,} candidates from {subsets[SUBSETS[0]]['questions']:,} questions"
    folders.finish("perturb", what, {"perturb.json": subsets})


if __name__ == "__main__":
    run(main)
