"""Collect what the pictures show: objects with their attributes and relations, categories, attribute types.

Reads   ingest/scenes.jsonl, ingest/questions.jsonl, ingest/unbalanced.jsonl
Writes  vocabulary.json       Vocabulary: names with frequencies, types, categories
        reconstructed.jsonl   Reconstructed: a partial graph of each picture that has questions but no published graph

Objects, attributes and relations are counted in the scene graphs. Where there is none, they are counted in
the partial graphs: what the answered questions say. Categories ("furniture") and types of attributes ("color")
come from the questions' programs.
"""

from __future__ import annotations

import sys
from functools import partial

from pipeline.core.errors import run
from pipeline.core.files import write_json
from pipeline.core.params import load
from pipeline.core.paths import Folders
from pipeline.core.progress import done
from pipeline.core.records import Question, Scene
from pipeline.core.rows import Records
from pipeline.counting.partial_graphs import write_graphs
from pipeline.counting.vocabulary_counts import VocabularyParams, count_vocabulary


def main() -> None:
    folders, params = Folders(), load("vocabulary", VocabularyParams)
    ingest, out = folders.stage("ingest"), folders.stage("vocabulary")
    scenes = Records(ingest / "scenes.jsonl", Scene)
    questions = Records(ingest / "questions.jsonl", Question)
    vocabulary = count_vocabulary(scenes, questions, params, partial(write_graphs, folders))
    write_json(out / "vocabulary.json", vocabulary)
    if not vocabulary.objects:
        print(
            "warning: neither scene graphs nor programs of questions: no names of objects and attributes are known, so"
            " pt-easy stays empty and pt-hard has relations alone; graphs of other pictures will do (data/README.md)",
            file=sys.stderr,
        )
    counts = {
        name: len(getattr(vocabulary, name)) for name in ("objects", "attributes", "relations", "categories")
    }
    done("vocabulary", ", ".join(f"{count:,} {name}" for name, count in counts.items()), out)


if __name__ == "__main__":
    run(main)
