"""The vocabulary: what is counted in scene graphs, and where there is none in what questions say of images, whose partial
graphs are made on the way; and what programs tell of words: types of attributes, categories of things, what is asked for."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.json_files import encode_jsonl, read_jsonl
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import Count, Params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import ImageRecord, ObjectEntry, Question, SceneGraph, Vocabulary
from pipeline.language.functional_programs import (
    NON_ATTRIBUTE_TYPES,
    POSITION_TYPES,
    SCENE,
    Program,
    find_root_step,
    parse_program,
)
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import get_grammatical_number
from pipeline.language.relations import LEFT_RIGHT_RELATIONS
from pipeline.language.word_lists import UNINFORMATIVE_NAMES
from pipeline.verifier.cooccurrence import count_cooccurrences
from pipeline.verifier.evidence import Evidence, Triple
from pipeline.verifier.partial_graphs import PartialGraph, build_partial_graph, build_question_evidence

# What `query`, `choose` and `filter` speak of that is not a look of one thing.
_NON_ATTRIBUTE_TYPES = NON_ATTRIBUTE_TYPES | POSITION_TYPES | {""}


class VocabularyParams(Params):
    """Parameters of vocabulary.

    Attributes:
        min_count: object names seen less often are left out (typing errors, one-off names).
        min_members: a name is a category from this many different members on.
        listed_at_most: how much of what images show their scene graphs list at most: shares of "object", "attribute",
            "relation". What questions take for granted tells more, but not where they were made from the graphs.
    """

    min_count: Count = 1
    min_members: Count = 2
    max_annotation_recall: dict[
        Literal["object", "attribute", "relation"], Annotated[float, msgspec.Meta(ge=0, le=1)]
    ] = msgspec.field(default_factory=dict)


class SceneGraphCounter:
    """How often things, their attributes and their relations are seen.

    Attributes:
        names: how often things of each name are seen. attributes, subject_of, object_of: with which attributes, and
            on which side of which relations. related: (relation, subject, object), sideways ones left out.
        places, weathers: of how many images.
        images: the names that each shows.
    """

    def __init__(self) -> None:
        self.name_counts, self.place_counts, self.weather_counts = (
            Counter[str](),
            Counter[str](),
            Counter[str](),
        )
        self.attribute_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subject_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.object_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.relation_counts: Counter[Triple] = Counter()
        self.names_by_image: list[tuple[str, ...]] = []

    def add_scene(self, scene: SceneGraph) -> None:
        """Count a scene graph."""
        things = scene.objects
        edges = ((thing.object_id, edge.name, edge.object_id) for thing in things for edge in thing.relations)
        self._add_objects([(thing.object_id, thing.name, thing.attributes) for thing in things], edges)
        self.place_counts.update(filter(None, [scene.location]))
        self.weather_counts.update(filter(None, [scene.weather]))

    def add_evidence(self, evidence: Evidence) -> None:
        """Count what the answered questions about an image say together, of things that have a name."""
        named = [(thing, thing.label or next(iter(thing.names), "")) for thing in evidence.objects]
        things = [(thing.object_id, name, tuple(thing.attributes)) for thing, name in named if name]
        self._add_objects(things, evidence.relations)
        self.place_counts.update(filter(None, [evidence.scene.get("place")]))
        self.weather_counts.update(filter(None, [evidence.scene.get("weather")]))

    def _add_objects(
        self, things: Sequence[tuple[str, str, Sequence[str]]], relations: Iterable[Triple]
    ) -> None:
        names = {object_id: name for object_id, name, _ in things}
        self.name_counts.update(names.values())
        self.names_by_image.append(tuple({sys.intern(name): None for name in names.values()}))
        for _, name, attributes in things:
            self.attribute_counts[name].update(attributes)
        for subject, relation, other in relations:
            if subject in names and other in names:
                self.subject_of[names[subject]][relation] += 1
                self.object_of[names[other]][relation] += 1
                if relation not in LEFT_RIGHT_RELATIONS:
                    self.relation_counts[relation, names[subject], names[other]] += 1

    def make_entry(self, name: str) -> ObjectEntry:
        """What was counted of a name."""
        return ObjectEntry(
            name=name,
            count=self.name_counts[name],
            number=get_grammatical_number(name),
            attributes=_sum_counts([self.attribute_counts[name]]),
            subject_of=_sum_counts([self.subject_of[name]]),
            object_of=_sum_counts([self.object_of[name]]),
        )


class ProgramCounter:
    """Counts what programs tell; questions without a program are passed over.

    Args:
        names: (image id, object id) -> the scene graph's name.

    Attributes:
        programs: how many questions have one.
        asked: name -> how many questions take such a thing for granted.
        described: attribute, position or relation -> how many take it for granted of something.
    """

    def __init__(self, names: Mapping[tuple[str, str], str]) -> None:
        self._name_by_object = names
        self._type_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._co_options: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self.num_programs = 0
        self.presupposed_name_counts: Counter[str] = Counter()
        self.presupposed_value_counts: Counter[str] = Counter()

    def add_question(self, question: Question) -> None:
        """Count a question.

        Raises:
            UserError: its program is malformed.
        """
        if not question.program:
            return
        program = parse_program(question.program, question.question_id)
        self.num_programs += 1
        self._add_attributes(program, question.answer)
        self._add_members(program, question)
        granted = [step for step in program if not step.is_asserted]
        self.presupposed_name_counts.update({step.name for step in granted} - UNINFORMATIVE_NAMES - {""})
        looks = (step for step in granted if step.verb in ("filter", "relate") and not step.is_negated)
        self.presupposed_value_counts.update({step.values[0] for step in looks})

    def _add_attributes(self, program: Program, answer: str) -> None:
        for step in program:
            values = (answer,) if step.verb == "query" else step.values
            tells = step.verb in ("filter", "verify", "choose", "query")
            if not tells or program[step.inputs[0]].name == SCENE:
                continue
            for value in values:
                if step.type not in _NON_ATTRIBUTE_TYPES:
                    self._type_counts[value][step.type] += 1
                elif step.verb == "choose" and not step.type:
                    self._co_options[value].update(values)

    def _add_members(self, program: Program, question: Question) -> None:
        """Who says "furniture" of a thing that its graph, or the answer, calls a couch, tells what furniture is."""
        for step in program:
            keys = [(question.image_id, object_id) for object_id in step.object_ids]
            self._members[step.name].update(
                self._name_by_object[key] for key in keys if key in self._name_by_object
            )
        last = program[-1]
        if last.type == "name" and last.inputs:
            called = (question.answer,) if last.verb == "query" else last.values
            self._members[program[find_root_step(program, last.inputs[0])].name].update(called)

    def get_attribute_types(self) -> dict[str, str]:
        """Attribute -> its commonest GQA type."""
        types = sorted(self._type_counts.items())
        return {value: min(counts, key=lambda type_: (-counts[type_], type_)) for value, counts in types}

    def get_alternatives(self) -> dict[str, tuple[str, ...]]:
        """Attributes without a type -> what else they are offered with."""
        return {value: tuple(sorted(others - {value})) for value, others in sorted(self._co_options.items())}

    def get_categories(self, min_members: int) -> dict[str, tuple[str, ...]]:
        """Category -> its members, from so many different ones on."""
        named = sorted(self._members.keys() - UNINFORMATIVE_NAMES - {""})
        members = {name: sorted(self._members[name] - {name, ""}) for name in named}
        return {name: tuple(others) for name, others in members.items() if len(others) >= min_members}


def build_vocabulary(
    scenes: Iterable[SceneGraph],
    questions: Iterable[Question],
    params: VocabularyParams,
    make_partial_graphs: Callable[[Lexicon, Collection[str]], Iterable[PartialGraph]],
) -> Vocabulary:
    """The vocabulary of graphs and questions. Where there are neither graphs nor programs it is empty.

    Args:
        graphs: makes the partial graphs, given the lexicon and the ids of the images that have a published one.

    Raises:
        UserError: graphs or programs are there, but name no object often enough.
    """
    seen = SceneGraphCounter()
    names: dict[tuple[str, str], str] = {}
    published: set[str] = set()
    for scene in track(scenes, "vocabulary: scenes", unit="scene"):
        seen.add_scene(scene)
        published.add(scene.image_id)
        names.update(((scene.image_id, thing.object_id), sys.intern(thing.name)) for thing in scene.objects)
    meanings = ProgramCounter(names)
    for question in track(questions, "vocabulary: programs", unit="question"):
        meanings.add_question(question)
    types, categories = meanings.get_attribute_types(), meanings.get_categories(params.min_members)
    lexicon = Lexicon(categories, types)
    partial_graphs = make_partial_graphs(lexicon, published)
    for graph in () if published else partial_graphs:
        seen.add_evidence(build_question_evidence(graph, lexicon))
    kept = sorted(name for name, count in seen.name_counts.items() if count >= params.min_count)
    if not kept and (published or meanings.num_programs):
        raise UserError(
            f"the vocabulary is empty: {len(published):,} scene graphs and {meanings.num_programs:,} programs of questions"
            f" name no object at least {params.min_count} times (vocabulary.min_count in params.yaml); lower it, or"
            " give more of either"
        )
    shown = count_cooccurrences(seen.names_by_image, {*kept, *categories}, lexicon, is_partial=not published)
    return Vocabulary(
        objects={name: seen.make_entry(name) for name in kept},
        attributes=_sum_counts(seen.attribute_counts[name] for name in kept),
        attribute_types=types,
        relations=_sum_counts(seen.subject_of[name] for name in kept),
        categories=categories,
        locations=_sum_counts([seen.place_counts]),
        weathers=_sum_counts([seen.weather_counts]),
        attribute_alternatives=meanings.get_alternatives(),
        presupposed_objects=_sum_counts([meanings.presupposed_name_counts]),
        presupposed_properties=_sum_counts([meanings.presupposed_value_counts]),
        relation_counts=tuple((*triple, count) for triple, count in sorted(seen.relation_counts.items())),
        cooccurrence=shown,
    )


def _sum_counts(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Counts added up, in the order of their keys."""
    total: Counter[str] = Counter()
    for counts in parts:
        total.update(counts)
    return dict(sorted(total.items()))


