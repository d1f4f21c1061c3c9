"""GQA's official files, as they come out of its zips, into records.

    questions1.2/<split>_balanced_questions.json
    questions1.2/<split>_all_questions.json, or a folder <split>_all_questions/ of such files (train)
    sceneGraphs/<split>_sceneGraphs.json
    images/<image id>.jpg

The form of what a file says is checked here (types, fields, ids twice), its meaning by `ingest`. A field that nobody
knows is a misspelt one: refused, or its content would be lost without a word.
Format: https://cs.stanford.edu/people/dorarad/gqa/download.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Question, Record, Relation, SceneGraph, SceneObject, Split, Step
from pipeline.sources.large_json import decode_members

QuestionSet = Literal["balanced", "all"]
MAX_IMAGE_SIDE = 1_000_000  # pixels of an image in one direction; more are a mistake


class _QuestionTypes(Record):
    structural: str | None
    semantic: str | None
    detailed: str | None


class _Groups(Record):
    global_group: str | None = msgspec.field(name="global")
    local_group: str | None = msgspec.field(name="local")


class _WordAnnotations(Record):
    """Word positions -> object ids, for each of the three texts."""

    question: dict[str, str] = msgspec.field(default_factory=dict)
    answer: dict[str, str] = msgspec.field(default_factory=dict)
    full_answer: dict[str, str] = msgspec.field(name="fullAnswer", default_factory=dict)


class _Question(Record, rename="camel"):
    image_id: str
    question: str
    semantic: tuple[Step, ...]
    types: _QuestionTypes
    answer: str = ""  # test questions have none; ingest says which
    full_answer: str = ""
    is_balanced: bool = True
    groups: _Groups | None = None
    semantic_str: str = ""
    annotations: _WordAnnotations = msgspec.field(default_factory=_WordAnnotations)
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()


class GqaRelation(Record):
    """A relation from the object that carries it to another one, by id."""

    name: str
    object: str


class GqaObject(Record):
    """An object of a scene graph; x, y, w, h in pixels."""

    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: tuple[str, ...]
    relations: tuple[GqaRelation, ...]


class GqaSceneGraph(Record, omit_defaults=True):
    """A scene graph; its objects by id."""

    width: int
    height: int
    objects: dict[str, GqaObject]
    location: str | None = None
    weather: str | None = None


def read_questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, question_set: QuestionSet = "balanced"
) -> Iterator[Question]:
    """The questions of some splits, sorted by id; what is wrong with a file or a row goes to `problems`."""
    split_of: dict[str, Split] = {
        name: split for split in splits for name in _question_files(source, split, question_set)
    }
    for question_id, name, row in decode_members(source, split_of, "question", _Question, problems):
        yield Question(
            question_id=question_id,
            image_id=row.image_id,
            split=split_of[name],
            text=row.question,
            answer=row.answer,
            full_answer=row.full_answer,
            balanced=row.is_balanced,
            structural=row.types.structural or "",
            semantic=row.types.semantic or "",
            detailed=row.types.detailed or "",
            group_global=(row.groups and row.groups.global_group) or "",
            group_local=(row.groups and row.groups.local_group) or "",
            program=row.semantic,
            annotations=row.annotations.question,
            full_answer_annotations=row.annotations.full_answer,
            entailed=row.entailed,
            equivalent=row.equivalent,
        )


def has_all_questions(source: Path, split: Split) -> bool:
    """Whether the file (or folder) with a split's unbalanced questions is there."""
    names = _question_files(source, split, "all")
    return bool(names) and all((source / name).is_file() for name in names)


