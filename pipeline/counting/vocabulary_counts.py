"""The vocabulary: what is counted in scene graphs, and where there is none in what questions say of pictures."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated

import msgspec

from pipeline.core.errors import UserError
from pipeline.core.params import Params
from pipeline.core.progress import track
from pipeline.core.records import ObjectEntry, Question, Scene, Vocabulary
from pipeline.counting.meanings import Meanings
from pipeline.counting.seen import Sightings
from pipeline.judge.reconstruct import Reconstructed, facts_known
from pipeline.words.lexicon import Lexicon
from pipeline.words.nouns import number_of


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
    """

    min_count: Annotated[int, msgspec.Meta(ge=1)] = 1
    min_members: Annotated[int, msgspec.Meta(ge=1)] = 2


def count_vocabulary(
    scenes: Iterable[Scene],
    questions: Iterable[Question],
    params: VocabularyParams,
    graphs: Callable[[Lexicon, Collection[str]], Iterable[Reconstructed]],
) -> Vocabulary:
    """The vocabulary of graphs and questions. Where there are neither graphs nor programs it is empty.

    Args:
        graphs: makes the partial graphs, given the lexicon and the ids of the pictures that have a published one.

    Raises:
        UserError: graphs or programs are there, but name no object often enough.
    """
    seen = Sightings()
    names: dict[tuple[str, str], str] = {}
    published: set[str] = set()
    for scene in track(scenes, "vocabulary: scenes", unit="scene"):
        seen.add_scene(scene)
        published.add(scene.picture_id)
        names.update(((scene.picture_id, thing.object_id), sys.intern(thing.name)) for thing in scene.objects)
    meanings = Meanings(names)
    for question in track(questions, "vocabulary: programs", unit="question"):
        meanings.add(question)
    types, categories = meanings.attribute_types(), meanings.categories(params.min_members)
    lexicon = Lexicon(categories, types)
    partial_graphs = graphs(lexicon, published)
    for graph in () if published else partial_graphs:
        seen.add_facts(facts_known(graph, lexicon))
    kept = sorted(name for name, count in seen.names.items() if count >= params.min_count)
    if not kept and (published or meanings.programs):
        raise UserError(
            f"the vocabulary is empty: {len(published):,} scene graphs and {meanings.programs:,} programs of questions"
            f" name no object at least {params.min_count} times (vocabulary.min_count in params.yaml); lower it, or"
            " give more of either"
        )
    return Vocabulary(
        objects={name: _entry(name, seen) for name in kept},
        attributes=_total(seen.attributes[name] for name in kept),
        attribute_types=types,
        relations=_total(seen.subject_of[name] for name in kept),
        categories=categories,
        places=_total([seen.places]),
        weathers=_total([seen.weathers]),
        alternatives=meanings.alternatives(),
        asked=_total([meanings.asked]),
        described=_total([meanings.described]),
    )


def _entry(name: str, seen: Sightings) -> ObjectEntry:
    return ObjectEntry(
        name=name,
        count=seen.names[name],
        number=number_of(name),
        attributes=_total([seen.attributes[name]]),
        subject_of=_total([seen.subject_of[name]]),
        object_of=_total([seen.object_of[name]]),
    )


def _total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up, in the order of their keys."""
    total: Counter[str] = Counter()
    for counts in parts:
        total.update(counts)
    return dict(sorted(total.items()))
