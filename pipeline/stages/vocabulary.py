"""Collect what the pictures show: objects with their attributes and relations, categories, attribute types.

Reads   ingest/scenes.jsonl, ingest/questions.jsonl
Writes  vocabulary.json    a Vocabulary

Objects, attributes and relations are counted in the scene graphs. Where there is none, they are counted in
what the answered questions say. Categories ("furniture") and types of attributes ("color") come from the
questions' programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec

from pipeline.core.errors import UserError, run
from pipeline.core.files import read_jsonl, write_json
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import ObjectEntry, Question, Scene, Vocabulary
from pipeline.judge.names import Lexicon
from pipeline.judge.programs import parse
from pipeline.language.counts import from_graphs, from_questions
from pipeline.language.meanings import asked, attribute_types, categories, described
from pipeline.language.nouns import number_of


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
    """

    min_count: Annotated[int, msgspec.Meta(ge=1)] = 1
    min_members: Annotated[int, msgspec.Meta(ge=1)] = 2


def collect(scenes: Sequence[Scene], questions: Sequence[Question], params: VocabularyParams) -> Vocabulary:
    """The vocabulary of graphs and questions.

    Raises:
        UserError: neither graphs nor programs name any object.
    """
    programs = [
        (q, parse(q.program, q.question_id))
        for q in track(questions, "vocabulary: programs", unit="question")
        if q.program
    ]
    names = {(scene.picture_id, thing.object_id): thing.name for scene in scenes for thing in scene.objects}
    types, alternatives = attribute_types(programs)
    groups = categories(programs, names, params.min_members)
    entries, places, weathers = (
        from_graphs(scenes) if scenes else from_questions((q for q, _ in programs), Lexicon(groups, types))
    )
    kept = {name: entry for name, entry in sorted(entries.items()) if entry.count >= params.min_count}
    if not kept:
        raise UserError(
            f"the vocabulary is empty: {len(scenes):,} scene graphs and {len(programs):,} programs of "
            f"questions name no object at least {params.min_count} times; give scene graphs (of other pictures "
            "will do), or questions with programs"
        )
    attributes: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for entry in kept.values():
        attributes.update(entry.attributes)
        relations.update(entry.subject_of)
    return Vocabulary(
        objects={
            name: ObjectEntry(
                name=name,
                count=entry.count,
                number=number_of(name),
                attributes=_sorted(entry.attributes),
                subject_of=_sorted(entry.subject_of),
                object_of=_sorted(entry.object_of),
            )
            for name, entry in kept.items()
        },
        attributes=_sorted(attributes),
        attribute_types=types,
        relations=_sorted(relations),
        categories=groups,
        places=_sorted(places),
        weathers=_sorted(weathers),
        alternatives=alternatives,
        asked=_sorted(asked(programs)),
        described=_sorted(described(programs)),
    )


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def main() -> None:
    folders = Folders()
    ingest = folders.stage("ingest")
    scenes = list(track(read_jsonl(ingest / "scenes.jsonl", Scene), "vocabulary: scenes", unit="scene"))
    questions = list(read_jsonl(ingest / "questions.jsonl", Question))
    vocabulary = collect(scenes, questions, load("vocabulary", VocabularyParams))
    out = folders.stage("vocabulary")
    write_json(out / "vocabulary.json", vocabulary)
    done(
        "vocabulary",
        f"{len(vocabulary.objects):,} objects, {len(vocabulary.attributes):,} attributes, "
        f"{len(vocabulary.relations):,} relations, "
        f"{len(vocabulary.categories):,} categories",
        out,
    )


if __name__ == "__main__":
    run(main)
