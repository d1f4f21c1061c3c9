"""Collect what the images show: objects with their attributes and relations, categories, attribute types.

Reads   ingest/images.jsonl, ingest/scenes.jsonl, ingest/questions.jsonl, ingest/unbalanced.jsonl
Writes  vocabulary.json       Vocabulary: names with frequencies, types, categories
        reconstructed.jsonl   Reconstructed: a partial graph of each image that has questions, but none of those that have a
                              published graph and are not the benchmark's

Objects, attributes and relations are counted in the scene graphs. Where there is none, they are counted in
the partial graphs: what the answered questions say. Categories ("furniture") and types of attributes ("color")
come from the questions' programs. How much of what is there graphs list is told by how much they list of what
questions take for granted.
"""

from __future__ import annotations

from functools import partial

import msgspec

from pipeline.core.errors import run_command, warn
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.params import load_params
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Question, SceneGraph
from pipeline.language.lexicon import Lexicon
from pipeline.verifier.graph_completeness import estimate_annotation_recall
from pipeline.verifier.vocabulary import VocabularyParams, build_vocabulary, write_partial_graphs

MIN_NAME_COUNT = 5  # times that a name must be seen for anything to be known of what goes with it


def main() -> None:
    folders, params = DatasetFolders(), load_params("vocabulary", VocabularyParams)
    graphs = partial(write_partial_graphs, folders)
    vocabulary = build_vocabulary(
        folders.read_records(SceneGraph), folders.read_records(Question), params, graphs
    )
    lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
    asked = GroupedIndex(folders.record_file(Question), Question, "image_id")
    at_most = {str(kind): share for kind, share in params.max_annotation_recall.items()}
    listed = estimate_annotation_recall(folders.read_records(SceneGraph), asked, lexicon, at_most)
    vocabulary = msgspec.structs.replace(vocabulary, annotation_recall=listed)
    if not vocabulary.objects:
        warn(
            "neither scene graphs nor programs of questions: no names of objects and attributes are known, so"
            " pt-easy stays empty and pt-hard has relations alone; graphs of other images will do (data/README.md)"
        )
    elif (seldom := sum(entry.count < MIN_NAME_COUNT for entry in vocabulary.objects.values())) * 2 > len(
        vocabulary.objects
    ):
        warn(
            f"a thin vocabulary: {seldom:,} of {len(vocabulary.objects):,} names are seen fewer than {MIN_NAME_COUNT} times, so what "
            "fits with what is hardly known: edits are drawn almost blindly and few candidates are screened; more scene "
            "graphs, also of other images, or questions with programs will do (data/README.md)"
        )
    kinds = ("objects", "attributes", "relations", "categories")
    what = ", ".join(f"{len(getattr(vocabulary, name)):,} {name}" for name in kinds)
    folders.write_stage_outputs("vocabulary", what, {"vocabulary.json": vocabulary})


if __name__ == "__main__":
    run_command(main)
