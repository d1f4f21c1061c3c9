"""The vocabulary: what is counted in scene graphs, and where there is none in what questions say of pictures, whose partial
graphs are made on the way; and what programs tell of words: types of attributes, categories of things, what is asked for."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec

from pipeline.core.atomic_files import replacing
from pipeline.core.errors import UserError
from pipeline.core.json_files import lines, read_jsonl
from pipeline.core.jsonl_index import Groups
from pipeline.core.parallel import ordered_map, processes
from pipeline.core.params import Count, Params
from pipeline.core.paths import Folders
from pipeline.core.progress import track
from pipeline.core.records import ObjectEntry, Picture, Question, Scene, Vocabulary
from pipeline.language.functional_programs import NO_LOOK, POSITIONS, SCENE, Program, parse, root
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import number_of
from pipeline.language.relations import SIDEWAYS
from pipeline.language.word_lists import PRONOUNS
from pipeline.verifier.cooccurrence import shown_in
from pipeline.verifier.evidence import Facts, Triple
from pipeline.verifier.partial_graphs import Reconstructed, facts_known, reconstruct

# What `query`, `choose` and `filter` speak of that is not a look of one thing.
_NO_ATTRIBUTE = NO_LOOK | POSITIONS | {""}


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
        listed_at_most: how much of what pictures show their scene graphs list at most: shares of "object", "attribute",
            "relation". What questions take for granted tells more, but not where they were made from the graphs.
    """

    min_count: Count = 1
    min_members: Count = 2
    listed_at_most: dict[
        Literal["object", "attribute", "relation"], Annotated[float, msgspec.Meta(ge=0, le=1)]
    ] = msgspec.field(default_factory=dict)


class Sightings:
    """How often things, their attributes and their relations are seen.

    Attributes:
        names: how often things of each name are seen. attributes, subject_of, object_of: with which attributes, and
            on which side of which relations. related: (relation, subject, object), sideways ones left out.
        places, weathers: of how many pictures.
        pictures: the names that each shows.
    """

    def __init__(self) -> None:
        self.names, self.places, self.weathers = Counter[str](), Counter[str](), Counter[str]()
        self.attributes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subject_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.object_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.related: Counter[Triple] = Counter()
        self.pictures: list[tuple[str, ...]] = []

    def add_scene(self, scene: Scene) -> None:
        """Count a scene graph."""
        things = scene.objects
        edges = ((thing.object_id, edge.name, edge.object_id) for thing in things for edge in thing.relations)
        self._add([(thing.object_id, thing.name, thing.attributes) for thing in things], edges)
        self.places.update(filter(None, [scene.location]))
        self.weathers.update(filter(None, [scene.weather]))

    def add_facts(self, facts: Facts) -> None:
        """Count what the answered questions about a picture say together, of things that have a name."""
        named = [(thing, thing.label or next(iter(thing.names), "")) for thing in facts.things]
        things = [(thing.object_id, name, tuple(thing.attributes)) for thing, name in named if name]
        self._add(things, facts.related)
        self.places.update(filter(None, [facts.scene.get("place")]))
        self.weathers.update(filter(None, [facts.scene.get("weather")]))

    def _add(self, things: Sequence[tuple[str, str, Sequence[str]]], relations: Iterable[Triple]) -> None:
        names = {object_id: name for object_id, name, _ in things}
        self.names.update(names.values())
        self.pictures.append(tuple({sys.intern(name): None for name in names.values()}))
        for _, name, attributes in things:
            self.attributes[name].update(attributes)
        for subject, relation, other in relations:
            if subject in names and other in names:
                self.subject_of[names[subject]][relation] += 1
                self.object_of[names[other]][relation] += 1
                if relation not in SIDEWAYS:
                    self.related[relation, names[subject], names[other]] += 1

    def entry(self, name: str) -> ObjectEntry:
        """What was counted of a name."""
        return ObjectEntry(
            name=name,
            count=self.names[name],
            number=number_of(name),
            attributes=_total([self.attributes[name]]),
            subject_of=_total([self.subject_of[name]]),
            object_of=_total([self.object_of[name]]),
        )


