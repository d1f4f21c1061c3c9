"""Read the image, text and answer of GQA's questions one by one, for training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from pipeline.core.errors import Problems
from pipeline.sources.large_json import DECODE_ERRORS, explain_decode_error, read_members


class TrainingQuestion(NamedTuple):
    """A question about an image, and its correct answer."""

    image_id: str
    text: str
    answer: str


class _Row(msgspec.Struct, rename="camel"):
    """The fields of a question that are used. Other fields are skipped."""

    image_id: str
    question: str
    answer: str


def list_question_files(path: Path) -> list[Path]:
    """Return the file itself, or the JSON files of a folder such as GQA's train_all_questions."""
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def read_training_questions(path: Path) -> Iterator[TrainingQuestion]:
    """Yield the questions of a file or of a folder of files.

    Only the index of one file at a time is in memory.

    Args:
        path: A file of questions in the format of GQA, or a folder of such files.

    Raises:
        UserError: After the last question. The error lists all problems of files and questions, or says that
            there are no questions.
    """
    problems, count = Problems(str(path)), 0
    decode = msgspec.json.Decoder(_Row).decode
    for file in list_question_files(path):
        for key, raw in read_members(file, file.name, problems).items():
            try:
                row = decode(raw)
            except DECODE_ERRORS as error:
                problems.add(f"{file.name}, question {key}", explain_decode_error(error))
                continue
            count += 1
            yield TrainingQuestion(row.image_id, row.question, row.answer)
    if not count and not problems.lines:
        problems.add(
            "questions", "none; expected GQA's <split>_balanced_questions.json or a folder of such files"
        )
    problems.raise_if_any()
