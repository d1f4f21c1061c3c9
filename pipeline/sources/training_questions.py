"""Of GQA's questions what a model learns from: the image, the text, the answer; read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from pipeline.core.errors import Problems
from pipeline.sources.large_json import DECODE_ERRORS, explain_decode_error, read_members


class TrainingQuestion(NamedTuple):
    """A question of an image and its one right answer."""

    image_id: str
    text: str
    answer: str


class _Row(msgspec.Struct, rename="camel"):  # the many other fields are passed over
    image_id: str
    question: str
    answer: str


def list_question_files(path: Path) -> list[Path]:
    """The file itself, or those of a folder such as GQA's train_all_questions."""
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def read_training_questions(path: Path) -> Iterator[TrainingQuestion]:
    """The questions of a file, or of a folder of such files, as they come; one file's index is in memory at a time.

    Raises:
        UserError: at the end: everything that is wrong with files and rows, or that there is no question.
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
            "questions", "none; wanted GQA's <split>_balanced_questions.json or a folder of such files"
        )
    problems.raise_if_any()
