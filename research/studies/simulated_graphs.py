"""Complete scene graphs for pictures of which only questions are known: made up, but so that the questions have their answers.

A picture gets the things, looks and relations that its questions speak of, with their answers. Then it gets things of other
pictures of the same file, half of them of such as share a name with it, until it has as many as a scene graph of GQA; a
colour for each thing, and other looks and relations as things of these names have them by all questions of the
file. What would take a question its answer is left out again: the reader of the truth and the judge have to agree that it
has it. Where things are follows from what is said of it; of the rest the lot decides.

No photograph shows such a world: its things are those of questions, how they go together is only roughly so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.core.randomness import generator
from pipeline.core.records import Question, Relation, Scene, SceneObject, Vocabulary
from pipeline.language.functional_programs import OVERLAPPING, parse
from pipeline.language.lexicon import Lexicon
from pipeline.language.nouns import lemma
from pipeline.language.relations import ANTONYMS, INVERSES, plain_relation
from pipeline.language.similarity import same_answer
from pipeline.verifier.evidence import Facts, facts_of
from pipeline.verifier.partial_graphs import Reconstructed, facts_known
from pipeline.verifier.verification import execute
from research.simulated_annotators.answerability import Unclear, obstacle
from research.simulated_annotators.word_senses import WordSenses

# Things of a picture. About as many are said to be in GQA's graphs (Visual Genome's have 35: Krishna et al. 2017); we had
# none to count.
THINGS = 17
TRIES = 60  # of adding things of another picture
RELATIONS = 1.5  # tried for each thing, beside those to its left and right
OTHER_LOOKS = 0.5  # of the types of looks, other than colour, that things of a name have, so many are told
WIDTH, HEIGHT, SIDE = 600, 400, 20  # of pictures and of things, in pixels
APART = 0.1  # of the picture's width: what is "to the left" is at least so far
# Where a centre is, well within the borders of the zones, which judge and reader draw at 0.4 and 0.6.
_ZONES = {"left": (0.03, 0.34), "middle": (0.46, 0.54), "right": (0.66, 0.97)}
_ZONES |= {"top": _ZONES["left"], "bottom": _ZONES["right"]}
_LEFT, _RIGHT = "to the left of", "to the right of"


@dataclass(slots=True)
class Made:
    """A made-up thing. `looks`: attribute -> its type; `relations`: name, the other's id; `zones`: type -> where it may be;
    `at`: its centre, as shares of the picture."""

    object_id: str
    name: str
    looks: dict[str, str]
    relations: list[tuple[str, str]]
    zones: Mapping[str, frozenset[str]] = field(default_factory=dict)
    at: tuple[float, float] = (0.5, 0.5)


class Worlds:
    """Makes complete scenes for the pictures of a file of questions.

    Args:
        asked: picture id -> its questions with programs and answers. graphs: their partial graphs.
        vocabulary: counted on the same questions.
    """

    def __init__(
        self,
        asked: Mapping[str, Sequence[Question]],
        graphs: Iterable[Reconstructed],
        vocabulary: Vocabulary,
        seed: int,
    ) -> None:
        self.asked, self.vocabulary, self.seed = asked, vocabulary, seed
        self.lexicon = Lexicon(vocabulary.categories, vocabulary.attribute_types)
        # Judge and reader of the truth are to know the same kinds of things, each by its own rules.
        kinds = {
            name: sorted((self.lexicon.kinds(name) or frozenset()) & set(map(lemma, vocabulary.objects)))
            for name in {*vocabulary.categories, *map(lemma, vocabulary.objects)}
        }
        categories = {name: tuple(members) for name, members in sorted(kinds.items()) if members != [name]}
        self.words = WordSenses(categories=categories, attribute_types=vocabulary.attribute_types)
        self.facts = {graph.picture_id: facts_known(graph, self.lexicon) for graph in graphs}
        self.showing: dict[str, list[str]] = {}
        for key, facts in sorted(self.facts.items()):
            for name in sorted({name for thing in facts.things for name in thing.names}):
                self.showing.setdefault(name, []).append(key)
        self.relations: dict[tuple[str, str], dict[str, int]] = {}
        for relation, subject, other, count in vocabulary.related:
            self.relations.setdefault((subject, other), {})[relation] = count

    def scene(self, picture_id: str) -> tuple[Scene, list[Question]]:
        """A complete scene, and those of the picture's questions that have their answer in it."""
        rng = generator(self.seed, "stand-in", picture_id)
        facts = self.facts[picture_id]
        things = self._of(facts, rng)
        _place(things, [], rng)
        scene = self._scene(picture_id, things)
        questions = [row for row in self.asked[picture_id] if self._answers(row, scene)]
        names = {name for thing in facts.things for name in thing.names}
        alike = sorted({key for name in names for key in self.showing[name]} - {picture_id})
        every = sorted(self.facts.keys() - {picture_id})

        def adopt(more: list[Made]) -> bool:
            nonlocal things, scene
            tried = self._scene(picture_id, more)
            if good := all(self._answers(row, tried) for row in questions):
                things, scene = more, tried
            return good

        for number in range(TRIES):
            donors = alike if alike and rng.random() < 0.5 else every
            new = self._of(self.facts[str(rng.choice(donors))], rng, f"{picture_id}-{number}-")
            absent = any(self.lexicon.is_one((t.name,), name) for t in new for name in facts.absent)
            if 0 < len(new) <= THINGS - len(things) and not absent:
                _place(new, things, rng)
                adopt([*things, *new])
        for _ in range(round(RELATIONS * len(things))):
            if more := self._with_relation(things, rng):
                adopt(more)
        return scene, questions

    def _answers(self, question: Question, scene: Scene) -> bool:
        """Whether a question has its answer, by the reader of the truth and by the judge."""
        try:
            if obstacle(question.program, scene, self.words):
                return False
        except Unclear:
            return False
        outcome = execute(parse(question.program, question.question_id), facts_of(scene, self.lexicon))
        return len(outcome.answers) == 1 and same_answer(outcome.answers[0], question.answer)

    def _of(self, facts: Facts, rng: np.random.Generator, prefix: str = "") -> list[Made]:
        """The things that a picture's questions speak of, under other ids, dressed."""
        objects, categories = self.vocabulary.objects, self.vocabulary.categories
        things = {}
        for thing in facts.things:
            name = thing.label or next(iter(thing.names), "") or str(rng.choice(sorted(objects)))
            members = sorted(objects.keys() & set(categories.get(name, ()))) if name not in objects else ()
            name = str(rng.choice(members)) if members else name
            key = prefix + thing.object_id
            things[key] = Made(key, name, dict(thing.attributes), [], {} if prefix else thing.positions)
            self._dress(things[key], thing.denied, rng)
        for subject, relation, other in sorted(facts.related):
            things[prefix + subject].relations.append((relation, prefix + other))
        return list(things.values())

    def _dress(self, thing: Made, denied: set[str], rng: np.random.Generator) -> None:
        """Give a thing a colour, and other looks, as things of its name have them."""
        entry, types = self.vocabulary.objects.get(thing.name), self.vocabulary.attribute_types
        seen: dict[str, dict[str, int]] = {"color": {}}
        for attribute, count in sorted(entry.attributes.items()) if entry else ():
            seen.setdefault(types.get(attribute, ""), {})[attribute] = count
        for type_, counts in sorted(seen.items()):
            if type_ in thing.looks.values() or type_ in OVERLAPPING:
                continue
            if type_ == "color" or rng.random() < OTHER_LOOKS:
                if type_ == "color" and rng.random() < 1 / (1 + sum(counts.values())):
                    counts = {a: n for a, n in self.vocabulary.attributes.items() if types.get(a) == type_}
                if value := _drawn({a: n for a, n in counts.items() if a not in denied}, rng):
                    thing.looks[value] = type_

    def _with_relation(self, things: list[Made], rng: np.random.Generator) -> list[Made]:
        """The things with one more relation between two of them, of names that were seen so; [] if there is none."""
        one, other = (things[i] for i in rng.choice(len(things), 2, replace=len(things) < 2).tolist())
        relation = _drawn(self.relations.get((one.name, other.name), {}), rng)
        held = {name for name, key in one.relations if key == other.object_id}
        back = {name for name, key in other.relations if key == one.object_id}
        against = {ANTONYMS.get(relation, ""), relation}
        if one is other or not relation or held & against or back & {relation, *_also(relation)}:
            return []
        relations = [*one.relations, (relation, other.object_id)]
        changed = Made(one.object_id, one.name, one.looks, relations, one.zones, one.at)
        return [changed if thing is one else thing for thing in things]

    def _scene(self, picture_id: str, things: Sequence[Made]) -> Scene:
        """The scene with every relation that holds, both ways where both have a name."""
        related: dict[str, set[tuple[str, str]]] = {thing.object_id: set() for thing in things}
        for thing in things:
            for relation, other in thing.relations:
                if plain_relation(relation) not in (_LEFT, _RIGHT):
                    related[thing.object_id].add((relation, other))
                    related[other].update((name, thing.object_id) for name in _also(relation))
            for other in things:
                if other.at[0] - thing.at[0] >= APART:
                    related[thing.object_id].add((_LEFT, other.object_id))
                    related[other.object_id].add((_RIGHT, thing.object_id))
        scene = self.facts[picture_id].scene
        outdoors = scene.get("location") == "outdoors"
        weather = (
            _drawn(self.vocabulary.weathers, generator(self.seed, "weather", picture_id)) if outdoors else ""
        )
        return Scene(
            picture_id=picture_id,
            split=self.asked[picture_id][0].split,
            width=WIDTH,
            height=HEIGHT,
            objects=tuple(
                SceneObject(
                    object_id=thing.object_id,
                    name=thing.name,
                    x=round(thing.at[0] * WIDTH) - SIDE // 2,
                    y=round(thing.at[1] * HEIGHT) - SIDE // 2,
                    w=SIDE,
                    h=SIDE,
                    attributes=tuple(sorted(thing.looks)),
                    relations=tuple(
                        Relation(name=name, object_id=other)
                        for name, other in sorted(related[thing.object_id])
                    ),
                )
                for thing in things
            ),
            location=scene.get("place", ""),
            weather=scene.get("weather", weather),
            complete=True,
        )


