"""Count what the images show: objects with their attributes and relations, categories, and types of
attributes.

Reads   ingest/images.jsonl, ingest/scenes.jsonl, ingest/questions.jsonl, ingest/unbalanced.jsonl
Writes  vocabulary.json       Vocabulary: names with frequencies, types, categories
        reconstructed.jsonl   PartialGraph: a partial graph of each image with questions; images outside of the benchmark
                              that have a published scene graph are left out
        sizes.json            the minimum count of a name, also the one that `auto` chose

Objects, attributes and relations are counted in the scene graphs. If there are no scene graphs, they are
counted in the partial graphs, which contain what the answered questions state. Categories ("furniture") and
types of attributes ("color") come from the programs of the questions. To estimate how completely scene graphs
list what an image shows, the stage measures what proportion of the objects, attributes and relations
presupposed by questions is in them.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pipeline.core.errors import run_command, warn
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Question, SceneGraph
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.graph_completeness import estimate_annotation_recall
from pipeline.verifier.vocabulary import (
    VocabularyParams,
    build_vocabulary,
    choose_min_count,
    write_partial_graphs,
)

# A name must occur this often before its typical attributes and relations can be learned.
MIN_NAME_COUNT = 5


def main() -> None:
    folders, params = DatasetFolders(), load_params("vocabulary", VocabularyParams)
    sizes = summarize_sizes(params, folders)
    params = msgspec.structs.replace(params, min_count=sizes["min_count"])
    graphs = partial(write_partial_graphs, folders)
    vocabulary = build_vocabulary(
        folders.read_records(SceneGraph), folders.read_records(Question), params, graphs
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    questions = GroupedIndex(folders.record_file(Question), Question, "image_id")
    max_recall = {str(kind): recall for kind, recall in params.max_annotation_recall.items()}
    recall = estimate_annotation_recall(folders.read_records(SceneGraph), questions, lexicon, max_recall)
    vocabulary = msgspec.structs.replace(vocabulary, annotation_recall=recall)
    if not vocabulary.objects:
        warn(
            "neither scene graphs nor programs of questions were found, so no names of objects and attributes are known. "
            "Subset pt-easy stays empty, and pt-hard contains at most edited relations (with perturb.preset: paper). Add programs, or add "
            "scene graphs, which may be of other images (docs/guides/own_data.md)."
        )
    elif (num_rare := sum(entry.count < MIN_NAME_COUNT for entry in vocabulary.objects.values())) * 2 > len(
        vocabulary.objects
    ):
        warn(
            f"the vocabulary is small: {num_rare:,} of {len(vocabulary.objects):,} names occur fewer than {MIN_NAME_COUNT} times. Therefore "
            "edits are sampled almost uniformly, and few candidates are screened. Add scene graphs, which may be of other images, or "
            "questions with programs (docs/guides/own_data.md)."
        )
    kinds = ("objects", "attributes", "relations", "categories")
    what = ", ".join(f"{len(getattr(vocabulary, name)):,} {name}" for name in kinds)
    folders.write_stage_outputs("vocabulary", what, {"vocabulary.json": vocabulary, "sizes.json": sizes})


def summarize_sizes(params: VocabularyParams, folders: DatasetFolders) -> dict[str, Any]:
    """Return the minimum count of a name, whether it was `auto`, and the numbers from which it follows then."""
    if params.min_count != "auto":
        return {"min_count": params.min_count, "auto": []}
    num_graphs, num_questions = (count_lines(folders.record_file(kind)) for kind in (SceneGraph, Question))
    return {
        "min_count": choose_min_count(num_graphs, num_questions),
        "auto": ["min_count"],
        "from": {"graphs": num_graphs, "questions": num_questions},
    }


def count_lines(path: Path) -> int:
    """Return the number of records in a JSONL file, without decoding them."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


if __name__ == "__main__":
    run_command(main)
