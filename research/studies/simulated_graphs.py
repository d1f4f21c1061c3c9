"""Simulate complete scene graphs for images of which only questions are known. In them, the questions have
their annotated answers.

An image gets the objects, attributes and relations that its questions mention, with their answers. Then it
gets objects of other images of the same file until it has as many objects as a scene graph of GQA. Half of
them come from images that share an object name with it. Each object gets a color, and other attributes and
relations as often as objects of these names have them in the questions of the file. An addition that would
change the answer of a question is undone: the program executor of the simulated annotators and the verifier
must both find the answer. Positions follow from what the questions say; the rest is random.

No photograph shows such a scene. Its objects are those of questions, and their combination is only roughly
realistic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.core.randomness import make_generator
from pipeline.core.records import Question, Relation, SceneGraph, SceneObject, Vocabulary
from pipeline.language.functional_programs import MULTI_VALUED_TYPES, parse_program
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemmatize
from pipeline.language.relations import ANTONYMS, INVERSES, canonicalize_relation
from pipeline.language.similarity import is_same_answer
from pipeline.verifier.evidence import Evidence, build_scene_evidence
from pipeline.verifier.partial_graphs import PartialGraph, build_question_evidence
from pipeline.verifier.verification import execute_program
from research.simulated_annotators.answerability import Unclear, find_obstacle
from research.simulated_annotators.word_senses import WordSenses

# Objects of an image. GQA's graphs are said to have about as many (Visual Genome's have 35: Krishna et al.
# 2017). There were no graphs to count.
OBJECTS_PER_IMAGE = 17
# Attempts to add objects of another image.
MAX_OBJECT_TRIES = 60
# Attempts for each object, in addition to relations to what is left and right of it.
RELATION_TRIES_PER_OBJECT = 1.5
# Probability that an object gets an attribute of each type that objects of its name have. It always gets a
# color.
EXTRA_ATTRIBUTE_RATE = 0.5
# Sizes of images and of objects in pixels.
IMAGE_WIDTH, IMAGE_HEIGHT, OBJECT_SIDE = 600, 400, 20
# Minimum distance of objects with "to the left of", as a fraction of the image's width.
MIN_HORIZONTAL_GAP = 0.1
# Ranges of centers, well within the zones. Verifier and simulated annotators put the borders at 0.4 and 0.6.
_ZONES = {"left": (0.03, 0.34), "middle": (0.46, 0.54), "right": (0.66, 0.97)}
_ZONES |= {"top": _ZONES["left"], "bottom": _ZONES["right"]}
_LEFT_OF, _RIGHT_OF = "to the left of", "to the right of"


@dataclass(slots=True)
class SimulatedObject:
    """A simulated object.

    Attributes:
        attributes: Attribute -> its type.
        relations: (name, id of the other object).
        zones: Type of position -> positions where the object may be.
        center: X and y as fractions of the image.
    """

    object_id: str
    name: str
    attributes: dict[str, str]
    relations: list[tuple[str, str]]
    zones: Mapping[str, frozenset[str]] = field(default_factory=dict)
    center: tuple[float, float] = (0.5, 0.5)


class GraphSimulator:
    """Simulate complete scenes for the images of a file of questions.

    Args:
        asked: Image id -> its questions with programs and answers.
        graphs: Partial graphs made from these questions.
        vocabulary: Counted on the same questions.
        seed: Seed of everything random.
    """

    def __init__(
        self,
        asked: Mapping[str, Sequence[Question]],
        graphs: Iterable[PartialGraph],
        vocabulary: Vocabulary,
        seed: int,
    ) -> None:
        self.asked, self.vocabulary, self.seed = asked, vocabulary, seed
        self.lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        # Verifier and simulated annotators must use the same hyponyms, although they look them up with different code.
        kinds = {
            name: sorted(
                (self.lexicon.get_hyponym_closure(name) or frozenset())
                & set(map(lemmatize, vocabulary.objects))
            )
            for name in {*vocabulary.categories, *map(lemmatize, vocabulary.objects)}
        }
        categories = {name: tuple(members) for name, members in sorted(kinds.items()) if members != [name]}
        self.words = WordSenses(categories=categories, attribute_types=vocabulary.attribute_types)
        self.facts = {graph.image_id: build_question_evidence(graph, self.lexicon) for graph in graphs}
        self.images_with_object: dict[str, list[str]] = {}
        for key, facts in sorted(self.facts.items()):
            for name in sorted({name for thing in facts.objects for name in thing.names}):
                self.images_with_object.setdefault(name, []).append(key)
        self.relations: dict[tuple[str, str], dict[str, int]] = {}
        for relation, subject, other, count in vocabulary.relation_counts:
            self.relations.setdefault((subject, other), {})[relation] = count

    def simulate_scene(self, image_id: str) -> tuple[SceneGraph, list[Question]]:
        """Return a complete scene, and those of the image's questions that have their answer in it."""
        rng = make_generator(self.seed, "stand-in", image_id)
        facts = self.facts[image_id]
        things = self._make_objects(facts, rng)
        _place_objects(things, [], rng)
        scene = self._build_scene(image_id, things)
        questions = [row for row in self.asked[image_id] if self._has_answer(row, scene)]
        names = {name for thing in facts.objects for name in thing.names}
        alike = sorted({key for name in names for key in self.images_with_object[name]} - {image_id})
        every = sorted(self.facts.keys() - {image_id})

        def adopt(more: list[SimulatedObject]) -> bool:
            nonlocal things, scene
            tried = self._build_scene(image_id, more)
            if good := all(self._has_answer(row, tried) for row in questions):
                things, scene = more, tried
            return good

        for number in range(MAX_OBJECT_TRIES):
            donors = alike if alike and rng.random() < 0.5 else every
            new = self._make_objects(self.facts[str(rng.choice(donors))], rng, f"{image_id}-{number}-")
            absent = any(self.lexicon.is_a((t.name,), name) for t in new for name in facts.absent_names)
            if 0 < len(new) <= OBJECTS_PER_IMAGE - len(things) and not absent:
                _place_objects(new, things, rng)
                adopt([*things, *new])
        for _ in range(round(RELATION_TRIES_PER_OBJECT * len(things))):
            if more := self._add_relation(things, rng):
                adopt(more)
        return scene, questions

    def _has_answer(self, question: Question, scene: SceneGraph) -> bool:
        """Return whether the question has its answer for both the simulated annotators' reader and the
        verifier.
        """
        try:
            if find_obstacle(question.program, scene, self.words):
                return False
        except Unclear:
            return False
        outcome = execute_program(
            parse_program(question.program, question.question_id), build_scene_evidence(scene, self.lexicon)
        )
        return len(outcome.answers) == 1 and is_same_answer(outcome.answers[0], question.answer)

    def _make_objects(
        self, facts: Evidence, rng: np.random.Generator, prefix: str = ""
    ) -> list[SimulatedObject]:
        """Make the objects that an image's questions mention, with new ids and further attributes."""
        objects, categories = self.vocabulary.objects, self.vocabulary.categories
        things = {}
        for thing in facts.objects:
            name = thing.label or next(iter(thing.names), "") or str(rng.choice(sorted(objects)))
            members = sorted(objects.keys() & set(categories.get(name, ()))) if name not in objects else ()
            name = str(rng.choice(members)) if members else name
            key = prefix + thing.object_id
            things[key] = SimulatedObject(
                key, name, dict(thing.attributes), [], {} if prefix else thing.possible_positions
            )
            self._add_attributes(things[key], thing.negated_attributes, rng)
        for subject, relation, other in sorted(facts.relations):
            things[prefix + subject].relations.append((relation, prefix + other))
        return list(things.values())

    def _add_attributes(self, thing: SimulatedObject, denied: set[str], rng: np.random.Generator) -> None:
        """Give an object a color, and other attributes as often as objects of its name have them."""
        entry, types = self.vocabulary.objects.get(thing.name), self.vocabulary.attribute_types
        seen: dict[str, dict[str, int]] = {"color": {}}
        for attribute, count in sorted(entry.attributes.items()) if entry else ():
            seen.setdefault(types.get(attribute, ""), {})[attribute] = count
        for type_, counts in sorted(seen.items()):
            if type_ in thing.attributes.values() or type_ in MULTI_VALUED_TYPES:
                continue
            if type_ == "color" or rng.random() < EXTRA_ATTRIBUTE_RATE:
                if type_ == "color" and rng.random() < 1 / (1 + sum(counts.values())):
                    counts = {a: n for a, n in self.vocabulary.attributes.items() if types.get(a) == type_}
                if value := _sample_word({a: n for a, n in counts.items() if a not in denied}, rng):
                    thing.attributes[value] = type_

    def _add_relation(self, things: list[SimulatedObject], rng: np.random.Generator) -> list[SimulatedObject]:
        """Return the objects with one more relation between two of them. [] if none is found."""
        one, other = (things[i] for i in rng.choice(len(things), 2, replace=len(things) < 2).tolist())
        relation = _sample_word(self.relations.get((one.name, other.name), {}), rng)
        held = {name for name, key in one.relations if key == other.object_id}
        back = {name for name, key in other.relations if key == one.object_id}
        against = {ANTONYMS.get(relation, ""), relation}
        if one is other or not relation or held & against or back & {relation, *_inverse_of(relation)}:
            return []
        relations = [*one.relations, (relation, other.object_id)]
        changed = SimulatedObject(one.object_id, one.name, one.attributes, relations, one.zones, one.center)
        return [changed if thing is one else thing for thing in things]

    def _build_scene(self, image_id: str, things: Sequence[SimulatedObject]) -> SceneGraph:
        """Build the scene with every relation that holds, and with inverse relations where they have a name."""
        related: dict[str, set[tuple[str, str]]] = {thing.object_id: set() for thing in things}
        for thing in things:
            for relation, other in thing.relations:
                if canonicalize_relation(relation) not in (_LEFT_OF, _RIGHT_OF):
                    related[thing.object_id].add((relation, other))
                    related[other].update((name, thing.object_id) for name in _inverse_of(relation))
            for other in things:
                if other.center[0] - thing.center[0] >= MIN_HORIZONTAL_GAP:
                    related[thing.object_id].add((_LEFT_OF, other.object_id))
                    related[other.object_id].add((_RIGHT_OF, thing.object_id))
        scene = self.facts[image_id].scene
        outdoors = scene.get("location") == "outdoors"
        weather = (
            _sample_word(self.vocabulary.weathers, make_generator(self.seed, "weather", image_id))
            if outdoors
            else ""
        )
        return SceneGraph(
            image_id=image_id,
            split=self.asked[image_id][0].split,
            width=IMAGE_WIDTH,
            height=IMAGE_HEIGHT,
            objects=tuple(
                SceneObject(
                    object_id=thing.object_id,
                    name=thing.name,
                    x=round(thing.center[0] * IMAGE_WIDTH) - OBJECT_SIDE // 2,
                    y=round(thing.center[1] * IMAGE_HEIGHT) - OBJECT_SIDE // 2,
                    w=OBJECT_SIDE,
                    h=OBJECT_SIDE,
                    attributes=tuple(sorted(thing.attributes)),
                    relations=tuple(
                        Relation(name=name, object_id=other)
                        for name, other in sorted(related[thing.object_id])
                    ),
                )
                for thing in things
            ),
            location=scene.get("place", ""),
            weather=scene.get("weather", weather),
            is_complete=True,
        )