def _also(relation: str) -> tuple[str, ...]:
    """The inverse of a relation, if it has one."""
    name = plain_relation(relation)
    return (INVERSES[name],) if name in INVERSES else ()


def _drawn(counts: Mapping[str, int], rng: np.random.Generator) -> str:
    """A word drawn as often as counted; "" if there is none."""
    words = sorted(counts)
    weights = np.array([counts[word] for word in words], float)
    return str(rng.choice(words, p=weights / weights.sum())) if words else ""


def _place(things: Sequence[Made], placed: Sequence[Made], rng: np.random.Generator) -> None:
    """Put things where they may be, and on the side of each other that is told, if in a hundred tries that can be done."""
    by_id = {thing.object_id: thing for thing in placed}
    for thing in things:
        spans = [
            _ZONES[str(rng.choice(sorted(thing.zones[type_])))] if type_ in thing.zones else (0.03, 0.97)
            for type_ in ("hposition", "vposition")
        ]
        for _ in range(100):
            x, y = (float(rng.uniform(low, high)) for low, high in spans)
            thing.at = (x, y)
            if _on_its_side(thing, by_id):
                break
        by_id[thing.object_id] = thing


def _on_its_side(thing: Made, placed: Mapping[str, Made]) -> bool:
    """Whether a thing is left and right of the things placed before as it is told of either."""
    x = thing.at[0]
    for other in placed.values():
        told = [(name, 1) for name, key in thing.relations if key == other.object_id]
        told += [(name, -1) for name, key in other.relations if key == thing.object_id]
        for name, sign in told:
            way = {_LEFT: 1, _RIGHT: -1}.get(plain_relation(name), 0) * sign
            if way and way * (other.at[0] - x) < APART:
                return False
    return True
