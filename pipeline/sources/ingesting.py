"""A source folder as records, with everything that is wrong with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from pipeline.core.errors import Problems, UserError
from pipeline.core.params import Params
from pipeline.core.records import Picture, Question, Record, Scene, Split
from pipeline.sources import gqa_files, own_table
from pipeline.sources.picture_files import inspect, is_id, listing

Format = Literal["gqa", "table"]


class IngestParams(Params):
    """Parameters of ingest.

    Attributes:
        split: the benchmark is built from this split; its pictures must be there as files.
        question_splits: questions read; besides `split`, they tell which attribute is of which type.
        graph_splits: scene graphs read: the vocabulary, and the evidence where they cover `split`.
        questions: GQA only: those asked are the balanced ones (the paper's choice) or all of them.
        format: "auto" goes by what lies in source/.
    """

    split: Split
    question_splits: tuple[Split, ...]
    graph_splits: tuple[Split, ...]
    questions: gqa_files.Which = "balanced"
    format: Literal["auto", "gqa", "table"] = "auto"


class IngestReport(Record):
    """The format that was read, the benchmark's split, and split -> what -> how many."""

    format: Format
    split: Split
    counts: dict[Split, dict[str, int]]


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
    reasons = []
    if not is_id(question.question_id):
        reasons.append("the id may hold letters, digits, '.', '-' and '_' only")
    if not is_id(question.picture_id):
        reasons.append(
            f"picture {question.picture_id!r} is outside of images/ or no plain name: "
            "letters, digits, '.', '-' and '_' only"
        )
    if not question.text.strip():
        reasons.append("the question is empty")
    if not question.answer.strip():
        reasons.append("it has no answer")
    for number, step in enumerate(question.program):
        wrong = [needed for needed in step.dependencies if not 0 <= needed < number]
        if wrong:
            reasons.append(
                f"step {number} ({step.operation}) depends on step {wrong[0]}, which does not come before it"
            )
    return reasons


def without_dangling(scene: Scene) -> Scene:
    """The scene without relations that point to no object of it."""
    known = {thing.object_id for thing in scene.objects}
    if all(to.object_id in known for thing in scene.objects for to in thing.relations):
        return scene
    objects = tuple(
        msgspec.structs.replace(thing, relations=tuple(to for to in thing.relations if to.object_id in known))
        for thing in scene.objects
    )
    return msgspec.structs.replace(scene, objects=objects)


class SourceFolder:
    """A data set's source folder, read record by record: first `questions`, then the others in any order.

    Attributes:
        format: which reader reads it.
        problems: what is wrong, of all that was read so far.
        wanted: picture id -> the questions of the benchmark's split that ask for it.
    """

    def __init__(self, folder: Path, params: IngestParams) -> None:
        if params.split not in params.question_splits:
            raise UserError(
                f"ingest.question_splits lacks {params.split!r}, the split that the benchmark is built from"
            )
        self.folder, self.params = folder, params
        self.format: Format = format_of(folder, params.format)
        self.problems = Problems(str(folder))
        self.wanted: dict[str, list[str]] = {}
        self._asked: set[str] = set()  # kept only where unbalanced questions are read
        self._sizes: dict[str, tuple[int, int]] = {}
        self._counts: defaultdict[Split, Counter[str]] = defaultdict(Counter)

    def questions(self) -> Iterator[Question]:
        """The questions of `question_splits`, sorted by id."""
        splits = self.params.question_splits
        if self.format == "gqa":
            questions = gqa_files.questions(self.folder, splits, self.problems, self.params.questions)
        else:
            questions = own_table.questions(self.folder, splits, self.problems, self.params.split)
        unbalanced = self._reads_unbalanced()
        for question in questions:
            if question.split == self.params.split and is_id(question.picture_id):
                self.wanted.setdefault(question.picture_id, []).append(question.question_id)
            if unbalanced:
                self._asked.add(question.question_id)
            yield self._checked(question, "questions")

    def unbalanced(self) -> Iterator[Question]:
        """GQA's unbalanced questions about the wanted pictures, if their file is there and nothing better tells of
        these: no graphs are read, and not all questions are asked anyway."""
        if not self._reads_unbalanced():
            return
        for question in gqa_files.questions(self.folder, (self.params.split,), self.problems, "all"):
            if question.picture_id in self.wanted and question.question_id not in self._asked:
                yield self._checked(question, "unbalanced questions")

    def scenes(self) -> Iterator[Scene]:
        """The published scene graphs of `graph_splits`, sorted by picture; own questions may do without."""
        folder = self.folder / "sceneGraphs"
        if self.format == "table" and not folder.is_dir():
            return
        for published in gqa_files.scenes(folder, self.params.graph_splits, self.problems):
            scene = without_dangling(published)
            relations, kept = (sum(len(thing.relations) for thing in s.objects) for s in (published, scene))
            counts = {"scenes": 1, "objects": len(scene.objects), "relations": kept}
            self._counts[scene.split].update(counts | {"relations left out": relations - kept})
            if scene.picture_id in self.wanted:
                self._sizes[scene.picture_id] = scene.width, scene.height
            yield scene

    def pictures(self) -> Iterator[Picture]:
        """The pictures wanted, sorted by id, each decoded to its last pixel."""
        folder = self.folder / "images"
        files = listing(folder, self.problems)
        if self.wanted and not files and folder.is_dir():
            self.problems.add("images/", f"no picture in it, but {len(self.wanted)} are asked about")
        for picture_id in sorted(self.wanted) if files else ():
            try:
                picture = self._picture(picture_id, files.get(picture_id))
            except ValueError as error:
                self.problems.add(f"picture {picture_id}", str(error))
                continue
            self._counts[picture.split]["pictures"] += 1
            yield picture

    def report(self) -> IngestReport:
        """Counts of all that was read.

        Raises:
            UserError: lists everything that is wrong.
        """
        if not self.wanted and not self.problems.lines:
            self.problems.add(f"split {self.params.split}", "there is no question of it")
        self.problems.raise_if_any()
        counts: dict[Split, dict[str, int]] = {
            split: dict(counter) for split, counter in self._counts.items()
        }
        return IngestReport(format=self.format, split=self.params.split, counts=counts)

    def _reads_unbalanced(self) -> bool:
        return (
            self.format == "gqa"
            and self.params.questions == "balanced"
            and self.params.split not in self.params.graph_splits
            and gqa_files.has_all_questions(self.folder, self.params.split)
        )

    def _checked(self, question: Question, what: str) -> Question:
        for fault in faults(question):
            self.problems.add(f"question {question.question_id}", fault)
        self._counts[question.split][what] += 1
        return question

    def _picture(self, picture_id: str, path: Path | None) -> Picture:
        """Raises ValueError: the file is missing, damaged, or not of its scene graph's size."""
        if path is None:
            asked = self.wanted[picture_id]
            raise ValueError(
                f"no such file in images/; questions that ask for it: {len(asked)}, the first is {asked[0]}"
            )
        try:
            width, height, sha256 = inspect(path)
        except ValueError as error:
            raise ValueError(f"images/{path.name}: {error}") from error
        expected = self._sizes.get(picture_id, (width, height))
        if expected != (width, height):
            raise ValueError(
                f"images/{path.name} is {width} x {height}, its scene graph says {expected[0]} x {expected[1]}"
            )
        return Picture(
            picture_id=picture_id,
            split=self.params.split,
            path=path.as_posix(),
            width=width,
            height=height,
            sha256=sha256,
        )
