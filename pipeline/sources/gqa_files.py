"""GQA's official files, as they come out of its zips, into records.

    questions1.2/<split>_balanced_questions.json
    questions1.2/<split>_all_questions.json, or a folder <split>_all_questions/ of such files (train)
    sceneGraphs/<split>_sceneGraphs.json
    images/<picture id>.jpg

The form of what a file says is checked here (types, fields, ids twice), its meaning by `ingest`.
Format: https://cs.stanford.edu/people/dorarad/gqa/download.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.core.errors import Problems
from pipeline.core.records import Question, Relation, Scene, SceneObject, Split, Step
from pipeline.sources.json_members import Key, counted, members, repeated

Which = Literal["balanced", "all"]


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A field that nobody knows is a misspelt one: refused, or its content would be lost without a word."""


class StepRow(Row):
    operation: str
    argument: str
    dependencies: tuple[int, ...]


class _Types(Row):
    structural: str | None
    semantic: str | None
    detailed: str | None


class _Groups(Row):
    everywhere: str | None = msgspec.field(name="global")
    here: str | None = msgspec.field(name="local")


class _Words(Row):
    """Word positions -> object ids, for each of the three texts."""

    question: dict[str, str] = {}
    answer: dict[str, str] = {}
    full_answer: dict[str, str] = msgspec.field(name="fullAnswer", default={})


class _Question(Row, rename="camel"):
    image_id: str
    question: str
    semantic: tuple[StepRow, ...]
    types: _Types
    answer: str = ""  # test questions have none; ingest says which
    full_answer: str = ""
    is_balanced: bool = True
    groups: _Groups | None = None
    semantic_str: str = ""
    annotations: _Words = msgspec.field(default_factory=_Words)
    entailed: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()


class _Relation(Row):
    name: str
    object: str


class _Object(Row):
    name: str
    x: int
    y: int
    w: int
    h: int
    attributes: tuple[str, ...]
    relations: tuple[_Relation, ...]


class _Scene(Row):
    width: int
    height: int
    objects: dict[Key, _Object]
    location: str | None = None
    weather: str | None = None


def questions(
    source: Path, splits: tuple[Split, ...], problems: Problems, which: Which = "balanced"
) -> Iterator[Question]:
    """The questions of some splits, sorted by id; what is wrong with a file or a row goes to `problems`."""
    rows = []
    for split in splits:
        for name in _question_files(source, split, which):
            found = members(source / name, name, problems)
            rows += [(question_id, name, split, raw) for question_id, raw in found.items()]
    rows.sort(key=lambda row: row[:2])
    decoder = msgspec.json.Decoder(_Question)
    before = ("", "")
    for question_id, name, split, raw in rows:
        if question_id == before[0]:
            problems.add(f"{name}, question {question_id}", f"the same id is in {before[1]}")
        before = question_id, name
        try:
            row = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.add(f"{name}, question {question_id}", fault(error))
            continue
        yield _question(question_id, split, row)


def has_all_questions(source: Path, split: Split) -> bool:
    """Whether the file (or folder) with a split's unbalanced questions is there."""
    names = _question_files(source, split, "all")
    return bool(names) and all((source / name).is_file() for name in names)


def scenes(
    folder: Path, splits: tuple[Split, ...], problems: Problems, complete: bool = False
) -> Iterator[Scene]:
    """The scene graphs of some splits in `folder`, sorted by picture id.

    Args:
        folder: `source/sceneGraphs`, or the folder of the complete truth, whose files have the same form.
        complete: what the graphs do not list is false (the truth), not unknown (published graphs).
    """
    rows = []
    for split in splits:
        name = f"{folder.name}/{split}_sceneGraphs.json"
        found = members(folder.parent / name, name, problems)
        rows += [(picture_id, name, split, raw) for picture_id, raw in found.items()]
    rows.sort(key=lambda row: row[:2])
    seen: list[str] = []
    decoder = msgspec.json.Decoder(_Scene, dec_hook=counted(seen))
    before = ("", "")
    for picture_id, name, split, raw in rows:
        where = f"{name}, picture {picture_id}"
        if picture_id == before[0]:
            problems.add(where, f"the same id is in {before[1]}")
        before = picture_id, name
        seen.clear()
        try:
            row = decoder.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.add(where, fault(error))
            continue
        for object_id in repeated(seen):
            problems.add(where, f"the object id {object_id} occurs more than once")
        yield _scene(picture_id, split, row, complete)


def truth(folder: Path, splits: Iterable[Split]) -> dict[str, Scene]:
    """The complete scene graphs of some splits, by picture id. Simulated annotators and the audit alone may
    see them.

    Raises:
        UserError: lists every file that is missing and everything that is wrong with the others.
    """
    problems = Problems(f"{folder} (the complete truth; where nobody knows it, set collect.simulate: false)")
    found = scenes(folder, tuple(sorted(set(splits))), problems, complete=True)
    by_picture = {scene.picture_id: scene for scene in found}
    problems.raise_if_any()
    return by_picture


def fault(error: Exception) -> str:
    """A decoder's message, with what to do when a number stands where an id is wanted."""
    message = str(error)
    is_id = "Expected `str`, got `int`" in message
    return message + ("; ids are strings, a number loses its leading zeros" if is_id else "")


def program(steps: tuple[StepRow, ...] | None) -> tuple[Step, ...]:
    """GQA's `semantic` list as steps."""
    return tuple(
        Step(operation=step.operation, argument=step.argument, dependencies=step.dependencies)
        for step in steps or ()
    )


def _question_files(source: Path, split: Split, which: Which) -> list[str]:
    folder = source / f"questions1.2/{split}_{which}_questions"
    if folder.is_dir():
        return sorted(f"questions1.2/{folder.name}/{path.name}" for path in folder.glob("*.json"))
    return [f"questions1.2/{folder.name}.json"]


def _question(question_id: str, split: Split, row: _Question) -> Question:
    groups = row.groups or _Groups(None, None)
    return Question(
        question_id=question_id,
        picture_id=row.image_id,
        split=split,
        text=row.question,
        answer=row.answer,
        full_answer=row.full_answer,
        balanced=row.is_balanced,
        structural=row.types.structural or "",
        semantic=row.types.semantic or "",
        detailed=row.types.detailed or "",
        group_global=groups.everywhere or "",
        group_local=groups.here or "",
        program=program(row.semantic),
        annotations=row.annotations.question,
        full_answer_annotations=row.annotations.full_answer,
        entailed=row.entailed,
        equivalent=row.equivalent,
    )


def _scene(picture_id: str, split: Split, row: _Scene, complete: bool) -> Scene:
    objects = tuple(
        SceneObject(
            object_id=str(object_id),
            name=thing.name,
            x=thing.x,
            y=thing.y,
            w=thing.w,
            h=thing.h,
            attributes=thing.attributes,
            relations=tuple(Relation(name=to.name, object_id=to.object) for to in thing.relations),
        )
        for object_id, thing in row.objects.items()
    )
    return Scene(
        picture_id=picture_id,
        split=split,
        width=row.width,
        height=row.height,
        objects=objects,
        location=row.location or "",
        weather=row.weather or "",
        complete=complete,
    )
