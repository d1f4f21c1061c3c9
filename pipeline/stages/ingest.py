"""Read the source into records and check all of it; everything wrong is told at once.

Reads   data/<data set>/source     GQA's files (sources/gqa.py) or a table of own questions (sources/table.py)
Writes  pictures.jsonl    the pictures of the split that the benchmark is built from, each decoded once
        questions.jsonl   the questions of the splits asked for
        unbalanced.jsonl  GQA's unbalanced questions about these pictures, where their file is there and no graph
                          is read: for what they tell of the pictures, never to be asked
        scenes.jsonl      the published scene graphs of the splits asked for
        ingest.json       counts per split; relations left out because they point to no object
All three are sorted by id. Nothing is written unless everything is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.core.errors import Problems, UserError, run
from pipeline.core.files import replacing, write_json
from pipeline.core.params import Params, load
from pipeline.core.paths import Folders
from pipeline.core.progress import done, track
from pipeline.core.records import Picture, Question, Scene, Split
from pipeline.sources import gqa_files, own_table
from pipeline.sources.picture_files import inspect, is_id, listing

Format = Literal["gqa", "table"]


class IngestParams(Params):
    split: Split  # the benchmark is built from this split; its pictures must be there as files
    question_splits: tuple[
        Split, ...
    ]  # questions read; besides `split`, they tell which attribute is of which type
    graph_splits: tuple[
        Split, ...
    ]  # scene graphs read: the vocabulary, and the evidence where they cover `split`
    questions: gqa_files.Which = (
        "balanced"  # GQA only: those asked are the balanced ones (the paper's choice) or all of them
    )
    format: Literal["auto", "gqa", "table"] = "auto"  # auto: by what lies in source/


def format_of(source: Path, wanted: Literal["auto", "gqa", "table"]) -> Format:
    """Which reader fits what lies in `source`.

    Raises:
        UserError: nothing there that any reader knows.
    """
    if wanted != "auto":
        return wanted
    if (source / "questions1.2").is_dir():
        return "gqa"
    if any((source / name).is_file() for name in own_table.FILES):
        return "table"
    raise UserError(
        f"{source}: neither GQA's files (a folder questions1.2) nor a table ({' or '.join(own_table.FILES)}); "
        "data/README.md says what to put there"
    )


def faults(question: Question) -> list[str]:
    """What makes a question unusable; [] when nothing does."""
    found = []
    if not is_id(question.question_id):
        found.append("the id may hold letters, digits, '.', '-' and '_' only")
    if not is_id(question.picture_id):
        found.append(
            f"picture {question.picture_id!r} is outside of images/ or no plain name: "
            "letters, digits, '.', '-' and '_' only"
        )
    if not question.text.strip():
        found.append("the question is empty")
    if not question.answer.strip():
        found.append("it has no answer")
    for number, step in enumerate(question.program):
        wrong = [needed for needed in step.dependencies if not 0 <= needed < number]
        if wrong:
            found.append(
                f"step {number} ({step.operation}) depends on step {wrong[0]}, which does not come before it"
            )
    return found


def unbalanced(source: Path, kind: Format, params: IngestParams, problems: Problems) -> Iterable[Question]:
    """GQA's questions of `split`, unbalanced ones too, if their file is there and nothing better tells of its
    pictures: no graphs are read, and not all questions are asked anyway."""
    there = gqa_files.has_all_questions(source, params.split) if kind == "gqa" else False
    if not there or params.questions == "all" or params.split in params.graph_splits:
        return ()
    return gqa_files.questions(source, (params.split,), problems, "all")


def tidy(scene: Scene) -> tuple[Scene, int]:
    """The scene without relations that point to no object of it, and how many those were."""
    known = {thing.object_id for thing in scene.objects}
    count = sum(to.object_id not in known for thing in scene.objects for to in thing.relations)
    if not count:
        return scene, 0
    objects = tuple(
        msgspec.structs.replace(thing, relations=tuple(to for to in thing.relations if to.object_id in known))
        for thing in scene.objects
    )
    return msgspec.structs.replace(scene, objects=objects), count


def pictures(
    wanted: dict[str, list[str]],
    files: dict[str, Path],
    sizes: dict[str, tuple[int, int]],
    split: Split,
    problems: Problems,
) -> Iterator[Picture]:
    """The pictures wanted, sorted by id, each decoded to its last pixel.

    Args:
        wanted: picture id -> the questions that ask for it.
        files: picture id -> file.
        sizes: picture id -> (width, height) that the scene graph tells, where there is one.
    """
    for picture_id in track(sorted(wanted), "ingest: pictures", total=len(wanted), unit="picture"):
        where, asked = f"picture {picture_id}", wanted[picture_id]
        if picture_id not in files:
            problems.add(
                where,
                f"no such file in images/; questions that ask for it: {len(asked)}, the first is {asked[0]}",
            )
            continue
        path = files[picture_id]
        try:
            width, height, sha256 = inspect(path)
        except ValueError as error:
            problems.add(where, f"images/{path.name}: {error}")
            continue
        if sizes.get(picture_id, (width, height)) != (width, height):
            expected = "{} x {}".format(*sizes[picture_id])
            problems.add(where, f"images/{path.name} is {width} x {height}, its scene graph says {expected}")
            continue
        yield Picture(
            picture_id=picture_id,
            split=split,
            path=path.as_posix(),
            width=width,
            height=height,
            sha256=sha256,
        )


def main() -> None:
    folders = Folders()
    params = load("ingest", IngestParams)
    if params.split not in params.question_splits:
        raise UserError(
            f"ingest.question_splits lacks {params.split!r}, the split that the benchmark is built from"
        )
    source, out = folders.source, folders.stage("ingest")
    kind = format_of(source, params.format)
    problems = Problems(str(source))
    if kind == "gqa":
        questions = gqa_files.questions(source, params.question_splits, problems, params.questions)
    else:
        questions = own_table.questions(source, params.question_splits, problems, params.split)
    splits = params.graph_splits if kind == "gqa" or (source / "sceneGraphs").is_dir() else ()

    telling = unbalanced(source, kind, params, problems)
    asked: set[str] = set()
    encode = msgspec.json.Encoder().encode
    counts: Counter[tuple[str, str]] = Counter()
    wanted: dict[str, list[str]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    with (
        replacing(out / "questions.jsonl") as question_file,
        replacing(out / "unbalanced.jsonl") as unbalanced_file,
        replacing(out / "scenes.jsonl") as scene_file,
        replacing(out / "pictures.jsonl") as picture_file,
    ):
        for question in track(questions, "ingest: questions", unit="question"):
            for fault in faults(question):
                problems.add(f"question {question.question_id}", fault)
            counts[question.split, "questions"] += 1
            if question.split == params.split and is_id(question.picture_id):
                wanted.setdefault(question.picture_id, []).append(question.question_id)
            question_file.write(encode(question) + b"\n")
            if telling:
                asked.add(question.question_id)
        for question in track(telling, "ingest: unbalanced questions", unit="question"):
            if question.picture_id in wanted and question.question_id not in asked:
                for fault in faults(question):
                    problems.add(f"question {question.question_id}", fault)
                counts[question.split, "unbalanced questions"] += 1
                unbalanced_file.write(encode(question) + b"\n")
        for found in track(
            gqa_files.scenes(source / "sceneGraphs", splits, problems), "ingest: scenes", unit="scene"
        ):
            scene, dangling = tidy(found)
            counts[scene.split, "scenes"] += 1
            counts[scene.split, "objects"] += len(scene.objects)
            counts[scene.split, "relations"] += sum(len(thing.relations) for thing in scene.objects)
            counts[scene.split, "relations left out"] += dangling
            if scene.picture_id in wanted:
                sizes[scene.picture_id] = scene.width, scene.height
            scene_file.write(encode(scene) + b"\n")
        files = listing(source / "images", problems)
        if wanted and not files and (source / "images").is_dir():
            problems.add("images/", f"no picture in it, but {len(wanted)} are asked about")
        for picture in pictures(wanted if files else {}, files, sizes, params.split, problems):
            counts[picture.split, "pictures"] += 1
            picture_file.write(encode(picture) + b"\n")
        if not wanted and not problems.lines:
            problems.add(f"split {params.split}", "there is no question of it")
        problems.raise_if_any()

    report: dict[str, dict[str, int]] = {}
    for (split, what), count in counts.items():
        report.setdefault(split, {})[what] = count
    write_json(out / "ingest.json", {"format": kind, "split": params.split, "counts": report})
    done(
        "ingest",
        f"{counts[params.split, 'questions']:,} questions on {len(wanted):,} pictures of {params.split}",
        out,
    )


if __name__ == "__main__":
    run(main)
