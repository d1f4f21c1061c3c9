"""Edit questions so that what they take for granted is no longer true of their own picture.

Reads   ingest/pictures.jsonl, ingest/questions.jsonl, ingest/scenes.jsonl, vocabulary/vocabulary.json,
        vocabulary/reconstructed.jsonl, tag/tags.jsonl
Writes  candidates.jsonl     Candidate. PT-Easy: other things; PT-Hard: other attributes of the same thing, opposites
        unperturbed.jsonl    Dropped: questions that have no such edit, with the reason, per subset
        perturb.json         counts: questions == candidates + unperturbed, in each subset
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from pipeline.core.by_picture import Counts, Key, counted, pictures_in_order, write_by_picture
from pipeline.core.errors import run
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.records import Candidate, Dropped, Question, Tagged
from pipeline.core.rows import Groups, Singles
from pipeline.judge.judgement import evidence_files
from pipeline.perturbing.perturb_picture import SUBSETS, PerturbInputs, perturb_picture, word_factors
from pipeline.perturbing.raking import Kind
from pipeline.perturbing.replacements import PerturbParams, Replacements


def read_inputs(
    folders: Folders, params: PerturbParams, factors: Mapping[Kind, np.ndarray] | None = None
) -> PerturbInputs:
    """What pictures are perturbed with; of the rows in files those of one picture at a time are in memory."""
    vocabulary = folders.vocabulary()
    return PerturbInputs(
        Groups(folders.file(Question), Question, "picture_id"),
        evidence_files(folders, vocabulary),
        Singles(folders.file(Tagged), Tagged, "text"),
        Replacements(vocabulary, params, factors),
    )


def keys(row: Candidate | Dropped) -> list[Key]:
    """What is counted: candidates, the kinds of their edits, the reasons why a question has none."""
    if isinstance(row, Dropped):
        return [(row.subset, "unperturbed", row.reason)]
    return [(row.subset, "candidates", ""), *((row.subset, "edits", edit.kind) for edit in row.edits)]


def report(counts: Counts) -> dict[str, dict[str, object]]:
    """Counts per subset and reason, and edits per kind. Each question has a candidate or a reason why not."""
    subsets = {}
    for subset in SUBSETS:
        named, candidates = counted(counts, subset, "edits", "unperturbed"), counts[subset, "candidates", ""]
        questions = candidates + sum(named["unperturbed"].values())
        subsets[subset] = {"questions": questions, "candidates": candidates, **named}
    return subsets


def main() -> None:
    folders, params = Folders(), load("perturb", PerturbParams)
    files = {"candidates.jsonl": Candidate, "unperturbed.jsonl": Dropped}
    pictures = pictures_in_order(folders)
    factors = word_factors(read_inputs(folders, params), pictures)
    inputs = partial(read_inputs, folders, params, factors)
    counts = write_by_picture(folders.stage("perturb"), pictures, files, inputs, perturb_picture, keys)
    subsets = report(counts)
    candidates = sum(counts[subset, "candidates", ""] for subset in SUBSETS)
    what = f"{candidates:,} candidates from {subsets[SUBSETS[0]]['questions']:,} questions"
    folders.finish("perturb", what, {"perturb.json": subsets})


if __name__ == "__main__":
    run(main)
