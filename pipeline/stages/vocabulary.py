"""Collect what the pictures show: objects with their attributes and relations, categories, attribute types.

Reads   ingest/scenes.jsonl, ingest/questions.jsonl
Writes  vocabulary.json    a Vocabulary

Objects, attributes and relations are counted in the scene graphs. Where there is none, they are counted in what the
answered questions say. Categories ("furniture") and types of attributes ("color") come from the questions' programs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from pipeline.core.errors import UserError, run
from pipeline.core.files import read_jsonl, write_json
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import ObjectEntry, Question, Scene, Vocabulary
from pipeline.judge.names import Lexicon
from pipeline.judge.programs import FINDS, SCENE, Operation, parse
from pipeline.judge.reconstruct import reconstruct
from pipeline.language.frames import PRONOUNS
from pipeline.language.nouns import number_of

# What `query`, `choose` and `filter` speak of that is not a look of one thing.
NO_ATTRIBUTE = frozenset(("", "name", "rel", "hposition", "vposition", "place", "room", "location", "type"))


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
    """

    min_count: Annotated[int, msgspec.Meta(ge=1)] = 1
    min_members: Annotated[int, msgspec.Meta(ge=1)] = 2


@dataclass(slots=True)
class Entry:
    """Counts for one object name."""

    count: int = 0
    attributes: Counter[str] = field(default_factory=Counter)
    subject_of: Counter[str] = field(default_factory=Counter)
    object_of: Counter[str] = field(default_factory=Counter)


