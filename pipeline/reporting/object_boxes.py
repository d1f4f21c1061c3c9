"""Boxes of the objects that a question speaks of, from the scene graph of the picture it is asked of.

Only published graphs are used, the evidence that the pipeline itself has: no graph, no boxes.
"""

from __future__ import annotations

from pipeline.core.records import Item, Question, Record, Scene
from pipeline.judge.facts import facts_of
from pipeline.programs.operations import SCENE, parse, root
from pipeline.words.lexicon import Lexicon


class Box(Record):
    """A box in pixels of the picture. `number` is what stands beside it, `name` what the graph calls the object,
    `edited` whether the question was edited where it spoke of it."""

    number: int
    name: str
    x: int
    y: int
    w: int
    h: int
    edited: bool = False


class Concerned(Record):
    """Boxes, and the names in the question of which the graph lists no object (which does not prove there is none)."""

    boxes: tuple[Box, ...] = ()
    unlisted: tuple[str, ...] = ()


def concerned(item: Item, source: Question, scene: Scene | None, lexicon: Lexicon) -> Concerned:
    """What to draw for an item.

    A question of the picture's own (an AQ, a PT item) has object ids in its source's program; they are the boxes. Of
    a question of another picture (a CLIP item) all objects that answer to the names in it are.
    """
    if scene is None or not source.program:
        return Concerned()
    if source.picture_id == item.picture_id:
        return _own(item, source, scene)
    return _named(source, scene, lexicon)


def _own(item: Item, source: Question, scene: Scene) -> Concerned:
    program = parse(source.program, source.question_id)
    touched = {
        root(program, edit.step) for edit in item.edits if edit.step >= 0
    }  # a look belongs to the thing it narrows
    edited: dict[str, bool] = {}
    for step, operation in enumerate(program):
        for key in operation.object_ids:
            edited[key] = edited.get(key, False) or step in touched
    return Concerned(boxes=_boxes(scene, edited))


def _named(source: Question, scene: Scene, lexicon: Lexicon) -> Concerned:
    facts = facts_of(scene, lexicon)
    named: dict[str, bool] = {}
    unlisted = []
    for operation in parse(source.program, source.question_id):
        if (
            operation.verb not in ("select", "relate")
            or operation.name in (SCENE, "")
            or lexicon.kinds(operation.name) is None
        ):
            continue
        things = facts.named(operation.name).sure
        named |= {thing.object_id: False for thing in things}
        if not things and operation.name not in unlisted:
            unlisted.append(operation.name)
    return Concerned(boxes=_boxes(scene, named), unlisted=tuple(unlisted))


def _boxes(scene: Scene, edited: dict[str, bool]) -> tuple[Box, ...]:
    objects = sorted(
        (thing for thing in scene.objects if thing.object_id in edited),
        key=lambda thing: (thing.x, thing.y, thing.object_id),
    )
    return tuple(
        Box(
            number=number,
            name=thing.name,
            x=thing.x,
            y=thing.y,
            w=thing.w,
            h=thing.h,
            edited=edited[thing.object_id],
        )
        for number, thing in enumerate(objects, 1)
    )
