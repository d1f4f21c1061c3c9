"""Whether a question has an answer, told from the complete truth: what a simulated annotator sees.

It follows the functional program step by step. The first presupposition that fails makes the question
unanswerable; in the complete truth, what is not listed does not hold. This is written apart from the judge of
the pipeline and shares nothing with it, so that simulated verdicts check the judge and do not echo it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.core.records import Category, Scene, SceneObject, Step
from simulation.word_senses import ANYTHING, Words, forms, same_relation

BORDER = 0.04  # of the picture: nearer than this to a border between left, middle and right, one cannot tell
SCENE = "scene"


class Unanswerable(Exception):
    """A presupposition fails, or not exactly one answer is right."""

    def __init__(self, category: Category) -> None:
        super().__init__(category)
        self.category = category


class Unclear(Exception):
    """A careful annotator could not tell, or this program cannot be followed."""


def obstacle(program: tuple[Step, ...], scene: Scene, words: Words) -> Category | None:
    """Why the question that the program asks has no answer at this scene; None when it has one.

    Raises:
        Unclear: it cannot be told.
    """
    look = _Look(scene, words)
    try:
        try:
            look.follow(program)
        except Unclear:  # where exactly something is may be unclear, and yet that something else is not there
            if not look.lacks(program):
                raise
            return "missing object"
    except Unanswerable as reason:
        return reason.category
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise Unclear(f"the program is malformed: {error}") from error
    return None


class _Look:
    def __init__(self, scene: Scene, words: Words) -> None:
        self.scene, self.words = scene, words
        self.types = set(words.attribute_types.values())
        self.relations = {
            (thing.object_id, to.object_id): set() for thing in scene.objects for to in thing.relations
        }
        for thing in scene.objects:
            for to in thing.relations:
                self.relations[thing.object_id, to.object_id].add(to.name)

    def follow(self, program: tuple[Step, ...]) -> None:
        if not program:
            raise Unclear("there is no program")
        asserted = _asserted(program)
        found: list[list[SceneObject] | str] = []
        for number, step in enumerate(program):
            verb, _, kind = step.operation.partition(" ")
            argument = _without_id(step.argument)
            inputs = [found[i] for i in step.dependencies]
            if verb == "select":
                things = SCENE if argument == SCENE else self.named(argument)
                lacking: Category = "missing object"
            elif verb == "filter":
                things = [thing for thing in inputs[0] if self.has(thing, kind, argument)]
                lacking = "wrong attribute"
            elif verb == "relate":
                name, relation, role = argument.rsplit(",", 2)
                things = [
                    thing
                    for thing in self.named(name)
                    if any(self.related(thing, relation, other, role) for other in inputs[0])
                ]
                lacking = "wrong relation" if self.named(name) else "missing object"
            else:
                self.ask(verb, kind, argument, inputs)
                things, lacking = SCENE, "no valid answer"
            if not things and number not in asserted:
                raise Unanswerable(lacking)
            found.append(things)

    def lacks(self, program: tuple[Step, ...]) -> bool:
        """Whether something that the program takes for granted is nowhere in the picture."""
        asserted = _asserted(program)
        names = {
            _without_id(step.argument).split(",")[0]
            for number, step in enumerate(program)
            if step.operation in ("select", "relate", "verify rel", "choose rel") and number not in asserted
        }
        return not all(self.named(name) for name in names - {SCENE})

    def ask(self, verb: str, kind: str, argument: str, inputs: list) -> None:
        """Raise unless the step has exactly one answer. Inputs are things, at least one, or the scene."""
        things = inputs[0]
        if verb in ("exist", "and", "or"):
            return  # yes or no, whatever there is
        if verb == "query":
            kind = argument
            self.one_answer(
                {self.of_scene(kind)} if things == SCENE else {self.value(thing, kind) for thing in things}
            )
        elif verb == "verify" and kind == "rel":
            name, relation, role = argument.rsplit(",", 2)
            others = self.required(name)
            self.one_answer(
                {
                    any(self.related(thing, relation, other, "o" if role == "s" else "s") for other in others)
                    for thing in things
                }
            )
        elif verb == "verify":
            self.one_answer(
                {self.of_scene(kind)}
                if things == SCENE  # whether it is so or not: there is an answer
                else {self.has(thing, kind, argument) for thing in things}
            )
        elif verb == "choose" and kind == "rel":
            name, options, role = argument.rsplit(",", 2)
            self.one_answer(
                {
                    _only(option for option in options.split("|") if self.related(thing, option, other, role))
                    for thing in self.required(name)
                    for other in things
                    if thing is not other
                }
            )
        elif verb == "choose":
            options = argument.split("|")
            self.one_answer(
                {_only({self.of_scene(kind)} & set(options))}
                if things == SCENE
                else {
                    _only(option for option in options if self.is_or_has(thing, kind, option))
                    for thing in things
                }
            )
        elif verb in ("same", "different"):
            self.compare(kind or argument, inputs)
        elif verb == "common":
            shared = {frozenset(self.types_shared(a, b)) for a in inputs[0] for b in inputs[1] if a is not b}
            self.one_answer({_only(types) for types in shared})
        else:
            raise Unclear(f"nobody knows what {verb} asks")

    def one_answer(self, answers: set) -> None:
        """Several things may be meant as long as the answer is the same for all."""
        if len(answers) > 1:
            raise Unanswerable("underspecified")
        if answers <= {None, ""}:
            raise Unanswerable("no valid answer")

    def compare(self, kind: str, inputs: list) -> None:
        sides = [{self.value(thing, kind) for thing in things} for things in inputs]
        if len(inputs) == 1 and len(inputs[0]) < 2:
            raise Unanswerable("missing object")
        if any(None in values for values in sides):
            raise Unanswerable("no valid answer")
        if len(inputs) == 2 and any(len(values) > 1 for values in sides):
            raise Unanswerable("underspecified")

    def types_shared(self, a: SceneObject, b: SceneObject) -> set[str]:
        return {
            self.words.attribute_types.get(value, value) for value in set(a.attributes) & set(b.attributes)
        }

    def required(self, name: str) -> list[SceneObject]:
        things = self.named(name)
        if not things:
            raise Unanswerable("missing object")
        return things

    def named(self, name: str) -> list[SceneObject]:
        if name in ANYTHING:
            return list(self.scene.objects)
        wanted = self.words.kinds(name)
        return [thing for thing in self.scene.objects if not wanted.isdisjoint(forms(thing.name))]

    def is_or_has(self, thing: SceneObject, kind: str, option: str) -> bool:
        if kind == "name":
            return not self.words.kinds(option).isdisjoint(forms(thing.name))
        return self.has(thing, kind, option)

    def has(self, thing: SceneObject, kind: str, value: str) -> bool:
        if value.startswith("not(") and value.endswith(")"):
            return not self.has(thing, kind, value[4:-1])
        if kind in ("hposition", "vposition"):
            return self.position(thing, kind) == value
        return value in thing.attributes

    def value(self, thing: SceneObject, kind: str) -> str | None:
        """The thing's value of a type, None if it has none."""
        if kind in ("name", "type"):
            return min(forms(thing.name), key=lambda form: (len(form), form))
        if kind in ("hposition", "vposition"):
            return self.position(thing, kind)
        if kind not in self.types:
            raise Unclear(f"nobody knows which attributes are a {kind}")
        values = [value for value in thing.attributes if self.words.attribute_types.get(value) == kind]
        if len(values) > 1:
            raise Unanswerable("underspecified")
        return values[0] if values else None

    def position(self, thing: SceneObject, kind: str) -> str:
        first, last = ("left", "right") if kind == "hposition" else ("top", "bottom")
        centre = (
            (thing.x + thing.w / 2) / self.scene.width
            if kind == "hposition"
            else (thing.y + thing.h / 2) / self.scene.height
        )
        if min(abs(centre - 0.4), abs(centre - 0.6)) < BORDER:
            raise Unclear(f"the {thing.name} is between {first}, middle and {last}")
        return first if centre < 0.4 else last if centre > 0.6 else "middle"

    def of_scene(self, kind: str) -> str:
        """The place, the weather, or whether this is indoors. Indoors there is no weather."""
        if kind == "location":
            return "outdoors" if self.scene.weather else "indoors"
        return self.scene.weather if kind == "weather" else self.scene.location

    def related(self, thing: SceneObject, relation: str, other: SceneObject, role: str) -> bool:
        """Whether `thing relation other` (role "s"), or `other relation thing` (role "o")."""
        if thing is other:
            return False
        if relation.startswith("same "):
            value = self.value(thing, relation.removeprefix("same "))
            return value is not None and value == self.value(other, relation.removeprefix("same "))
        pair = (thing, other) if role == "s" else (other, thing)
        names = self.relations.get((pair[0].object_id, pair[1].object_id), set())
        return any(same_relation(name, relation) for name in names)


def _without_id(argument: str) -> str:
    """`table,on,s (17)` -> `table,on,s`"""
    return re.sub(r"\s*\([-\d, ]*\)\s*$", "", argument).strip()


def _asserted(program: tuple[Step, ...]) -> set[int]:
    """Steps that "Is there ...?" asserts and does not presuppose: from `exist` back to the last name."""
    asserted = set()
    for step in program:
        if step.operation == "exist":
            number = step.dependencies[0]
            asserted.add(number)
            while program[number].operation.startswith("filter"):
                number = program[number].dependencies[0]
                asserted.add(number)
    return asserted


def _only(options: Iterable[str]) -> str | None:
    """The only option that is true, None when none or several are."""
    true = list(options)
    return true[0] if len(true) == 1 else None