def write_partial_graphs(
    folders: DatasetFolders, lexicon: Lexicon, published_image_ids: Collection[str]
) -> Iterator[PartialGraph]:
    """Write the partial graphs, by their questions, unbalanced ones too, of all images without a published one and of
    those that the benchmark is made from; sorted by image id. They are read back one by one."""
    path = folders.stage_dir("vocabulary") / "reconstructed.jsonl"
    inputs = partial(_load_inputs, folders, lexicon)
    shown = {image.image_id for image in folders.read_records(ImageRecord)}
    images = sorted(set(inputs()[0]) - (set(published_image_ids) - shown))
    with atomic_write(path) as file:
        graphs = ordered_map(encode_partial_graph, images, inputs, choose_num_workers(len(images)))
        for line in track(graphs, "vocabulary: partial graphs", len(images), "image"):
            file.write(line)
    return read_jsonl(path, PartialGraph)


def _load_inputs(folders: DatasetFolders, lexicon: Lexicon) -> tuple[GroupedIndex[Question], Lexicon]:
    files = [folders.stage_dir("ingest") / f"{name}.jsonl" for name in ("questions", "unbalanced")]
    return GroupedIndex(files, Question, "image_id"), lexicon


def encode_partial_graph(inputs: tuple[GroupedIndex[Question], Lexicon], image_id: str) -> bytes:
    """The partial graph of one image as a line; no line if its questions tell nothing."""
    questions, lexicon = inputs
    graph = build_partial_graph(questions[image_id], lexicon)
    return encode_jsonl([graph] if graph else [])
