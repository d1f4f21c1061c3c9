"""Convert questions in the format of VQA v2, which OK-VQA and others share, to a table of questions.

The format has a file of questions and a file of annotations with ten answers per question
(https://visualqa.org/download.html). In the table, the correct answer to a question is the most common
answer. `rgqa score` reads all ten answers from the annotations, for VQA accuracy. VQA has no functional
programs, so the questions can be ranked and perturbed, but not verified.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import msgspec

from pipeline.core.errors import Problems, UserError, format_count
from pipeline.core.json_files import read_json, write_jsonl
from pipeline.core.records import Split
from pipeline.sources.image_files import is_valid_id
from pipeline.sources.question_table import TableRow
from pipeline.sources.source_folder import record_converted_file, resolve_new_source_file

DATASET_NAME = "VQA v2"
NonNegativeInt = Annotated[int, msgspec.Meta(ge=0)]


class _Question(msgspec.Struct):
    question_id: NonNegativeInt
    image_id: NonNegativeInt
    question: str


class _Questions(msgspec.Struct):
    questions: list[_Question]
    data_subtype: str = ""


class _Answer(msgspec.Struct):
    answer: str


class _Annotation(msgspec.Struct):
    question_id: NonNegativeInt
    image_id: NonNegativeInt
    answers: list[_Answer]
    multiple_choice_answer: str = ""
    question_type: str = ""


class _Annotations(msgspec.Struct):
    annotations: list[_Annotation]


def read_questions(
    question_file: Path,
    annotation_file: Path,
    split: Split,
    problems: Problems,
    prefix: str | None = None,
    digits: int = 12,
) -> list[TableRow]:
    """Return the questions as rows of a table, sorted by id.

    `detailed` is VQA's question type ("what color is the").

    Args:
        question_file: Questions of VQA v2.
        annotation_file: Annotations of VQA v2.
        split: Split of the questions.
        problems: Collects problems of the rows.
        prefix: Prefix of image names; None for `COCO_<data_subtype>_` as in COCO 2014.
        digits: Length to which image numbers are padded with zeros. With 12 digits, image 262148 is
            `<prefix>000000262148`.

    Raises:
        UserError: A file is missing or has another format.
    """
    question_rows, annotation_name = read_json(question_file, _Questions), annotation_file.name
    annotations: dict[int, _Annotation] = {}
    for annotation in read_json(annotation_file, _Annotations).annotations:
        if annotation.question_id in annotations:
            problems.add(f"{annotation_name}, question {annotation.question_id}", "annotated more than once")
        annotations[annotation.question_id] = annotation
    if prefix is None:
        prefix = f"COCO_{question_rows.data_subtype}_" if question_rows.data_subtype else ""
    if not is_valid_id(f"{prefix}0"):
        problems.add(
            f"prefix {prefix!r}", "only letters, digits, '.', '-' and '_' are allowed in image names"
        )
    rows = []
    for row in question_rows.questions:
        where = f"{question_file.name}, question {row.question_id}"
        annotation = annotations.pop(row.question_id, None)
        if annotation is None:
            problems.add(where, f"it has no annotation in {annotation_name}, or occurs twice")
            continue
        if annotation.image_id != row.image_id:
            problems.add(where, f"image {row.image_id}, but {annotation.image_id} in {annotation_name}")
        answer = find_most_common_answer(annotation)
        if not answer:
            problems.add(where, f"no answer in {annotation_name}")
        rows.append(
            TableRow(
                question_id=str(row.question_id),
                image=f"{prefix}{row.image_id:0{digits}}",
                text=row.question,
                answer=answer,
                split=split,
                detailed=annotation.question_type,
            )
        )
    for question_id in sorted(annotations):
        problems.add(f"{annotation_name}, question {question_id}", f"it is not in {question_file.name}")
    return sorted(rows, key=lambda row: row.question_id)


def find_most_common_answer(annotation: _Annotation) -> str:
    """Return the most common answer.

    Ties are broken by VQA's `multiple_choice_answer`, then by alphabetical order.
    """
    counts = Counter(answer.answer for answer in annotation.answers if answer.answer.strip())
    chosen = annotation.multiple_choice_answer
    return min(counts, key=lambda answer: (-counts[answer], answer != chosen, answer), default=chosen)


def convert_questions(
    question_file: Path,
    annotation_file: Path,
    dataset: str,
    split: Split,
    prefix: str | None = None,
    digits: int = 12,
) -> str:
    """Write questions of VQA v2 as `source/questions.jsonl` of a data set.

    Args:
        question_file: Questions of VQA v2.
        annotation_file: Annotations of VQA v2.
        dataset: Name of the data set.
        split: Split of the questions.
        prefix: Prefix of image names; None for `COCO_<data_subtype>_`.
        digits: Length to which image numbers are padded with zeros.

    Returns:
        A message that says what to do next.

    Raises:
        UserError: Lists all problems, or says that the table already exists. In both cases nothing is
            written.
    """
    table = resolve_new_source_file(dataset, "questions.jsonl")
    problems = Problems(f"{question_file.name} and {annotation_file.name}")
    rows = read_questions(question_file, annotation_file, split, problems, prefix, digits)
    problems.raise_if_any()
    if not rows:
        raise UserError(f"{question_file}: it has no questions")
    # If only this record were written, the next try would replace it. A table without it would count as an own table.
    record_converted_file(table.parent, table.name, DATASET_NAME)
    write_jsonl(table, rows)
    images = len({row.image for row in rows})
    return (
        f"{format_count(len(rows), 'question')} -> {table}. Put their {format_count(images, 'image')} ({rows[0].image}.jpg, ...) into "
        f"{table.parent / 'images'}, and in params.yaml set `ingest.split: {split}`"
    )
