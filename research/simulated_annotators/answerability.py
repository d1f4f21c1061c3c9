"""Decide from the complete ground truth whether a question has an answer. Simulated annotators use this module.

The functional program is executed step by step. The first presupposition that fails makes the question
unanswerable. In the complete ground truth, facts that are not listed are false. This code shares nothing with the
verifier of the pipeline, so that simulated verdicts test the verifier instead of repeating its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pipeline.core.records import Answerability, Category, SceneGraph, SceneObject, Step
from research.simulated_annotators.word_senses import WILDCARD_NAMES, WordSenses, get_forms, is_same_relation

# If the distance of an object to a border between left, middle and right is less than this fraction of the
# image, its position is unclear.
BORDER_MARGIN = 0.04
SCENE_OBJECT = "scene"

# The result of a step: the selected objects, or the scene.
Result = list[SceneObject] | str


class Unanswerable(Exception):
    """A presupposition fails, or the question does not have exactly one correct answer."""

    def __init__(self, category: Category) -> None:
        super().__init__(category)
        self.category: Category = category


class Unclear(Exception):
    """A careful annotator could not decide, or the program cannot be executed."""


def find_obstacle(program: tuple[Step, ...], scene: SceneGraph, words: WordSenses) -> Category | None:
    """Return why the question of a program has no answer in a scene; None if the question has an answer.

    Raises:
        Unclear: It cannot be decided whether the question has an answer.
    """
    look = _ProgramReader(scene, words)
    try:
        try:
            look.execute(program)
        except Unclear:
            # The position of an object is unclear. But if another object is clearly missing, the question is
            # unanswerable anyway.
            if not look.has_missing_object(program):
                raise
            return "missing object"
    except Unanswerable as reason:
        return reason.category
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise Unclear(f"the program is malformed: {error}") from error
    return None


class _ProgramReader(NamedTuple):
    scene: SceneGraph
    words: WordSenses

    def execute(self, program: tuple[Step, ...]) -> None:
        if not program:
            raise Unclear("there is no program")
        asserted = _find_asserted_steps(program)
        results: list[Result] = []
        for number, step in enumerate(program):
            verb, _, kind = step.operation.partition(" ")
            argument = _without_id(step.argument)
            inputs = [results[i] for i in step.dependencies]
            result: Result = SCENE_OBJECT
            lacking: Category = "missing object"
            if verb == "select" and argument != SCENE_OBJECT:
                result = self.find_by_name(argument)
            elif verb == "filter":
                result = [
                    thing for thing in _get_objects(inputs[0]) if self.has_attribute(thing, kind, argument)
                ]
                lacking = "wrong attribute"
            elif verb == "relate":
                name, relation, role = argument.rsplit(",", 2)
                named, others = self.find_by_name(name), _get_objects(inputs[0])
                lacking = "wrong relation" if named else "missing object"
                result = [
                    thing
                    for thing in named
                    if any(self.is_related(thing, relation, other, role) for other in others)
                ]
            elif verb != "select":
                self.check_step(verb, kind, argument, inputs)
            if not result and number not in asserted:
                raise Unanswerable(lacking)
            results.append(result)

    def has_missing_object(self, program: tuple[Step, ...]) -> bool:
        """Return whether an object that the program presupposes is missing from the image."""
        asserted = _find_asserted_steps(program)
        names = {
            _without_id(step.argument).split(",")[0]
            for number, step in enumerate(program)
            if step.operation in ("select", "relate", "verify rel", "choose rel") and number not in asserted
        }
        return not all(self.find_by_name(name) for name in names - {SCENE_OBJECT})

    def check_step(self, verb: str, kind: str, argument: str, inputs: Sequence[Result]) -> None:
        """Raise `Unanswerable` or `Unclear` unless the step has exactly one answer.

        Existence questions always have an answer, "yes" or "no".
        """
        if verb in ("exist", "and", "or"):
            return
        if verb in ("same", "different"):
            self.compare(kind or argument, [_get_objects(result) for result in inputs])
            return
        if verb == "common":
            first, second = map(_get_objects, inputs)
            answers = {
                _get_only_true(self.get_shared_types(a, b)) for a in first for b in second if a is not b
            }
        elif verb not in ("query", "verify", "choose"):
            raise Unclear(f"unknown operation {verb}")
        elif kind == "rel":
            answers = self.answer_about_relation(verb, argument, _get_objects(inputs[0]))
        elif inputs[0] == SCENE_OBJECT:
            answers = {self.answer_about_scene(verb, kind, argument)}
        else:
            answers = {self.answer_step(verb, kind, argument, thing) for thing in _get_objects(inputs[0])}
        # The question may be about several objects if the answer is the same for all of them.
        if len(answers) > 1:
            raise Unanswerable("underspecified")
        if answers <= {None, ""}:
            raise Unanswerable("no valid answer")

    def answer_step(self, verb: str, kind: str, argument: str, thing: SceneObject) -> str | bool | None:
        if verb == "query":
            return self.get_attribute(thing, argument)
        if verb == "verify":
            return self.has_attribute(thing, kind, argument)
        return _get_only_true(
            option for option in argument.split("|") if self.has_attribute(thing, kind, option)
        )

    def answer_about_scene(self, verb: str, kind: str, argument: str) -> str | None:
        """Return the place, the weather, or whether the scene is indoors. Scenes without weather are indoors.

        Verifying a property of the scene always has an answer.
        """
        asked, scene = argument if verb == "query" else kind, self.scene
        value = scene.weather if asked == "weather" else scene.location
        if asked == "location":
            value = "outdoors" if scene.weather else "indoors"
        return _get_only_true({value} & set(argument.split("|"))) if verb == "choose" else value

    def answer_about_relation(
        self, verb: str, argument: str, things: Sequence[SceneObject]
    ) -> set[str | bool | None]:
        name, relation, role = argument.rsplit(",", 2)
        others = self.find_by_name(name)
        if not others:
            raise Unanswerable("missing object")
        if verb == "verify":
            back = "o" if role == "s" else "s"
            return {
                any(self.is_related(thing, relation, other, back) for other in others) for thing in things
            }
        options = relation.split("|")
        return {
            _get_only_true(option for option in options if self.is_related(other, option, thing, role))
            for other in others
            for thing in things
            if other is not thing
        }

    def compare(self, kind: str, sides: Sequence[Sequence[SceneObject]]) -> None:
        values = [{self.get_attribute(thing, kind) for thing in things} for things in sides]
        if len(sides) == 1 and len(sides[0]) < 2:
            raise Unanswerable("missing object")
        if any(None in side for side in values):
            raise Unanswerable("no valid answer")
        if len(sides) == 2 and any(len(side) > 1 for side in values):
            raise Unanswerable("underspecified")

    def get_shared_types(self, a: SceneObject, b: SceneObject) -> set[str]:
        shared = set(a.attributes) & set(b.attributes)
        return {self.words.attribute_types.get(value, value) for value in shared}

    def find_by_name(self, name: str) -> list[SceneObject]:
        if name in WILDCARD_NAMES:
            return list(self.scene.objects)
        wanted = self.words.get_names(name)
        return [thing for thing in self.scene.objects if not wanted.isdisjoint(get_forms(thing.name))]

    def has_attribute(self, thing: SceneObject, kind: str, value: str) -> bool:
        if value.startswith("not(") and value.endswith(")"):
            return not self.has_attribute(thing, kind, value[4:-1])
        if kind == "name":
            return not self.words.get_names(value).isdisjoint(get_forms(thing.name))
        if kind in ("hposition", "vposition"):
            return self.get_position(thing, kind) == value
        return value in thing.attributes

    def get_attribute(self, thing: SceneObject, kind: str) -> str | None:
        """Return the value of an attribute type for an object; None if the object has no such value."""
        if kind in ("name", "type"):
            return min(get_forms(thing.name), key=lambda form: (len(form), form))
        if kind in ("hposition", "vposition"):
            return self.get_position(thing, kind)
        if kind not in self.words.attribute_types.values():
            raise Unclear(f"unknown attribute type {kind}")
        values = [value for value in thing.attributes if self.words.attribute_types.get(value) == kind]
        if len(values) > 1:
            raise Unanswerable("underspecified")
        return values[0] if values else None

    def get_position(self, thing: SceneObject, kind: str) -> str:
        if kind == "hposition":
            first, last, centre = "left", "right", (thing.x + thing.w / 2) / self.scene.width
        else:
            first, last, centre = "top", "bottom", (thing.y + thing.h / 2) / self.scene.height
        if min(abs(centre - 0.4), abs(centre - 0.6)) < BORDER_MARGIN:
            raise Unclear(f"the {thing.name} is between {first}, middle and {last}")
        return first if centre < 0.4 else last if centre > 0.6 else "middle"

    def is_related(self, thing: SceneObject, relation: str, other: SceneObject, role: str) -> bool:
        """Return whether the relation holds from `thing` to `other` (role "s") or from `other` to `thing`
        (role "o").
        """
        if thing is other:
            return False
        if relation.startswith("same "):
            value = self.get_attribute(thing, relation.removeprefix("same "))
            return value is not None and value == self.get_attribute(other, relation.removeprefix("same "))
        source, target = (thing, other) if role == "s" else (other, thing)
        return any(
            row.object_id == target.object_id and is_same_relation(row.name, relation)
            for row in source.relations
        )


def _get_objects(result: Result) -> list[SceneObject]:
    if isinstance(result, str):
        raise Unclear("the scene is not an object")
    return result


def _without_id(argument: str) -> str:
    """Remove the object id of an argument: `table,on,s (17)` -> `table,on,s`."""
    return re.sub(r"\s*\([-\d, ]*\)\s*$", "", argument).strip()


def _find_asserted_steps(program: tuple[Step, ...]) -> set[int]:
    """Return the indices of the steps that are not presupposed, because the question asks for them ("Is there
    ...?").

    These are the steps from `exist` back to the last step that selects a name.
    """
    asserted = set()
    for step in program:
        if step.operation == "exist":
            number = step.dependencies[0]
            asserted.add(number)
            while program[number].operation.startswith("filter"):
                number = program[number].dependencies[0]
                asserted.add(number)
    return asserted


def _get_only_true(options: Iterable[str]) -> str | None:
    """Return the only true option; None if no option or several options are true."""
    true = list(options)
    return true[0] if len(true) == 1 else None


def true_answerability(program: tuple[Step, ...], scene: SceneGraph, words: WordSenses) -> Answerability:
    """Return the true answerability of a question about an image; "unknown" if it cannot be decided."""
    try:
        return "unanswerable" if find_obstacle(program, scene, words) else "answerable"
    except Unclear:
        return "unknown"