def _inverse_of(relation: str) -> tuple[str, ...]:
    name = canonicalize_relation(relation)
    return (INVERSES[name],) if name in INVERSES else ()


def _sample_word(counts: Mapping[str, int], rng: np.random.Generator) -> str:
    """Sample a word in proportion to its count; "" if there is none."""
    words = sorted(counts)
    weights = np.array([counts[word] for word in words], float)
    return str(rng.choice(words, p=weights / weights.sum())) if words else ""


def _place_objects(
    things: Sequence[SimulatedObject], placed: Sequence[SimulatedObject], rng: np.random.Generator
) -> None:
    """Place objects in their zones and on the side of each other that their relations require, if 100 attempts suffice."""
    by_id = {thing.object_id: thing for thing in placed}
    for thing in things:
        spans = [
            _ZONES[str(rng.choice(sorted(thing.zones[type_])))] if type_ in thing.zones else (0.03, 0.97)
            for type_ in ("hposition", "vposition")
        ]
        for _ in range(100):
            x, y = (float(rng.uniform(low, high)) for low, high in spans)
            thing.center = (x, y)
            if _satisfies_sides(thing, by_id):
                break
        by_id[thing.object_id] = thing


def _satisfies_sides(thing: SimulatedObject, placed: Mapping[str, SimulatedObject]) -> bool:
    """Return whether an object is left or right of the objects placed before, as its relations say."""
    x = thing.center[0]
    for other in placed.values():
        relations = [(name, 1) for name, key in thing.relations if key == other.object_id]
        relations += [(name, -1) for name, key in other.relations if key == thing.object_id]
        for name, sign in relations:
            way = {_LEFT_OF: 1, _RIGHT_OF: -1}.get(canonicalize_relation(name), 0) * sign
            if way and way * (other.center[0] - x) < MIN_HORIZONTAL_GAP:
                return False
    return True
