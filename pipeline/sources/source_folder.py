"""A source folder as records, with everything that is wrong with it; and where a source in another form is written to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.no_answer_texts import is_no_answer
from pipeline.core.params import Params, Seed
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import ImageRecord, Question, Record, SceneGraph, Split, UnusedQuestion
from pipeline.sources import gqa_files, question_table
from pipeline.sources.image_files import inspect_image, is_valid_id, list_images

SourceFormat = Literal["gqa", "table"]
NO_ANSWER_REASON = "its answer says that there is none"
MAX_ID_LENGTH = 200  # characters of an id, which names files too; those have 255 at most, with what is put before and after


class IngestParams(Params):
    """Parameters of stage `ingest`.

    Attributes:
        split: Split whose images and questions make the benchmark. All its image files must exist.
        question_splits: Splits whose questions are read. Besides `split`, they tell which attribute
            belongs to which type and which names form a category.
        graph_splits: Splits whose scene graphs are read. They fill the vocabulary and, where they cover
            `split`, the evidence of the verifier.
        question_set: GQA only: read the `balanced` questions (as the paper did) or `all` of them.
        format: Format of the source folder. `auto` recognizes it by its files.
        paraphrase: Whether the questions of `split` are reworded, so that a model cannot know them from
            the public source.
        seed: Seed of the paraphrases.
    """

    split: Split
    question_splits: tuple[Split, ...]
    graph_splits: tuple[Split, ...]
    question_set: gqa_files.QuestionSet = "balanced"
    format: SourceFormat | Literal["auto"] = "auto"
    paraphrase: bool = False
    seed: Seed = 0


class IngestReport(Record):
    """The format that was read, the benchmark's split, split -> what -> how many, and how many questions of the benchmark's
    split were said in other words."""

    format: SourceFormat
    split: Split
    counts: Mapping[Split, Mapping[str, int]]
    num_paraphrased: int = 0


def detect_format(source: Path, requested: SourceFormat | Literal["auto"]) -> SourceFormat:
    """Which reader fits what lies in `source`.

    Raises:
        UserError: nothing there that any reader knows.
    """
    if requested != "auto":
        return requested
    if (source / "questions1.2").is_dir():
        return "gqa"
    if any((source / name).is_file() for name in question_table.TABLE_FILE_NAMES):
        return "table"
    raise UserError(
        f"{source}: neither GQA's files (a folder questions1.2) nor a table ({' or '.join(question_table.TABLE_FILE_NAMES)}); "
        f"{question_table.describe_misplaced_table(source)}data/README.md says what to put there"
    )


def find_question_errors(question: Question) -> list[str]:
    """What makes a question unusable; [] when nothing does."""
    plain = "letters, digits, '.', '-' and '_' only"
    sound = {
        f"the id may hold {plain}": is_valid_id(question.question_id),
        f"image {question.image_id!r} is outside of images/ or no plain name: {plain}": is_valid_id(
            question.image_id
        ),
        "the question is empty": question.text.strip(),
        "it has no answer": question.answer.strip(),
    }
    reasons = [reason for reason, holds in sound.items() if not holds]
    for what, name in (("the id", question.question_id), ("the image's name", question.image_id)):
        if len(name) > MAX_ID_LENGTH:
            reasons.append(
                f"{what} has {format_count(len(name), 'character')}, more than {MAX_ID_LENGTH}: {name[:20]}..."
            )
    for number, step in enumerate(question.program):
        wrong = [needed for needed in step.dependencies if not 0 <= needed < number]
        if wrong:
            reasons.append(
                f"step {number} ({step.operation}) depends on step {wrong[0]}, which does not come before it"
            )
    return reasons


class SourceFolder:
    """A data set's source folder, read record by record: first `questions`, then the others in any order.

    Attributes:
        format: which reader reads it.
        problems: what is wrong, of all that was read so far.
        wanted: image id -> the questions of the benchmark's split that ask for it.
    """

    def __init__(self, folder: Path, params: IngestParams) -> None:
        if params.split not in params.question_splits:
            raise UserError(
                f"ingest.question_splits lacks {params.split!r}, the split that the benchmark is built from"
            )
        self.folder, self.params = folder, params
        self.format: SourceFormat = detect_format(folder, params.format)
        self.problems = Problems(str(folder))
        self.questions_by_image: dict[str, list[str]] = {}
        self._image_sizes: dict[str, tuple[int, int]] = {}
        self._unused_questions: dict[str, UnusedQuestion] = {}
        self._counts: defaultdict[Split, Counter[str]] = defaultdict(Counter)

    def read_questions(self) -> Iterator[Question]:
        """The questions of `question_splits`, sorted by id."""
        splits = self.params.question_splits
        if self.format == "gqa":
            questions = gqa_files.read_questions(self.folder, splits, self.problems, self.params.question_set)
        else:
            questions = question_table.read_questions(self.folder, splits, self.problems, self.params.split)
        for question in questions:
            if self._is_unused(question):
                continue
            if question.split == self.params.split and is_valid_id(question.image_id):
                self.questions_by_image.setdefault(question.image_id, []).append(question.question_id)
            yield self._check_question(question, "questions")

    def read_unbalanced_questions(self) -> Iterator[Question]:
        """GQA's unbalanced questions about the wanted images, if their file is there and nothing better tells of
        these: no graphs are read, and not all questions are asked anyway."""
        params = self.params
        only_asked = self.format == "gqa" and params.question_set == "balanced"
        if not only_asked or params.split in params.graph_splits:
            return
        if not gqa_files.has_all_questions(self.folder, params.split):
            return
        for question in gqa_files.read_questions(self.folder, (params.split,), self.problems, "all"):
            asked = self.questions_by_image.get(question.image_id)
            if asked and question.question_id not in asked and not self._is_unused(question):
                yield self._check_question(question, "unbalanced questions")

    def read_scene_graphs(self) -> Iterator[SceneGraph]:
        """The published scene graphs of `graph_splits`, sorted by image; own questions may do without."""
        folder = self.folder / "sceneGraphs"
        if self.format == "table" and not folder.is_dir():
            return
        left_out = Counter[tuple[Split, str]]()
        splits = self.params.graph_splits
        for scene in gqa_files.read_scene_graphs(folder, splits, self.problems, omitted_counts=left_out):
            relations = sum(len(thing.relations) for thing in scene.objects)
            counts = self._counts[scene.split]
            counts.update({"scenes": 1, "objects": len(scene.objects), "relations": relations})
            counts["relations left out"] = left_out[scene.split, "relations left out"]
            if boxes := left_out[scene.split, "boxes clipped"]:
                counts["boxes clipped"] = boxes
            if scene.image_id in self.questions_by_image:
                self._image_sizes[scene.image_id] = scene.width, scene.height
            yield scene

    def read_images(self) -> Iterator[ImageRecord]:
        """The images wanted, sorted by id, each decoded to its last pixel."""
        folder, split = self.folder / "images", self.params.split
        files = list_images(folder, self.problems)
        if self.questions_by_image and not files and folder.is_dir():
            self.problems.add(
                "images/", f"no image in it, but {len(self.questions_by_image)} are asked about"
            )
        for image_id, asked in sorted(self.questions_by_image.items()) if files else ():
            where, path = f"image {image_id}", files.get(image_id)
            if path is None:
                wanted_by = f"questions that ask for it: {len(asked)}, the first is {asked[0]}"
                self.problems.add(where, f"no such file in images/; {wanted_by}")
                continue
            try:
                width, height, sha256 = inspect_image(path)
            except ValueError as error:
                self.problems.add(f"{where}: images/{path.name}", str(error))
                continue
            w, h = self._image_sizes.get(image_id, (width, height))
            if (w, h) != (width, height):
                sizes = f"{width} x {height}, its scene graph says {w} x {h}"
                self.problems.add(where, f"images/{path.name} is {sizes}")
            self._counts[split]["images"] += 1
            yield ImageRecord(
                image_id=image_id,
                split=split,
                path=path.as_posix(),
                width=width,
                height=height,
                sha256=sha256,
            )

    def make_report(self, paraphrased: int = 0) -> IngestReport:
        """Counts of all that was read.

        Raises:
            UserError: lists everything that is wrong.
        """
        if not self.questions_by_image and not self.problems.lines:
            unused = sum(row.split == self.params.split for row in self._unused_questions.values())
            but = f" but {unused:,} whose answer says there is none" if unused else ""
            self.problems.add(f"split {self.params.split}", f"there is no question of it{but}")
        self.problems.raise_if_any()
        return IngestReport(
            format=self.format,
            split=self.params.split,
            counts=dict(self._counts),
            num_paraphrased=paraphrased,
        )

    def _is_unused(self, question: Question) -> bool:
        """Whether a question's answer says that it has none, so that it can be no answerable question; it is noted then."""
        if not is_no_answer(question.answer):
            return False
        self._counts[question.split][f"questions left out: {NO_ANSWER_REASON}"] += 1
        row = UnusedQuestion(
            question_id=question.question_id,
            image_id=question.image_id,
            split=question.split,
            text=question.text,
            answer=question.answer,
            reason=NO_ANSWER_REASON,
        )
        self._unused_questions[question.question_id] = row
        return True

    def get_unused_questions(self) -> list[UnusedQuestion]:
        """The questions left out of all that was read, sorted by id."""
        return [row for _, row in sorted(self._unused_questions.items())]

    def _check_question(self, question: Question, what: str) -> Question:
        for fault in find_question_errors(question):
            self.problems.add(f"question {question.question_id}", fault)
        self._counts[question.split][what] += 1
        return question


def resolve_new_source_file(dataset: str, name: str) -> Path:
    """A file to be made in the source folder of a data set.

    Raises:
        UserError: that is no name, there is no such folder, or the file is there already.
    """
    if not is_valid_id(dataset):
        raise UserError(
            f"{dataset!r}: no data set's name; wanted that of a folder in data/, as rgqa init made it"
        )
    source = DatasetFolders(dataset).source
    if not source.is_dir():
        raise UserError(f"{source}: no such folder; run: rgqa init {dataset}")
    if (source / name).exists():
        raise UserError(f"{source / name}: is there already; move it away and run the same command again")
    return source / name
