"""Complete scene graphs for images of which only questions are known: made up, but so that the questions have their answers.

An image gets the things, looks and relations that its questions speak of, with their answers. Then it gets things of other
images of the same file, half of them of such as share a name with it, until it has as many as a scene graph of GQA; a
colour for each thing, and other looks and relations as things of these names have them by all questions of the
file. What would take a question its answer is left out again: the reader of the truth and the judge have to agree that it
has it. Where things are follows from what is said of it; of the rest the lot decides.

No photograph shows such a world: its things are those of questions, how they go together is only roughly so.
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

# Things of an image. About as many are said to be in GQA's graphs (Visual Genome's have 35: Krishna et al. 2017); we had
# none to count.
OBJECTS_PER_IMAGE = 17
MAX_OBJECT_TRIES = 60  # of adding things of another image
RELATION_TRIES_PER_OBJECT = 1.5  # tried for each thing, beside those to its left and right
EXTRA_ATTRIBUTE_RATE = (
    0.5  # of the types of looks, other than colour, that things of a name have, so many are told
)
IMAGE_WIDTH, IMAGE_HEIGHT, OBJECT_SIDE = 600, 400, 20  # of images and of things, in pixels
MIN_HORIZONTAL_GAP = 0.1  # of the image's width: what is "to the left" is at least so far
# Where a centre is, well within the borders of the zones, which judge and reader draw at 0.4 and 0.6.
_ZONES = {"left": (0.03, 0.34), "middle": (0.46, 0.54), "right": (0.66, 0.97)}
_ZONES |= {"top": _ZONES["left"], "bottom": _ZONES["right"]}
_LEFT_OF, _RIGHT_OF = "to the left of", "to the right of"


@dataclass(slots=True)
class SimulatedObject:
    """A made-up thing. `looks`: attribute -> its type; `relations`: name, the other's id; `zones`: type -> where it may be;
    `at`: its centre, as shares of the image."""

    object_id: str
    name: str
    attributes: dict[str, str]
    relations: list[tuple[str, str]]
    zones: Mapping[str, frozenset[str]] = field(default_factory=dict)
    center: tuple[float, float] = (0.5, 0.5)


class GraphSimulator:
    """Makes complete scenes for the images of a file of questions.

    Args:
        asked: image id -> its questions with programs and answers. graphs: their partial graphs.
        vocabulary: counted on the same questions.
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
        # Judge and reader of the truth are to know the same kinds of things, each by its own rules.
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
        """A complete scene, and those of the image's questions that have their answer in it."""
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
        """Whether a question has its answer, by the reader of the truth and by the judge."""
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
        """The things that an image's questions speak of, under other ids, dressed."""
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
        """Give a thing a colour, and other looks, as things of its name have them."""
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
        """The things with one more relation between two of them, of names that were seen so; [] if there is none."""
        one, other = (things[i] for i in rng.choice(len(things), 2, replace=len(things) < 2).tolist())
        relation = _sample_word(self.relations.get((one.name, other.name), {}), rng)
        held = {name for name, key in one.relations if key == other.object_id}
        back = {name for name, key in other.relations if key == one.object_id}
        against = {ANTONYMS.get(relation, ""), relation}
        if one is other or not relation or held & against or back & {relation, *_inverse_of(relation)}:
            return []
        relations = [*one.relations, (relation, other.object_id)]
        changed = SimulatedObject(one.object_id, one.name, one.looks, relations, one.zones, one.at)
        return [changed if thing is one else thing for thing in things]

    def _build_scene(self, image_id: str, things: Sequence[SimulatedObject]) -> SceneGraph:
        """The scene with every relation that holds, both ways where both have a name."""
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
    """The inverse of a relation, if it has one."""
    name = canonicalize_relation(relation)
    return (INVERSES[name],) if name in INVERSES else ()


def _sample_word(counts: Mapping[str, int], rng: np.random.Generator) -> str:
    """A word drawn as often as counted; "" if there is none."""
    words = sorted(counts)
    weights = np.array([counts[word] for word in words], float)
    return str(rng.choice(words, p=weights / weights.sum())) if words else ""


def _place_objects(
    things: Sequence[SimulatedObject], placed: Sequence[SimulatedObject], rng: np.random.Generator
) -> None:
    """Put things where they may be, and on the side of each other that is told, if in a hundred tries that can be done."""
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
    """Whether a thing is left and right of the things placed before as it is told of either."""
    x = thing.center[0]
    for other in placed.values():
        told = [(name, 1) for name, key in thing.relations if key == other.object_id]
        told += [(name, -1) for name, key in other.relations if key == thing.object_id]
        for name, sign in told:
            way = {_LEFT_OF: 1, _RIGHT_OF: -1}.get(canonicalize_relation(name), 0) * sign
            if way and way * (other.center[0] - x) < MIN_HORIZONTAL_GAP:
                return False
    return True