def attribute_types(questions: Iterable[tuple[Question, tuple[Operation, ...]]]) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """Attribute -> its commonest GQA type; and attributes without a type -> what else they are offered with."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    choices: dict[str, set[str]] = defaultdict(set)
    for question, program in questions:
        for operation in program:
            if operation.inputs and program[operation.inputs[0]].name == SCENE:
                continue
            if operation.verb in ("filter", "verify", "choose") and operation.type not in NO_ATTRIBUTE:
                for value in operation.values:
                    counts[value][operation.type] += 1
            elif operation.verb == "query" and operation.type not in NO_ATTRIBUTE:
                counts[question.answer][operation.type] += 1
            elif operation.verb == "choose" and not operation.type:
                for value in operation.values:
                    choices[value].update(operation.values)
    types = {value: min(found, key=lambda kind: (-found[kind], kind)) for value, found in sorted(counts.items())}
    return types, {value: tuple(sorted(others - {value})) for value, others in sorted(choices.items())}


def categories(
    questions: Iterable[tuple[Question, tuple[Operation, ...]]], names: Mapping[tuple[str, str], str], min_members: int,
) -> dict[str, tuple[str, ...]]:
    """Category -> members: a step that says "furniture" of a thing that its graph, or the answer, calls a couch.

    Args:
        names: (picture id, object id) -> the scene graph's name.
    """
    members: dict[str, set[str]] = defaultdict(set)
    for question, program in questions:
        for operation in program:
            if operation.name and operation.name not in PRONOUNS:
                members[operation.name].update(
                    names[question.picture_id, i] for i in operation.object_ids if (question.picture_id, i) in names)
        last = program[-1]
        if last.type == "name" and last.inputs:
            source = _source(program, last.inputs[0])
            if source.name not in PRONOUNS:
                members[source.name].update((question.answer,) if last.verb == "query" else last.values)
    found = {}
    for name, called in sorted(members.items()):
        others = {other for other in called if other and other != name}
        if len(others) >= min_members:
            found[name] = tuple(sorted(others))
    return found


def _source(program: Sequence[Operation], index: int) -> Operation:
    """The select or relate that a chain of filters starts from."""
    while program[index].verb == "filter":
        index = program[index].inputs[0]
    return program[index]


def from_graphs(scenes: Iterable[Scene]) -> tuple[dict[str, Entry], Counter[str], Counter[str]]:
    """Object entries, places and weathers as counted in scene graphs."""
    entries: dict[str, Entry] = defaultdict(Entry)
    places: Counter[str] = Counter()
    weathers: Counter[str] = Counter()
    for scene in scenes:
        called = {thing.object_id: thing.name for thing in scene.objects}
        places.update(filter(None, (scene.location,)))
        weathers.update(filter(None, (scene.weather,)))
        for thing in scene.objects:
            entry = entries[thing.name]
            entry.count += 1
            entry.attributes.update(thing.attributes)
            for relation in thing.relations:
                entry.subject_of[relation.name] += 1
                entries[called[relation.object_id]].object_of[relation.name] += 1
    return entries, places, weathers


def from_questions(questions: Iterable[Question], lexicon: Lexicon) -> tuple[dict[str, Entry], Counter[str], Counter[str]]:
    """The same, from what the answered questions about each picture say together."""
    entries: dict[str, Entry] = defaultdict(Entry)
    places: Counter[str] = Counter()
    weathers: Counter[str] = Counter()
    by_picture: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_picture[question.picture_id].append(question)
    for picture_id in sorted(by_picture):
        facts = reconstruct(by_picture[picture_id], lexicon)
        places.update(filter(None, (facts.scene.get("place"),)))
        weathers.update(filter(None, (facts.scene.get("weather"),)))
        called = {thing.object_id: thing.label or (thing.names or ("",))[0] for thing in facts.things}
        for thing in facts.things:
            if called[thing.object_id]:
                entries[called[thing.object_id]].count += 1
                entries[called[thing.object_id]].attributes.update(list(thing.attributes))
        for subject, relation, other in sorted(facts.related):
            if called.get(subject) and called.get(other):
                entries[called[subject]].subject_of[relation] += 1
                entries[called[other]].object_of[relation] += 1
    return entries, places, weathers


def asked(programs: Iterable[tuple[Question, tuple[Operation, ...]]]) -> dict[str, int]:
    """Name -> how many questions take such a thing for granted."""
    counts: Counter[str] = Counter()
    for _, program in programs:
        counts.update({o.name for o in program if o.name and o.name not in PRONOUNS and not o.asserted})
    return _sorted(counts)


def collect(scenes: Sequence[Scene], questions: Sequence[Question], params: VocabularyParams) -> Vocabulary:
    """The vocabulary of graphs and questions.

    Raises:
        UserError: neither graphs nor programs name any object.
    """
    programs = [(q, parse(q.program, q.question_id)) for q in track(questions, "vocabulary: programs", unit="question") if q.program]
    names = {(scene.picture_id, thing.object_id): thing.name for scene in scenes for thing in scene.objects}
    types, alternatives = attribute_types(programs)
    groups = categories(programs, names, params.min_members)
    entries, places, weathers = from_graphs(scenes) if scenes else from_questions((q for q, _ in programs), Lexicon(groups, types))
    kept = {name: entry for name, entry in sorted(entries.items()) if entry.count >= params.min_count}
    if not kept:
        raise UserError(f"the vocabulary is empty: {len(scenes):,} scene graphs and {len(programs):,} programs of questions name no object "
                        f"at least {params.min_count} times; give scene graphs (of other pictures will do), or questions with programs")
    attributes: Counter[str] = Counter()
    relations: Counter[str] = Counter()
    for entry in kept.values():
        attributes.update(entry.attributes)
        relations.update(entry.subject_of)
    return Vocabulary(
        objects={name: ObjectEntry(
            name=name, count=entry.count, number=number_of(name), attributes=_sorted(entry.attributes),
            subject_of=_sorted(entry.subject_of), object_of=_sorted(entry.object_of),
        ) for name, entry in kept.items()},
        attributes=_sorted(attributes), attribute_types=types, relations=_sorted(relations), categories=groups,
        places=_sorted(places), weathers=_sorted(weathers), alternatives=alternatives, asked=asked(programs),
    )


def _sorted(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _read(folders: Folders) -> Iterator[Sequence]:
    ingest = folders.stage("ingest")
    yield list(track(read_jsonl(ingest / "scenes.jsonl", Scene), "vocabulary: scenes", unit="scene"))
    yield list(read_jsonl(ingest / "questions.jsonl", Question))


def main() -> None:
    folders = Folders()
    scenes, questions = _read(folders)
    vocabulary = collect(scenes, questions, load("vocabulary", VocabularyParams))
    out = folders.stage("vocabulary")
    write_json(out / "vocabulary.json", vocabulary)
    done("vocabulary", f"{len(vocabulary.objects):,} objects, {len(vocabulary.attributes):,} attributes, {len(vocabulary.relations):,} "
                       f"relations, {len(vocabulary.categories):,} categories", out)


if __name__ == "__main__":
    run(main)
