"""Read public sets whose questions are answered with "yes" or "no" (NaturalBench: or with one of two options).

Each function takes the rows of a set, and the name of the file of each row, and returns one item per row. A faulty row gives an
item without question or answers, so that all faults can be reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from pipeline.public_sets.cells import (
    column_or_empty,
    detail_columns,
    name_images,
    normalize_value,
    read_text,
)
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.row_sources import RecordRows, RowSource

POPE_GROUPS = ("adversarial", "popular", "random")
# Columns that identify a figure of HallusionBench. `question_id` identifies a question of it.
HALLUSION_FIGURE_COLUMNS = ("category", "subcategory", "set_id", "figure_id")
# The four questions of a group of NaturalBench: question and image -> columns of question, image and answer.
NATURALBENCH_COLUMNS = {
    f"q{question}_i{image}": (f"Question_{question}", f"Image_{image}", f"Image_{image}_Question_{question}")
    for question in (0, 1)
    for image in (0, 1)
}
NATURALBENCH_TYPE_COLUMNS = ("Question Type", "Question_Type")


def read_answer(value: Any) -> tuple[str, ...]:
    """Return the answer "yes" or "no" in lower case; () if there is none.

    >>> read_answer("Yes"), read_answer(None)
    (('yes',), ())
    """
    text = normalize_value(value).lower()
    return (text,) if text else ()


def find_pope_group(file: str) -> str:
    """Return the group that a path names, "" for none. The file name counts more than the folders.

    >>> find_pope_group("popular_sets/coco_pope_random.json"), find_pope_group("random/pope.json"), find_pope_group("pope.json")
    ('random', 'random', '')
    """
    places = {name: file.lower().rfind(name) for name in POPE_GROUPS}
    last = max(places, key=lambda name: places[name])
    return last if places[last] >= 0 else ""


def read_pope(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read POPE or RePOPE: JSON Lines with question_id, image, text and label.

    The group (adversarial, popular or random) is a word of the file's name.
    """
    keys = column_or_empty(source, "question_id")
    rows = zip(
        keys, source.column("text"), source.column("image"), source.column("label"), files, strict=True
    )
    return [
        SetItem(
            normalize_value(key) or str(number),
            normalize_value(image),
            read_text(text),
            answers=read_answer(label),
            group=find_pope_group(file),
        )
        for number, (key, text, image, label, file) in enumerate(rows, 1)
    ]


def read_pope_hub(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read POPE as published on the Hugging Face hub: one table with a column `category`, and the ids of each category from 1."""
    names = ("category", "question_id", "question", "answer", "image_source")
    return [
        SetItem(
            f"{category} {key}",
            normalize_value(image),
            read_text(text),
            answers=read_answer(answer),
            group=normalize_value(category),
        )
        for category, key, text, answer, image in zip(*map(source.column, names), strict=True)
    ]


def read_hallusion_bench(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read HallusionBench. A question of category VS whose `visual_input` is 0 has no figure."""
    details = detail_columns(
        source, (*HALLUSION_FIGURE_COLUMNS, "visual_input", "question_id", "sample_note", "gt_answer_details")
    )
    images = name_images(source, "filename") if "filename" in source.columns else [""] * len(source)
    answers = {"1": "yes", "0": "no"}
    items = []
    rows = zip(source.column("question"), source.column("gt_answer"), images, details, strict=True)
    for text, answer, image, detail in rows:
        figure = "_".join(detail[name] for name in HALLUSION_FIGURE_COLUMNS)
        code = normalize_value(answer)
        items.append(
            SetItem(
                f"{figure} {detail['question_id']}",
                image,
                read_text(text),
                answers=read_answer(answers.get(code, code)),
                group=detail["category"],
                pair_id="_".join(
                    detail[name] for name in ("category", "subcategory", "set_id", "question_id")
                ),
                details={**detail, "figure": figure},
            )
        )
    return items


def read_amber(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read the discriminative part of AMBER: queries joined with annotations by id."""
    names = ("id", "image", "query", "type", "truth")
    return [
        SetItem(
            normalize_value(key),
            normalize_value(image),
            read_text(text),
            answers=read_answer(truth),
            group=normalize_value(kind),
            details={"id": normalize_value(key), "type": normalize_value(kind)},
        )
        for key, image, text, kind, truth in zip(*map(source.column, names), strict=True)
    ]


def expand_naturalbench(source: RowSource) -> RowSource:
    """Return one row for each question about each image. A row of NaturalBench's table is a group of four."""
    images = {name: name_images(source, name) for name in ("Image_0", "Image_1")}
    kinds = next((source.column(name) for name in NATURALBENCH_TYPE_COLUMNS if name in source.columns), None)
    numbers = column_or_empty(source, "Index")
    names = sorted({name for columns in NATURALBENCH_COLUMNS.values() for name in (columns[0], columns[2])})
    columns = {name: source.column(name) for name in names}

    def records() -> Iterator[dict[str, Any]]:
        for row in range(len(source)):
            for combination, (question, image, answer) in NATURALBENCH_COLUMNS.items():
                yield {
                    "group": normalize_value(numbers[row]) or str(row),
                    "combination": combination,
                    "question": columns[question][row],
                    "image": images[image][row],
                    "answer": columns[answer][row],
                    "question_type": kinds[row] if kinds else "yes_no",
                }

    return RecordRows([*records()], "NaturalBench")


def read_naturalbench(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read NaturalBench, as `expand_naturalbench` returns it.

    The answers are "yes" or "no", or the letter of an option, whose text stands in the question. `combination` of an item's details
    is the key of the question and image in the authors' script, such as "q0_i1".
    """
    names = ("group", "combination", "question", "image", "answer", "question_type")
    items = []
    for group, combination, text, image, answer, kind in zip(*map(source.column, names), strict=True):
        value = normalize_value(answer)
        is_choice = normalize_value(kind) == "multiple_choice"
        letter = re.match(r"[AB]\b", value, re.IGNORECASE)
        answers = (letter[0].upper(),) if is_choice and letter else read_answer(value)
        items.append(
            SetItem(
                f"{group} {combination}",
                image,
                read_text(text),
                answers=answers,
                group=normalize_value(kind),
                pair_id=normalize_value(group),
                details={"combination": combination, "Question_Type": normalize_value(kind)},
            )
        )
    return items