class Meanings:
    """Counts what programs tell; questions without a program are passed over.

    Args:
        names: (picture id, object id) -> the scene graph's name.

    Attributes:
        programs: how many questions have one.
        asked: name -> how many questions take such a thing for granted.
        described: attribute, position or relation -> how many take it for granted of something.
    """

    def __init__(self, names: Mapping[tuple[str, str], str]) -> None:
        self._names = names
        self._types: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._choices: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self.programs = 0
        self.asked: Counter[str] = Counter()
        self.described: Counter[str] = Counter()

    def add(self, question: Question) -> None:
        """Count a question.

        Raises:
            UserError: its program is malformed.
        """
        if not question.program:
            return
        program = parse(question.program, question.question_id)
        self.programs += 1
        self._add_attributes(program, question.answer)
        self._add_members(program, question)
        granted = [step for step in program if not step.asserted]
        self.asked.update({step.name for step in granted} - PRONOUNS - {""})
        looks = (step for step in granted if step.verb in ("filter", "relate") and not step.negated)
        self.described.update({step.values[0] for step in looks})

    def _add_attributes(self, program: Program, answer: str) -> None:
        for step in program:
            values = (answer,) if step.verb == "query" else step.values
            tells = step.verb in ("filter", "verify", "choose", "query")
            if not tells or program[step.inputs[0]].name == SCENE:
                continue
            for value in values:
                if step.type not in _NO_ATTRIBUTE:
                    self._types[value][step.type] += 1
                elif step.verb == "choose" and not step.type:
                    self._choices[value].update(values)

    def _add_members(self, program: Program, question: Question) -> None:
        """Who says "furniture" of a thing that its graph, or the answer, calls a couch, tells what furniture is."""
        for step in program:
            keys = [(question.picture_id, object_id) for object_id in step.object_ids]
            self._members[step.name].update(self._names[key] for key in keys if key in self._names)
        last = program[-1]
        if last.type == "name" and last.inputs:
            called = (question.answer,) if last.verb == "query" else last.values
            self._members[program[root(program, last.inputs[0])].name].update(called)

    def attribute_types(self) -> dict[str, str]:
        """Attribute -> its commonest GQA type."""
        types = sorted(self._types.items())
        return {value: min(counts, key=lambda type_: (-counts[type_], type_)) for value, counts in types}

    def alternatives(self) -> dict[str, tuple[str, ...]]:
        """Attributes without a type -> what else they are offered with."""
        return {value: tuple(sorted(others - {value})) for value, others in sorted(self._choices.items())}

    def categories(self, min_members: int) -> dict[str, tuple[str, ...]]:
        """Category -> its members, from so many different ones on."""
        named = sorted(self._members.keys() - PRONOUNS - {""})
        members = {name: sorted(self._members[name] - {name, ""}) for name in named}
        return {name: tuple(others) for name, others in members.items() if len(others) >= min_members}


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
    shown = shown_in(seen.pictures, {*kept, *categories}, lexicon, partial=not published)
    return Vocabulary(
        objects={name: seen.entry(name) for name in kept},
        attributes=_total(seen.attributes[name] for name in kept),
        attribute_types=types,
        relations=_total(seen.subject_of[name] for name in kept),
        categories=categories,
        places=_total([seen.places]),
        weathers=_total([seen.weathers]),
        alternatives=meanings.alternatives(),
        asked=_total([meanings.asked]),
        described=_total([meanings.described]),
        related=tuple((*triple, count) for triple, count in sorted(seen.related.items())),
        shown=shown,
    )


def _total(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up, in the order of their keys."""
    total: Counter[str] = Counter()
    for counts in parts:
        total.update(counts)
    return dict(sorted(total.items()))


def write_graphs(folders: Folders, lexicon: Lexicon, published: Collection[str]) -> Iterator[Reconstructed]:
    """Write the partial graphs, by their questions, unbalanced ones too, of all pictures without a published one and of
    those that the benchmark is made from; sorted by picture id. They are read back one by one."""
    path = folders.stage("vocabulary") / "reconstructed.jsonl"
    inputs = partial(_inputs, folders, lexicon)
    shown = {picture.picture_id for picture in folders.rows(Picture)}
    pictures = sorted(set(inputs()[0]) - (set(published) - shown))
    with replacing(path) as file:
        graphs = ordered_map(graph_of, pictures, inputs, processes(len(pictures)))
        for line in track(graphs, "vocabulary: partial graphs", len(pictures), "picture"):
            file.write(line)
    return read_jsonl(path, Reconstructed)


def _inputs(folders: Folders, lexicon: Lexicon) -> tuple[Groups[Question], Lexicon]:
    files = [folders.stage("ingest") / f"{name}.jsonl" for name in ("questions", "unbalanced")]
    return Groups(files, Question, "picture_id"), lexicon


def graph_of(inputs: tuple[Groups[Question], Lexicon], picture_id: str) -> bytes:
    """The partial graph of one picture as a line; no line if its questions tell nothing."""
    questions, lexicon = inputs
    graph = reconstruct(questions[picture_id], lexicon)
    return lines([graph] if graph else [])