def read_scene_graphs(
    folder: Path,
    splits: tuple[Split, ...],
    problems: Problems,
    is_complete: bool = False,
    omitted_counts: Counter[tuple[Split, str]] | None = None,
) -> Iterator[SceneGraph]:
    """The scene graphs of some splits in `folder`, sorted by image id, without relations that point to no object.

    Args:
        folder: `source/sceneGraphs`, or the folder of the complete truth, whose files have the same form.
        complete: what the graphs do not list is false (the truth), not unknown (published graphs).
        left_out: counts by split what could not be kept as it is: "relations left out", "boxes clipped" to their image.
    """
    split_of: dict[str, Split] = {f"{folder.name}/{split}_sceneGraphs.json": split for split in splits}
    for image_id, name, row in decode_members(folder.parent, split_of, "image", GqaSceneGraph, problems):
        faults = [*_find_blank_names(row), *find_size_errors(row)]
        for fault in faults:
            problems.add(f"{name}, image {image_id}", fault)
        objects, counts = [], Counter[str]()
        if not faults:
            row, counts["boxes clipped"] = clip_boxes(row)
        for object_id, thing in row.objects.items():
            relations = tuple(
                Relation(name=to.name, object_id=to.object)
                for to in thing.relations
                if to.object in row.objects
            )
            counts["relations left out"] += len(thing.relations) - len(relations)
            fields: dict[str, Any] = msgspec.structs.asdict(thing) | {"relations": relations}
            objects.append(SceneObject(object_id=object_id, **fields))
        if omitted_counts is not None:
            omitted_counts.update({(split_of[name], what): number for what, number in counts.items()})
        yield SceneGraph(
            image_id=image_id,
            split=split_of[name],
            width=row.width,
            height=row.height,
            objects=tuple(objects),
            location=row.location or "",
            weather=row.weather or "",
            is_complete=is_complete,
        )


def _find_blank_names(row: GqaSceneGraph) -> Iterator[str]:
    """Names of which nothing is left without blanks: no question can be asked of such a thing."""
    for object_id, thing in row.objects.items():
        said = {
            "its name": [thing.name],
            "an attribute": thing.attributes,
            "a relation's name": [to.name for to in thing.relations],
        }
        for what, names in said.items():
            if any(not name.strip() for name in names):
                yield f"object {object_id}: {what} is blank"


def find_size_errors(row: GqaSceneGraph) -> Iterator[str]:
    """What is wrong with the sizes of an image and of the boxes in it."""
    for what, size in (("width", row.width), ("height", row.height)):
        if not 1 <= size <= MAX_IMAGE_SIDE:
            yield f"{what} {size}: the image's {what} in pixels is wanted, from 1 to {MAX_IMAGE_SIDE:,}"
    for object_id, thing in row.objects.items():
        for what, size in (("w", thing.w), ("h", thing.h)):
            if size < 0:
                yield f"object {object_id}: {what} is {size}; the size of its box is wanted, 0 at least"


def clip_boxes(row: GqaSceneGraph) -> tuple[GqaSceneGraph, int]:
    """Clip every box to the image, with one pixel at least.

    Returns:
        The scene graph, and how many of its boxes changed.
    """
    objects = {}
    for object_id, thing in row.objects.items():
        left, top = min(max(thing.x, 0), row.width - 1), min(max(thing.y, 0), row.height - 1)
        right = min(max(thing.x + thing.w, left + 1), row.width)
        bottom = min(max(thing.y + thing.h, top + 1), row.height)
        box = {"x": left, "y": top, "w": right - left, "h": bottom - top}
        objects[object_id] = msgspec.structs.replace(thing, **box)
    changed = sum(objects[object_id] != thing for object_id, thing in row.objects.items())
    return msgspec.structs.replace(row, objects=objects), changed


def read_true_scene_graphs(folder: Path, splits: Iterable[Split]) -> dict[str, SceneGraph]:
    """The complete scene graphs of some splits, by image id. Simulated annotators, the audit, and one
    reference row of the leaderboard (stage answer) alone may see them.

    Raises:
        UserError: lists every file that is missing and everything that is wrong with the others.
    """
    problems = Problems(f"{folder} (the complete truth; where nobody knows it, set collect.simulate: false)")
    complete = read_scene_graphs(folder, tuple(sorted(set(splits))), problems, is_complete=True)
    by_image = {scene.image_id: scene for scene in complete}
    problems.raise_if_any()
    return by_image


def _question_files(source: Path, split: Split, which: QuestionSet) -> list[str]:
    folder = source / f"questions1.2/{split}_{which}_questions"
    if folder.is_dir():
        return sorted(f"questions1.2/{folder.name}/{path.name}" for path in folder.glob("*.json"))
    return [f"questions1.2/{folder.name}.json"]
