"""Read the official files of GQA as records.

    questions1.2/<split>_balanced_questions.json
    questions1.2/<split>_all_questions.json, or a folder <split>_all_questions/ of such files (train)
    sceneGraphs/<split>_sceneGraphs.json
    images/<image id>.jpg

This module checks types, fields and duplicate ids. Stage `ingest` checks the content of the fields. Unknown
fields are refused, because they are probably misspelled and would otherwise be ignored silently.

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
# Maximum width and height of an image in pixels. Larger values are reported as errors.
MAX_IMAGE_SIDE = 1_000_000


class _QuestionTypes(Record):
    structural: str | None
    semantic: str | None
    detailed: str | None


class _Groups(Record):
    global_group: str | None = msgspec.field(name="global")
    local_group: str | None = msgspec.field(name="local")


class _WordAnnotations(Record):
    """For the question, the answer and the full answer: word position -> object id."""

    question: dict[str, str] = msgspec.field(default_factory=dict)
    answer: dict[str, str] = msgspec.field(default_factory=dict)
    full_answer: dict[str, str] = msgspec.field(name="fullAnswer", default_factory=dict)


class _Question(Record, rename="camel"):
    image_id: str
    question: str
    semantic: tuple[Step, ...]
    types: _QuestionTypes
    # Questions of split test have no answer. Stage `ingest` reports such questions.
    answer: str = ""
    full_answer: str = ""
    is_balanced: bool = True
    groups: _Groups | None = None
    semantic_str: str = ""
    annotations: _WordAnnotations = msgspec.field(default_factory=_WordAnnotations)
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()


class GqaRelation(Record):
    """A relation. Its subject is the object that contains this record; its object has the id `object`."""

    name: str
    object: str


class GqaObject(Record):
    """An object of a scene graph. Its box (x, y, w, h) is in pixels."""

    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: tuple[str, ...]
    relations: tuple[GqaRelation, ...]


class GqaSceneGraph(Record, omit_defaults=True):
    """A scene graph.

    `width` and `height` are the size of the image in pixels, and `objects` are the objects by id. `draftedBy` names the model that
    drafted the graph. It is not a key of GQA.
    """

    width: int
    height: int
    objects: dict[str, GqaObject]
    location: str | None = None
    weather: str | None = None
    drafted_by: str | None = msgspec.field(name="draftedBy", default=None)


def read_questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, question_set: QuestionSet = "balanced"
) -> Iterator[Question]:
    """Yield the questions of some splits, sorted by id.

    Args:
        source: The source folder.
        splits: Splits to read.
        problems: Collects problems of files and questions.
        question_set: "balanced" to read the balanced questions, "all" to read all questions.
    """
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
    """Report whether the file or folder with all questions of a split exists."""
    names = _question_files(source, split, "all")
    return bool(names) and all((source / name).is_file() for name in names)


def read_scene_graphs(
    folder: Path,
    splits: tuple[Split, ...],
    problems: Problems,
    is_complete: bool = False,
    omitted_counts: Counter[tuple[Split, str]] | None = None,
) -> Iterator[SceneGraph]:
    """Yield the scene graphs of some splits, sorted by image id.

    Relations to missing objects are omitted, and boxes are clipped to the image.

    Args:
        folder: `source/sceneGraphs`, or the folder `truth`, whose files have the same format.
        splits: Splits to read.
        problems: Collects problems of files and graphs.
        is_complete: Whether the graphs list everything (as in the folder `truth`), so that everything else is
            false.
        omitted_counts: Counts "relations omitted" and "boxes clipped" by split; None to count nothing.
    """
    split_of: dict[str, Split] = {f"{folder.name}/{split}_sceneGraphs.json": split for split in splits}
    for image_id, name, row in decode_members(folder.parent, split_of, "image", GqaSceneGraph, problems):
        errors = [*_find_blank_names(row), *find_size_errors(row)]
        for error in errors:
            problems.add(f"{name}, image {image_id}", error)
        objects, counts = [], Counter[str]()
        if not errors:
            row, counts["boxes clipped"] = clip_boxes(row)
        for object_id, obj in row.objects.items():
            relations = tuple(
                Relation(name=to.name, object_id=to.object)
                for to in obj.relations
                if to.object in row.objects
            )
            counts["relations omitted"] += len(obj.relations) - len(relations)
            fields: dict[str, Any] = msgspec.structs.asdict(obj) | {"relations": relations}
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
            drafted_by=row.drafted_by or msgspec.UNSET,
        )


def _find_blank_names(row: GqaSceneGraph) -> Iterator[str]:
    """Yield a message for each name that is empty or consists of blanks."""
    for object_id, obj in row.objects.items():
        all_names = {
            "its name": [obj.name],
            "an attribute": obj.attributes,
            "the name of a relation": [to.name for to in obj.relations],
        }
        for what, names in all_names.items():
            if any(not name.strip() for name in names):
                yield f"object {object_id}: {what} is blank"


def find_size_errors(row: GqaSceneGraph) -> Iterator[str]:
    """Yield a message for each invalid size of the image or of a box."""
    for what, size in (("width", row.width), ("height", row.height)):
        if not 1 <= size <= MAX_IMAGE_SIDE:
            yield f"{what} {size}: expected the {what} of the image in pixels, from 1 to {MAX_IMAGE_SIDE:,}"
    for object_id, obj in row.objects.items():
        for what, size in (("w", obj.w), ("h", obj.h)):
            if size < 0:
                yield f"object {object_id}: {what} is {size}; expected the size of its box, at least 0"


def clip_boxes(row: GqaSceneGraph) -> tuple[GqaSceneGraph, int]:
    """Clip every box to the image, with a size of at least one pixel.

    Returns:
        The scene graph, and the number of boxes that changed.
    """
    objects = {}
    for object_id, obj in row.objects.items():
        left, top = min(max(obj.x, 0), row.width - 1), min(max(obj.y, 0), row.height - 1)
        right = min(max(obj.x + obj.w, left + 1), row.width)
        bottom = min(max(obj.y + obj.h, top + 1), row.height)
        box = {"x": left, "y": top, "w": right - left, "h": bottom - top}
        objects[object_id] = msgspec.structs.replace(obj, **box)
    changed = sum(objects[object_id] != obj for object_id, obj in row.objects.items())
    return msgspec.structs.replace(row, objects=objects), changed


def read_true_scene_graphs(folder: Path, splits: Iterable[Split]) -> dict[str, SceneGraph]:
    """Return the complete scene graphs of some splits by image id.

    Only simulated annotators, the audit and one reference row of the leaderboard (stage `answer`) may read
    them.

    Args:
        folder: The folder `truth`.
        splits: Splits to read.

    Raises:
        UserError: Lists missing files and all problems of the other files.
    """
    problems = Problems(f"{folder} (complete scene graphs; without them, set collect.simulate: false)")
    complete = read_scene_graphs(folder, tuple(sorted(set(splits))), problems, is_complete=True)
    by_image = {scene.image_id: scene for scene in complete}
    problems.raise_if_any()
    return by_image


def _question_files(source: Path, split: Split, question_set: QuestionSet) -> list[str]:
    folder = source / f"questions1.2/{split}_{question_set}_questions"
    if folder.is_dir():
        return sorted(f"questions1.2/{folder.name}/{path.name}" for path in folder.glob("*.json"))
    return [f"questions1.2/{folder.name}.json"]
