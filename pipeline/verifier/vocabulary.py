"""Build the vocabulary of a data set.

Objects, attributes and relations are counted in the published scene graphs. If no scene graph is published,
they are counted in partial graphs, which this module builds from the answered questions. The functional
programs of the questions give the types of attributes, the members of categories, and how often questions
presuppose a name or an attribute.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

from pipeline.core.atomic_files import atomic_write
from pipeline.core.errors import UserError
from pipeline.core.json_files import encode_jsonl, read_jsonl
from pipeline.core.jsonl_index import GroupedIndex
from pipeline.core.parallel import choose_num_workers, ordered_map
from pipeline.core.params import AutoCount, Count, Params
from pipeline.core.paths import DatasetFolders
from pipeline.core.progress import track
from pipeline.core.records import (
    ImageRecord,
    ObjectCooccurrence,
    ObjectEntry,
    Question,
    SceneGraph,
    Vocabulary,
)
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

K = TypeVar("K", str, tuple[str, str, str])

# Types of `query`, `choose` and `filter` whose values are not attributes of one object.
_NON_ATTRIBUTE_TYPES = NON_ATTRIBUTE_TYPES | POSITION_TYPES | {""}


class VocabularyParams(Params):
    """Parameters of stage `vocabulary`.

    Attributes:
        use_default: "auto" adds the default vocabulary of everyday objects (`default_vocabulary.json`) where
            there are few scene graphs: with its full counts if there are none, and with counts that fall
            linearly to 0 at 500 scene graphs. "never" counts only this data set.
        min_count: Minimum number of objects of a name. Rarer names, such as typing errors, are left out. A
            higher value gives fewer, safer replacements. `auto`: 1 below 1,000 scene graphs (without graphs:
            10,000 questions), 2 below 10,000 (100,000), then 3.
        min_members: Minimum number of different members of a category. A name with fewer members is not a
            category.
        max_annotation_recall: Upper bounds (0 to 1) of the annotation recall, which is the estimated
            proportion of the visible facts that scene graphs list. Keys are "object", "attribute" and
            "relation". Lower values make `estimate` expect more answerable candidates. The bounds are needed
            where the questions were made from the graphs, because the estimated recall is then too high.
    """

    use_default: Literal["auto", "never"] = "auto"
    min_count: AutoCount = "auto"
    min_members: Count = 2
    max_annotation_recall: dict[
        Literal["object", "attribute", "relation"], Annotated[float, msgspec.Meta(ge=0, le=1)]
    ] = msgspec.field(default_factory=dict)


# A scene graph names about as much as so many questions.
QUESTIONS_PER_GRAPH = 10
# From so many scene graphs on, `auto` needs one more occurrence of a name.
MIN_COUNT_STEPS = (1_000, 10_000)


def choose_min_count(num_graphs: int, num_questions: int) -> int:
    """Return how often a name must occur so that it is probably no typing error, by the amount of data.

    Args:
        num_graphs: number of scene graphs.
        num_questions: number of questions. They count only if there is no graph.

    Example:
        >>> choose_min_count(0, 150), choose_min_count(1_000, 0), choose_min_count(85_638, 1_000_000)
        (1, 2, 3)
    """
    size = num_graphs or num_questions // QUESTIONS_PER_GRAPH
    return 1 + sum(size >= step for step in MIN_COUNT_STEPS)


DEFAULT_VOCABULARY_PATH = Path(__file__).with_name("default_vocabulary.json")
# From so many scene graphs on, the default vocabulary is not used.
MAX_SCENES_WITH_DEFAULT = 500


@cache
def load_default_vocabulary() -> Vocabulary:
    """Load the default vocabulary, which was counted in Visual Genome and in questions of GQA."""
    return msgspec.json.decode(DEFAULT_VOCABULARY_PATH.read_bytes(), type=Vocabulary)


def add_default_vocabulary(own: Vocabulary, weight: float) -> Vocabulary:
    """Add the counts of the default vocabulary to those of a data set.

    Args:
        own: the vocabulary of the data set. Its types of attributes and members of categories take precedence.
        weight: the factor in (0, 1] of the default's counts. Counts are rounded, and those of 0 are left out.
    """
    default = load_default_vocabulary()
    add_counts = partial(_add_scaled, weight=weight)
    objects = dict(own.objects)
    for name, entry in default.objects.items():
        added = add_object_counts(own.objects.get(name), entry, weight)
        if added.count:
            objects[name] = added
    triples = add_counts(
        {triple[:3]: triple[3] for triple in own.relation_counts},
        {triple[:3]: triple[3] for triple in default.relation_counts},
    )
    return msgspec.structs.replace(
        own,
        objects=dict(sorted(objects.items())),
        attributes=add_counts(own.attributes, default.attributes),
        attribute_types=dict(sorted((default.attribute_types | own.attribute_types).items())),
        relations=add_counts(own.relations, default.relations),
        categories=_unite_members(own.categories, default.categories),
        locations=add_counts(own.locations, default.locations),
        weathers=add_counts(own.weathers, default.weathers),
        attribute_alternatives=_unite_members(own.attribute_alternatives, default.attribute_alternatives),
        presupposed_objects=add_counts(own.presupposed_objects, default.presupposed_objects),
        presupposed_properties=add_counts(own.presupposed_properties, default.presupposed_properties),
        relation_counts=tuple((*triple, count) for triple, count in triples.items()),
        cooccurrence=_add_cooccurrence(own.cooccurrence, default.cooccurrence, weight),
        has_default=True,
    )


def add_object_counts(own: ObjectEntry | None, other: ObjectEntry, weight: float = 1.0) -> ObjectEntry:
    """Return an entry with the counts of another one added.

    Args:
        own: the entry, or None for an entry without counts.
        other: the other entry, with the same name.
        weight: the factor of the other entry's counts. Counts are rounded.
    """
    return msgspec.structs.replace(
        other,
        count=(own.count if own else 0) + round(other.count * weight),
        attributes=_add_scaled(own.attributes if own else {}, other.attributes, weight),
        subject_of=_add_scaled(own.subject_of if own else {}, other.subject_of, weight),
        object_of=_add_scaled(own.object_of if own else {}, other.object_of, weight),
    )


def _add_scaled(own: Mapping[K, int], other: Mapping[K, int], weight: float) -> dict[K, int]:
    """Return counts with other counts times a weight added, sorted by key. Counts that round to 0 are left out."""
    scaled = {key: round(count * weight) for key, count in other.items()}
    return _sum_counts([own, {key: count for key, count in scaled.items() if count}])


def _unite_members(
    own: Mapping[str, Collection[str]], other: Mapping[str, Collection[str]]
) -> dict[str, tuple[str, ...]]:
    """Return for each name the members of both mappings, sorted."""
    return {
        name: tuple(sorted({*own.get(name, ()), *other.get(name, ())}))
        for name in sorted(own.keys() | other.keys())
    }


def _add_cooccurrence(
    own: ObjectCooccurrence, default: ObjectCooccurrence, weight: float
) -> ObjectCooccurrence:
    """Add counts of questions. Counts of scene graphs stay as they are, because they list far more objects of an image."""
    if own.num_images and not own.from_questions:
        return own
    added = round(default.num_images * weight)
    pairs = {
        name: _add_scaled(own.pair_counts.get(name, {}), default.pair_counts.get(name, {}), weight)
        for name in sorted(own.pair_counts.keys() | default.pair_counts.keys())
    }
    total = own.num_images + added
    mean = (own.mean_names_per_image * own.num_images + default.mean_names_per_image * added) / max(total, 1)
    return ObjectCooccurrence(
        num_images=total,
        from_questions=True,
        mean_names_per_image=round(mean, 3),
        image_counts=_add_scaled(own.image_counts, default.image_counts, weight),
        pair_counts={name: others for name, others in pairs.items() if others},
        min_pair_count=max(own.min_pair_count, default.min_pair_count),
    )


class SceneGraphCounter:
    """Count the objects, attributes and relations of scene graphs.

    Attributes:
        name_counts: Number of objects of each name.
        attribute_counts: Number of objects of each name with each attribute.
        subject_of: How often an object of each name is the subject of each relation.
        object_of: How often an object of each name is the object of each relation.
        relation_counts: How often each (relation, subject name, object name) occurs. The relations "to the
            left of" and "to the right of" are not counted.
        place_counts: Number of images that show each place.
        weather_counts: Number of images that show each weather.
        names_by_image: The distinct object names of each image.
    """

    def __init__(self) -> None:
        self.name_counts: Counter[str] = Counter()
        self.place_counts: Counter[str] = Counter()
        self.weather_counts: Counter[str] = Counter()
        self.attribute_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.subject_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.object_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.relation_counts: Counter[Triple] = Counter()
        self.names_by_image: list[tuple[str, ...]] = []

    def add_scene(self, scene: SceneGraph) -> None:
        """Count a scene graph."""
        objects = [(obj.object_id, obj.name, obj.attributes) for obj in scene.objects]
        relations = (
            (obj.object_id, relation.name, relation.object_id)
            for obj in scene.objects
            for relation in obj.relations
        )
        self._add_objects(objects, relations)
        self.place_counts.update(filter(None, [scene.location]))
        self.weather_counts.update(filter(None, [scene.weather]))

    def add_evidence(self, evidence: Evidence) -> None:
        """Count the evidence about one image. Objects without a name are ignored."""
        named = [(obj, obj.label or next(iter(obj.names), "")) for obj in evidence.objects]
        objects = [(obj.object_id, name, tuple(obj.attributes)) for obj, name in named if name]
        self._add_objects(objects, evidence.relations)
        self.place_counts.update(filter(None, [evidence.scene.get("place")]))
        self.weather_counts.update(filter(None, [evidence.scene.get("weather")]))

    def _add_objects(
        self, objects: Sequence[tuple[str, str, Sequence[str]]], relations: Iterable[Triple]
    ) -> None:
        names = {object_id: name for object_id, name, _ in objects}
        self.name_counts.update(names.values())
        self.names_by_image.append(tuple({sys.intern(name): None for name in names.values()}))
        for _, name, attributes in objects:
            self.attribute_counts[name].update(attributes)
        for subject, relation, other in relations:
            if subject in names and other in names:
                self.subject_of[names[subject]][relation] += 1
                self.object_of[names[other]][relation] += 1
                if relation not in LEFT_RIGHT_RELATIONS:
                    self.relation_counts[relation, names[subject], names[other]] += 1

    def make_entry(self, name: str) -> ObjectEntry:
        """Return the vocabulary entry of a name."""
        return ObjectEntry(
            name=name,
            count=self.name_counts[name],
            number=get_grammatical_number(name),
            attributes=_sum_counts([self.attribute_counts[name]]),
            subject_of=_sum_counts([self.subject_of[name]]),
            object_of=_sum_counts([self.object_of[name]]),
        )


class ProgramCounter:
    """Collect from programs the types of attributes, the members of categories and what questions presuppose.

    Args:
        name_by_object: (image id, object id) -> the name of the object in the scene graph.

    Attributes:
        num_programs: Number of questions with a program.
        presupposed_name_counts: For each name the number of questions that presuppose an object of that name.
        presupposed_value_counts: For each attribute, position and relation the number of questions that
            presuppose that an object has this property.
    """

    def __init__(self, name_by_object: Mapping[tuple[str, str], str]) -> None:
        self._name_by_object = name_by_object
        self._type_counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._co_options: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self.num_programs = 0
        self.presupposed_name_counts: Counter[str] = Counter()
        self.presupposed_value_counts: Counter[str] = Counter()

    def add_question(self, question: Question) -> None:
        """Count a question. A question without a program is ignored.

        Raises:
            UserError: The program is malformed.
        """
        if not question.program:
            return
        program = parse_program(question.program, question.question_id)
        self.num_programs += 1
        self._add_attributes(program, question.answer)
        self._add_members(program, question)
        presupposed = [step for step in program if not step.is_asserted]
        self.presupposed_name_counts.update({step.name for step in presupposed} - UNINFORMATIVE_NAMES - {""})
        descriptions = (
            step for step in presupposed if step.verb in ("filter", "relate") and not step.is_negated
        )
        self.presupposed_value_counts.update({step.values[0] for step in descriptions})

    def _add_attributes(self, program: Program, answer: str) -> None:
        for step in program:
            values = (answer,) if step.verb == "query" else step.values
            has_values = step.verb in ("filter", "verify", "choose", "query")
            if not has_values or program[step.inputs[0]].name == SCENE:
                continue
            for value in values:
                if step.type not in _NON_ATTRIBUTE_TYPES:
                    self._type_counts[value][step.type] += 1
                elif step.verb == "choose" and not step.type:
                    self._co_options[value].update(values)

    def _add_members(self, program: Program, question: Question) -> None:
        """Collect members of categories.

        If a question calls an object "furniture", and the scene graph or the answer calls the same object
        "couch", then "couch" is a member of the category "furniture".
        """
        for step in program:
            keys = [(question.image_id, object_id) for object_id in step.object_ids]
            self._members[step.name].update(
                self._name_by_object[key] for key in keys if key in self._name_by_object
            )
        last = program[-1]
        if last.type == "name" and last.inputs:
            members = (question.answer,) if last.verb == "query" else last.values
            self._members[program[find_root_step(program, last.inputs[0])].name].update(members)

    def get_attribute_types(self) -> dict[str, str]:
        """Return the most frequent GQA type of each attribute."""
        types = sorted(self._type_counts.items())
        return {value: min(counts, key=lambda type_: (-counts[type_], type_)) for value, counts in types}

    def get_alternatives(self) -> dict[str, tuple[str, ...]]:
        """Return for each attribute without a type the alternatives in questions, as in "open or closed"."""
        return {value: tuple(sorted(others - {value})) for value, others in sorted(self._co_options.items())}

    def get_categories(self, min_members: int) -> dict[str, tuple[str, ...]]:
        """Return the members of each category that has at least `min_members` different members."""
        named = sorted(self._members.keys() - UNINFORMATIVE_NAMES - {""})
        members = {name: sorted(self._members[name] - {name, ""}) for name in named}
        return {name: tuple(others) for name, others in members.items() if len(others) >= min_members}


def build_vocabulary(
    scenes: Iterable[SceneGraph],
    questions: Iterable[Question],
    params: VocabularyParams,
    make_partial_graphs: Callable[[Lexicon, Collection[str]], Iterable[PartialGraph]],
) -> Vocabulary:
    """Build the vocabulary of scene graphs and questions.

    Args:
        scenes: The published scene graphs.
        questions: The questions.
        params: The parameters of the stage.
        make_partial_graphs: A function that makes the partial graphs. Its arguments are the lexicon and the
            ids of the images that have a published graph. Partial graphs are counted only if no graph is
            published.

    Returns:
        The vocabulary, still without the annotation recall. The vocabulary is empty if there are neither
        scene graphs nor programs.

    Raises:
        UserError: No name of the scene graphs or programs occurs `min_count` times, or a program is
            malformed.
    """
    scene_counter = SceneGraphCounter()
    names: dict[tuple[str, str], str] = {}
    published: set[str] = set()
    for scene in track(scenes, "vocabulary: scenes", unit="scene"):
        scene_counter.add_scene(scene)
        published.add(scene.image_id)
        names.update(((scene.image_id, obj.object_id), sys.intern(obj.name)) for obj in scene.objects)
    program_counter = ProgramCounter(names)
    num_questions = 0
    for question in track(questions, "vocabulary: programs", unit="question"):
        num_questions += 1
        program_counter.add_question(question)
    types = program_counter.get_attribute_types()
    categories = program_counter.get_categories(params.min_members)
    lexicon = Lexicon(categories, types)
    partial_graphs = make_partial_graphs(lexicon, published)
    for graph in () if published else partial_graphs:
        scene_counter.add_evidence(build_question_evidence(graph, lexicon))
    min_count = params.min_count
    if min_count == "auto":
        min_count = choose_min_count(len(published), num_questions)
    kept = sorted(name for name, count in scene_counter.name_counts.items() if count >= min_count)
    if not kept and (published or program_counter.num_programs):
        raise UserError(
            f"the vocabulary is empty: {len(published):,} scene graphs and {program_counter.num_programs:,}"
            f" programs of questions name no object at least {min_count} times. Lower"
            " vocabulary.min_count in params.yaml, or provide more scene graphs or questions"
        )
    cooccurrence = count_cooccurrences(
        scene_counter.names_by_image, {*kept, *categories}, lexicon, is_partial=not published
    )
    own = Vocabulary(
        objects={name: scene_counter.make_entry(name) for name in kept},
        attributes=_sum_counts(scene_counter.attribute_counts[name] for name in kept),
        attribute_types=types,
        relations=_sum_counts(scene_counter.subject_of[name] for name in kept),
        categories=categories,
        locations=_sum_counts([scene_counter.place_counts]),
        weathers=_sum_counts([scene_counter.weather_counts]),
        attribute_alternatives=program_counter.get_alternatives(),
        presupposed_objects=_sum_counts([program_counter.presupposed_name_counts]),
        presupposed_properties=_sum_counts([program_counter.presupposed_value_counts]),
        relation_counts=tuple(
            (*triple, count) for triple, count in sorted(scene_counter.relation_counts.items())
        ),
        cooccurrence=cooccurrence,
    )

    weight = max(1 - len(published) / MAX_SCENES_WITH_DEFAULT, 0) if params.use_default == "auto" else 0
    return add_default_vocabulary(own, weight) if weight else own


def _sum_counts(counters: Iterable[Mapping[K, int]]) -> dict[K, int]:
    """Return the sum of counters, sorted by key."""
    total: Counter[K] = Counter()
    for counts in counters:
        total.update(counts)
    return dict(sorted(total.items()))


def write_partial_graphs(
    folders: DatasetFolders, lexicon: Lexicon, published_image_ids: Collection[str]
) -> Iterator[PartialGraph]:
    """Write the partial graphs of images to `reconstructed.jsonl` and read them back one by one.

    Graphs are built from the balanced and the unbalanced questions. They are written for the images of the
    benchmark and for all other images without a published scene graph, sorted by image id.

    Args:
        folders: The folders of the data set.
        lexicon: The categories and attribute types of the data set.
        published_image_ids: The ids of the images with a published scene graph.

    Returns:
        The partial graphs, read back one by one.
    """
    path = folders.stage_dir("vocabulary") / "reconstructed.jsonl"
    inputs = partial(_load_inputs, folders, lexicon)
    benchmark_ids = {image.image_id for image in folders.read_records(ImageRecord)}
    image_ids = sorted(set(inputs()[0]) - (set(published_image_ids) - benchmark_ids))
    with atomic_write(path) as file:
        lines = ordered_map(encode_partial_graph, image_ids, inputs, choose_num_workers(len(image_ids)))
        for line in track(lines, "vocabulary: partial graphs", len(image_ids), "image"):
            file.write(line)
    return read_jsonl(path, PartialGraph)


def _load_inputs(folders: DatasetFolders, lexicon: Lexicon) -> tuple[GroupedIndex[Question], Lexicon]:
    files = [folders.stage_dir("ingest") / f"{name}.jsonl" for name in ("questions", "unbalanced")]
    return GroupedIndex(files, Question, "image_id"), lexicon


def encode_partial_graph(inputs: tuple[GroupedIndex[Question], Lexicon], image_id: str) -> bytes:
    """Return the partial graph of one image as a JSON line.

    The result is empty if no question about the image has both a program and an answer.
    """
    questions, lexicon = inputs
    graph = build_partial_graph(questions[image_id], lexicon)
    return encode_jsonl([graph] if graph else [])
