"""Read and check a source folder, and prepare the files of converted sources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec

from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import read_json, write_json
from pipeline.core.no_answer_texts import is_no_answer
from pipeline.core.params import Params, Seed
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import (
    SUBSETS,
    ImageRecord,
    Question,
    Record,
    SceneGraph,
    Split,
    Subset,
    UnusedQuestion,
)
from pipeline.sources import gqa_files, question_table
from pipeline.sources.image_files import inspect_image, is_valid_id, list_images

SourceFormat = Literal["gqa", "table"]
RequestedSubset = Literal["clip-easy", "clip-hard", "pt-easy", "pt-hard"]
NO_ANSWER_REASON = "its answer means that none exists"
# The file of a source folder that lists the files which `rgqa convert` wrote.
CONVERTED_FILE_NAME = "converted.json"
# Maximum number of characters of an id. File names, which contain ids, have at most 255.
MAX_ID_LENGTH = 200


class IngestParams(Params):
    """Parameters of stage `ingest`.

    Attributes:
        subsets: Subsets to build. Without the CLIP subsets, no CLIP model is needed.
        split: Split whose images and questions make the benchmark. All image files of the split must exist.
            Rows of a table in which no split is given belong to this split.
        question_splits: Splits whose questions are read. `split` must be one of them. The questions of the
            other splits only show which attribute belongs to which type and which names form a category.
            `auto`: only `split`.
        graph_splits: Splits whose scene graphs are read. The graphs fill the vocabulary. Graphs of `split`
            are also evidence for the verifier. `auto`: the splits that have a file in `sceneGraphs`.
        question_set: For GQA only: read the `balanced` questions (as the RGQA paper did) or `all` questions.
        format: Format of the source folder. `auto` recognizes the format by the files in the folder.
        paraphrase: Whether the questions of `split` are reworded, so that a model cannot know them from
            the public source. `auto`: true for GQA's files and for questions that `rgqa convert` wrote,
            false for a table of your own.
        seed: Seed of the paraphrases.
    """

    subsets: Annotated[tuple[RequestedSubset, ...], msgspec.Meta(min_length=1)] = get_args(RequestedSubset)
    split: Split = "testdev"
    question_splits: tuple[Split, ...] | Literal["auto"] = "auto"
    graph_splits: tuple[Split, ...] | Literal["auto"] = "auto"
    question_set: gqa_files.QuestionSet = "balanced"
    format: SourceFormat | Literal["auto"] = "auto"
    paraphrase: bool | Literal["auto"] = "auto"
    seed: Seed = 0

    def resolve_question_splits(self) -> tuple[Split, ...]:
        """Return the splits whose questions are read."""
        return (self.split,) if isinstance(self.question_splits, str) else self.question_splits

    def resolve_graph_splits(self, source: Path) -> tuple[Split, ...]:
        """Return the splits whose scene graphs are read from a source folder."""
        if not isinstance(self.graph_splits, str):
            return self.graph_splits
        folder = source / "sceneGraphs"
        return tuple(split for split in get_args(Split) if (folder / f"{split}_sceneGraphs.json").is_file())


class ParaphraseReport(Record):
    """Whether stage `ingest` paraphrased the questions of the split.

    Attributes:
        used: Whether they were paraphrased.
        auto: Whether the parameter `paraphrase` was `auto`.
        public_source: Name of the public data set that the questions come from; "" for an own table.
    """

    used: bool = False
    auto: bool = False
    public_source: str = ""

    def describe(self, num_paraphrased: int, num_questions: int) -> str:
        """Return a sentence for the card of a release; "" if the parameters say that nothing is paraphrased.

        Args:
            num_paraphrased: Number of questions of the split that were paraphrased.
            num_questions: Number of questions of the split.

        >>> ParaphraseReport(auto=True).describe(0, 9)
        'The questions have the wording of the source (ingest.paraphrase is auto, and the source is not known to be public).'
        """
        if self.used:
            reason = f"auto, and {self.public_source} is public" if self.auto else "true"
            return (
                f"Templates reworded {num_paraphrased:,} of {format_count(num_questions, 'question')} of the source (ingest.paraphrase is {reason}). "
                "Scores are not comparable with those on the original wording."
            )
        if self.auto:
            return "The questions have the wording of the source (ingest.paraphrase is auto, and the source is not known to be public)."
        return ""


class IngestReport(Record):
    """What stage `ingest` read.

    Attributes:
        format: Format of the source.
        split: Split from which the benchmark is built.
        counts: Split -> kind ("questions", "images", "scenes" ...) -> number.
        num_paraphrased: Number of questions of `split` that were paraphrased.
        paraphrase: Whether these questions were paraphrased, and why.
        wording: The same as a sentence for the card of the release; "" if `ingest.paraphrase` is false.
        subsets: The subsets that later stages make, in the order of `SUBSETS`.
        drafted: What models drafted (`rgqa draft`): model -> "questions" and "scenes" -> number. The field is
            missing if nothing is known to be drafted.
    """

    format: SourceFormat
    split: Split
    counts: Mapping[Split, Mapping[str, int]]
    num_paraphrased: int = 0
    paraphrase: ParaphraseReport = ParaphraseReport()
    wording: str = ""
    subsets: tuple[Subset, ...] = SUBSETS
    drafted: dict[str, dict[str, int]] | msgspec.UnsetType = msgspec.UNSET


def detect_format(source: Path, requested: SourceFormat | Literal["auto"]) -> SourceFormat:
    """Return the format of a source folder.

    Args:
        source: The folder.
        requested: The format in the parameters; "auto" to recognize the format by the files.

    Raises:
        UserError: No format is recognized.
    """
    if requested != "auto":
        return requested
    if (source / "questions1.2").is_dir():
        return "gqa"
    if any((source / name).is_file() for name in question_table.TABLE_FILE_NAMES):
        return "table"
    raise UserError(
        f"{source}: neither GQA's files (a folder questions1.2) nor a table ({' or '.join(question_table.TABLE_FILE_NAMES)}); "
        f"{question_table.describe_misplaced_table(source)}docs/reference/files_and_records.md describes the formats"
    )


def find_question_errors(question: Question) -> list[str]:
    """Return the problems that make a question unusable."""
    allowed = "only letters, digits, '.', '-' and '_' are allowed"
    conditions = {
        f"invalid id; {allowed}": is_valid_id(question.question_id),
        f"invalid name of image {question.image_id!r}; {allowed}": is_valid_id(question.image_id),
        "the question is empty": question.text.strip(),
        "it has no answer": question.answer.strip(),
    }
    reasons = [reason for reason, holds in conditions.items() if not holds]
    for what, name in (("the id", question.question_id), ("the image's name", question.image_id)):
        if len(name) > MAX_ID_LENGTH:
            reasons.append(
                f"{what} has {format_count(len(name), 'character')}, more than {MAX_ID_LENGTH}: {name[:20]}..."
            )
    for index, step in enumerate(question.program):
        invalid = [needed for needed in step.dependencies if not 0 <= needed < index]
        if invalid:
            reasons.append(
                f"step {index} ({step.operation}) depends on step {invalid[0]}, which is not an earlier step"
            )
    return reasons


class SourceFolder:
    """A source folder, read record by record.

    Call `read_questions` first, then the other methods in any order.

    Args:
        folder: The folder.
        params: Parameters of stage `ingest`.
        new_files: A table and a folder of images that are not in the folder yet, and are read in its place.

    Attributes:
        format: Format of the folder.
        images_folder: The folder with the images.
        problems: Problems of everything that was read so far.
        questions_by_image: Image id -> ids of the questions about the image, for the split of the benchmark.
    """

    def __init__(
        self, folder: Path, params: IngestParams, new_files: tuple[Path, Path] | None = None
    ) -> None:
        self._question_splits = params.resolve_question_splits()
        self._graph_splits = params.resolve_graph_splits(folder)
        if params.split not in self._question_splits:
            raise UserError(
                f"ingest.question_splits lacks {params.split!r}, the split that the benchmark is built from"
            )
        self.folder, self.params = folder, params
        self.format: SourceFormat = "table" if new_files else detect_format(folder, params.format)
        self._table, self.images_folder = new_files or (None, folder / "images")
        self.problems = Problems(" and ".join(map(str, new_files)) if new_files else str(folder))
        self.questions_by_image: dict[str, list[str]] = {}
        self._image_sizes: dict[str, tuple[int, int]] = {}
        self._unused_questions: dict[str, UnusedQuestion] = {}
        self._counts: defaultdict[Split, Counter[str]] = defaultdict(Counter)
        # Model -> what it drafted, only of the split of the benchmark.
        self._drafted: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def resolve_paraphrase(self) -> ParaphraseReport:
        """Decide whether the questions of the split are paraphrased.

        With `auto`, they are if they come from a public data set: GQA, or one that `rgqa convert` read.
        """
        public_source = self._find_public_source()
        requested = self.params.paraphrase
        used = bool(public_source) if requested == "auto" else requested
        return ParaphraseReport(used=used, auto=requested == "auto", public_source=public_source)

    def _find_public_source(self) -> str:
        if self.format == "gqa":
            return "GQA"
        if self._table:
            return ""
        converted = read_converted_files(self.folder)
        tables = (name for name in question_table.TABLE_FILE_NAMES if (self.folder / name).is_file())
        return next((converted[name] for name in tables if name in converted), "")

    def read_questions(self) -> Iterator[Question]:
        """Yield the questions of `question_splits`, sorted by id."""
        splits = self._question_splits
        if self.format == "gqa":
            questions = gqa_files.read_questions(self.folder, splits, self.problems, self.params.question_set)
        elif self._table:
            questions = question_table.read_table(self._table, splits, self.problems, self.params.split)
        else:
            questions = question_table.read_questions(self.folder, splits, self.problems, self.params.split)
        for question in questions:
            if self._is_unused(question):
                continue
            if question.split == self.params.split and is_valid_id(question.image_id):
                self.questions_by_image.setdefault(question.image_id, []).append(question.question_id)
            yield self._check_question(question, "questions")

    def read_unbalanced_questions(self) -> Iterator[Question]:
        """Yield the unbalanced questions of GQA about the images of the benchmark, which are only used as
        evidence.

        These questions are read only if their file exists, if the benchmark is built from the balanced
        questions, and if no scene graphs of the split are read.
        """
        params = self.params
        uses_balanced = self.format == "gqa" and params.question_set == "balanced"
        if not uses_balanced or params.split in self._graph_splits:
            return
        if not gqa_files.has_all_questions(self.folder, params.split):
            return
        for question in gqa_files.read_questions(self.folder, (params.split,), self.problems, "all"):
            used = self.questions_by_image.get(question.image_id)
            if used and question.question_id not in used and not self._is_unused(question):
                yield self._check_question(question, "unbalanced questions")

    def read_scene_graphs(self) -> Iterator[SceneGraph]:
        """Yield the scene graphs of `graph_splits`, sorted by image id.

        For a table, scene graphs are optional.
        """
        folder = self.folder / "sceneGraphs"
        if self.format == "table" and not folder.is_dir():
            return
        omitted = Counter[tuple[Split, str]]()
        splits = self._graph_splits
        for scene in gqa_files.read_scene_graphs(folder, splits, self.problems, omitted_counts=omitted):
            relations = sum(len(obj.relations) for obj in scene.objects)
            counts = self._counts[scene.split]
            counts.update({"scenes": 1, "objects": len(scene.objects), "relations": relations})
            counts["relations omitted"] = omitted[scene.split, "relations omitted"]
            if boxes := omitted[scene.split, "boxes clipped"]:
                counts["boxes clipped"] = boxes
            if scene.drafted_by and scene.split == self.params.split:
                self._drafted[scene.drafted_by]["scenes"] += 1
            if scene.image_id in self.questions_by_image:
                self._image_sizes[scene.image_id] = scene.width, scene.height
            yield scene

    def read_images(self) -> Iterator[ImageRecord]:
        """Yield the images of the benchmark, sorted by id. Each image is decoded completely."""
        folder, split = self.images_folder, self.params.split
        files = list_images(folder, self.problems)
        if self.questions_by_image and not files and folder.is_dir():
            self.problems.add(
                f"{folder.name}/", f"no image in it, but questions need {len(self.questions_by_image)}"
            )
        for image_id, question_ids in sorted(self.questions_by_image.items()) if files else ():
            where, path = f"image {image_id}", files.get(image_id)
            if path is None:
                num_questions = format_count(len(question_ids), "question is", "questions are")
                first = question_ids[0] if len(question_ids) == 1 else f"for example {question_ids[0]}"
                needed_by = f"{num_questions} about it: {first}"
                self.problems.add(where, f"no such file in {folder.name}/; {needed_by}")
                continue
            try:
                width, height, sha256 = inspect_image(path)
            except ValueError as error:
                self.problems.add(f"{where}: {folder.name}/{path.name}", str(error))
                continue
            w, h = self._image_sizes.get(image_id, (width, height))
            if (w, h) != (width, height):
                sizes = f"{width} x {height}, but its scene graph says {w} x {h}"
                self.problems.add(where, f"{folder.name}/{path.name} is {sizes}")
            self._counts[split]["images"] += 1
            yield ImageRecord(
                image_id=image_id,
                split=split,
                path=path.as_posix(),
                width=width,
                height=height,
                sha256=sha256,
            )

    def make_report(self, num_paraphrased: int = 0) -> IngestReport:
        """Return the counts of everything that was read.

        Args:
            num_paraphrased: Number of paraphrased questions, for the report.

        Raises:
            UserError: Lists all problems of everything that was read.
        """
        if not self.questions_by_image and not self.problems.lines:
            unused = sum(row.split == self.params.split for row in self._unused_questions.values())
            hint = f" except {unused:,} whose answer means that none exists" if unused else ""
            self.problems.add(f"split {self.params.split}", f"it has no questions{hint}")
        self.problems.raise_if_any()
        paraphrase = self.resolve_paraphrase()
        return IngestReport(
            format=self.format,
            split=self.params.split,
            counts=dict(self._counts),
            num_paraphrased=num_paraphrased,
            paraphrase=paraphrase,
            wording=paraphrase.describe(num_paraphrased, self._counts[self.params.split]["questions"]),
            subsets=tuple(subset for subset in SUBSETS if subset in self.params.subsets),
            drafted={model: dict(counts) for model, counts in sorted(self._drafted.items())} or msgspec.UNSET,
        )

    def _is_unused(self, question: Question) -> bool:
        """Report whether the answer of a question says that the question has no answer.

        Such a question is recorded as unused.
        """
        if not is_no_answer(question.answer):
            return False
        self._counts[question.split][f"questions excluded: {NO_ANSWER_REASON}"] += 1
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
        """Return the questions that were read but excluded so far, sorted by id."""
        return [row for _, row in sorted(self._unused_questions.items())]

    def _check_question(self, question: Question, label: str) -> Question:
        for error in find_question_errors(question):
            self.problems.add(f"question {question.question_id}", error)
        self._counts[question.split][label] += 1
        if question.drafted_by and question.split == self.params.split:
            self._drafted[question.drafted_by]["questions"] += 1
        return question


def read_converted_files(source: Path) -> dict[str, str]:
    """Return the files of a source folder that `rgqa convert` wrote, with the name of their data set.

    Raises:
        UserError: The list of converted files has another format.
    """
    path = source / CONVERTED_FILE_NAME
    return read_json(path, dict[str, str]) if path.is_file() else {}


def record_converted_file(source: Path, name: str, dataset: str) -> None:
    """Record in a source folder that a file in it was converted from a public data set.

    Args:
        source: The source folder.
        name: Path of the file below the source folder.
        dataset: Name of the public data set, such as "VQA v2".
    """
    converted = read_converted_files(source) | {name: dataset}
    write_json(source / CONVERTED_FILE_NAME, dict(sorted(converted.items())))


def resolve_new_source_file(dataset: str, name: str) -> Path:
    """Return the path of a new file in the source folder of a data set.

    Args:
        dataset: Name of the data set.
        name: Path of the file below the source folder.

    Raises:
        UserError: The name is invalid, the folder does not exist, or the file exists.
    """
    if not is_valid_id(dataset):
        raise UserError(
            f"{dataset!r}: invalid name of a data set; use the name of a folder in data/ that rgqa init made"
        )
    source = DatasetFolders(dataset).source
    if not source.is_dir():
        raise UserError(f"{source}: no such folder; run: rgqa init {dataset}")
    if (source / name).exists():
        raise UserError(f"{source / name}: already exists; move it away and run the same command again")
    return source / name
