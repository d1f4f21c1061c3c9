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
from pipeline.core.files import read_json, write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Candidate, Dropped, Question, Scene, Tagged, Vocabulary
from pipeline.core.rows import Groups, Singles
from pipeline.judge.judgement import evidence_for
from pipeline.judge.reconstruct import Reconstructed
from pipeline.perturbing.perturb_picture import (
    SUBSETS,
    PerturbInputs,
    PerturbParams,
    perturb_picture,
    replacements_for,
    word_factors,
)
from pipeline.perturbing.raking import Kind
from pipeline.words.lexicon import Lexicon


def read_inputs(
    folders: Folders, params: PerturbParams, factors: Mapping[Kind, np.ndarray] | None = None
) -> PerturbInputs:
    """What pictures are perturbed with; of the rows in files those of one picture at a time are in memory."""
    ingest, counting = folders.stage("ingest"), folders.stage("vocabulary")
    vocabulary = read_json(counting / "vocabulary.json", Vocabulary)
    facts = partial(
        evidence_for,
        scenes=Singles(ingest / "scenes.jsonl", Scene, "picture_id"),
        told=Singles(counting / "reconstructed.jsonl", Reconstructed, "picture_id"),
        lexicon=Lexicon(vocabulary.categories, vocabulary.attribute_types),
    )
    questions = Groups(ingest / "questions.jsonl", Question, "picture_id")
    tags = Singles(folders.stage("tag") / "tags.jsonl", Tagged, "text")
    return PerturbInputs(questions, facts, tags, replacements_for(vocabulary, params, factors), params)


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
    out, files = folders.stage("perturb"), {"candidates.jsonl": Candidate, "unperturbed.jsonl": Dropped}
    pictures = pictures_in_order(folders)
    factors = word_factors(read_inputs(folders, params), pictures)
    inputs = partial(read_inputs, folders, params, factors)
    counts = write_by_picture(out, pictures, files, inputs, perturb_picture, keys)
    subsets = report(counts)
    write_json(out / "perturb.json", subsets)
    candidates = sum(counts[subset, "candidates", ""] for subset in SUBSETS)
    done("perturb", f"{candidates:,} candidates from {subsets[SUBSETS[0]]['questions']:,} questions", out)


if __name__ == "__main__":
    run(main)
