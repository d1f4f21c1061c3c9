"""Formats of public benchmarks, recognized by the names of their columns.

Sources of the formats:
    POPE          AoiDragon/POPE 7ef3026, output/coco/coco_pope_popular.json, JSON Lines: question_id, image, text, label;
                  on the hub (lmms-lab/POPE, as lmms-eval 0.7.3 reads it): question, answer, image_source, category.
    HallusionBench tianyi-lab/HallusionBench 4e75e5d, HallusionBench.json; utils.py 08e51de: category, subcategory,
                  set_id and figure_id identify a figure, question_id a question of it.
    VizWiz        vizwiz.org/tasks-and-datasets/vqa: image, question, answers, answer_type, answerable (0 or 1).
    VQA v2        visualqa.org/download.html: questions and annotations; answer_type "yes/no", multiple_choice_answer.
    MM-UPD        AtsuMiyai/UPD c8ad930, vlms/llava/eval/llava_vqa_updbench.py: hint, question, options A to E ("nan" if an option is
                  missing); type "standard" or "upd" (or a kind of it), masked_answer: lmms-eval 0.7.3, mmupd_evals.py.
    RGQA          chihhuiho/RGQA 737af30 and this project's releases: img_id, question_id, sent, label; their tables (Parquet): item_id,
                  image_id, source_question_id (question_id in older ones), question, label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.benchmark.auditing.row_sources import RowSource
from pipeline.core.column_aliases import COLUMN_ALIASES, find_column
from pipeline.core.errors import UserError

YES_NO = {"yes": True, "no": False}
# Values of a column that states whether a question is answerable.
IS_UNANSWERABLE = {"0": True, "1": False, "false": True, "true": False}
ANSWERABLE_COLUMNS, ANSWER_COLUMNS = COLUMN_ALIASES["answerable"], COLUMN_ALIASES["answer"]
# Columns of the options in MM-UPD.
OPTION_LETTERS = "ABCDE"


class ParsedRows(NamedTuple):
    """The columns of a set after parsing, [n] each.

    Attributes:
        texts: Questions.
        labels: True, False, a string that states why the row is excluded, or None if the label is missing or
            unknown.
        images, ids: Names of images and ids of rows, or None if the format has no images or no ids.
        label_names: Names of the labels False and True.
        source_ids: Id of the source question of each row, or None if the format has no such ids. A row is its
            source question or was made from it.
    """

    texts: Sequence[Any]
    labels: Sequence[bool | str | None]
    images: Sequence[Any] | None
    ids: Sequence[Any] | None
    label_names: tuple[str, str]
    source_ids: Sequence[Any] | None = None


class SetFormat(NamedTuple):
    """A format that is recognized by its columns.

    Attributes:
        columns: The columns that a file must have.
        parse: A function that parses the rows.
        label_columns: The columns that may contain the labels. A file has one of these columns.
    """

    columns: frozenset[str]
    parse: Callable[[RowSource], ParsedRows]
    label_columns: Sequence[str] = (*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS)


def parse_rgqa(source: RowSource) -> ParsedRows:
    ids = source.column("question_id")
    labels = ["UQ" in label if isinstance(label, Mapping) else None for label in source.column("label")]
    source_ids = [str(key).rpartition("+")[2] for key in ids]
    return ParsedRows(source.column("sent"), labels, source.column("img_id"), ids, ("AQ", "UQ"), source_ids)


def parse_release_table(source: RowSource) -> ParsedRows:
    labels = [parse_label(label, {"1": True, "0": False}) for label in source.column("label")]
    key = "source_question_id" if "source_question_id" in source.columns else "question_id"
    texts, images, ids, source_ids = map(source.column, ("question", "image_id", "item_id", key))
    return ParsedRows(texts, labels, images, ids, ("AQ", "UQ"), source_ids)


def parse_pope(source: RowSource) -> ParsedRows:
    labels = [parse_label(label, YES_NO) for label in source.column("label")]
    return ParsedRows(
        source.column("text"),
        labels,
        source.column("image"),
        source.column("question_id") if "question_id" in source.columns else None,
        ("no", "yes"),
    )


def parse_pope_hub(source: RowSource) -> ParsedRows:
    """Read POPE as published on the Hugging Face hub.

    The table has three sets ("adversarial", "popular" and "random"), each with its own ids.
    """
    ids = [f"{a} {b}" for a, b in zip(source.column("category"), source.column("question_id"), strict=True)]
    labels = [parse_label(label, YES_NO) for label in source.column("answer")]
    return ParsedRows(source.column("question"), labels, source.column("image_source"), ids, ("no", "yes"))


def parse_hallusion_bench(source: RowSource) -> ParsedRows:
    figure, question = ("category", "subcategory", "set_id", "figure_id"), "question_id"
    figures = ["_".join(map(str, row)) for row in zip(*map(source.column, figure), strict=True)]
    ids = [f"{name} {key}" for name, key in zip(figures, source.column(question), strict=True)]
    labels = [parse_label(label, {"1": True, "0": False}) for label in source.column("gt_answer")]
    return ParsedRows(source.column("question"), labels, figures, ids, ("no", "yes"))


def parse_vizwiz(source: RowSource) -> ParsedRows:
    labels = [parse_label(label, IS_UNANSWERABLE) for label in source.column("answerable")]
    return ParsedRows(
        source.column("question"), labels, source.column("image"), None, ("answerable", "unanswerable")
    )


def parse_mm_upd(source: RowSource) -> ParsedRows:
    """Read MM-UPD.

    The text of a row contains everything that a model sees: the hint, the question and the options. The
    standard and the unsolvable version of a question share an index.
    """
    shown = [name for name in ("hint", "question", *OPTION_LETTERS) if name in source.columns]
    texts = []
    for row in zip(*map(source.column, shown), strict=True):
        parts = {name: value for name, value in zip(shown, map(normalize_value, row), strict=True) if value}
        lines = [
            f"{name}. {value}" if name in OPTION_LETTERS else value
            for name, value in parts.items()
            if value.lower() not in ("nan", "none")
        ]
        texts.append("\n".join(lines))
    index, kinds = ([normalize_value(value) for value in source.column(name)] for name in ("index", "type"))
    ids = [f"{kind} {key}" for kind, key in zip(kinds, index, strict=True)]
    labels = [kind != "standard" if kind else None for kind in kinds]
    images = source.column("image") if "image" in source.columns else None
    return ParsedRows(texts, labels, images, ids, ("standard", "unsolvable"), index)


def parse_vqa_v2(source: RowSource) -> ParsedRows:
    kinds, answers = source.column("answer_type"), source.column("multiple_choice_answer")
    labels = [
        YES_NO[normalize_value(answer)]
        if kind == "yes/no" and normalize_value(answer) in YES_NO
        else "not answered yes or no"
        for kind, answer in zip(kinds, answers, strict=True)
    ]
    ids = source.column("question_id") if "question_id" in source.columns else None
    return ParsedRows(source.column("question"), labels, source.column("image_id"), ids, ("no", "yes"))


def parse_vqa_style(source: RowSource) -> ParsedRows:
    """Read questions, images and answers under their common column names.

    There are two cases. If a column states whether a question is answerable, or if some answer is
    "unanswerable", the label is whether the question is unanswerable. Otherwise the label is whether the
    answer is "yes", and rows with other answers than "yes" and "no" are excluded.
    """
    text, image, ids = (
        find_column(names, source.columns) for names in (TEXT_COLUMNS, IMAGE_COLUMNS, ID_COLUMNS)
    )
    column = find_column(ANSWERABLE_COLUMNS, source.columns)
    label_names, labels = ("answerable", "unanswerable"), []
    if column:
        labels = [parse_label(value, IS_UNANSWERABLE) for value in source.column(column)]
    elif answer := find_column(ANSWER_COLUMNS, source.columns):
        answers = [normalize_value(value).lower().rstrip(".") for value in source.column(answer)]
        labels = [value == "unanswerable" if value else None for value in answers]
        if True not in labels:
            label_names = ("no", "yes")
            labels = [YES_NO.get(value, "not answered yes or no") if value else None for value in answers]
    return ParsedRows(
        source.column(text or ""),
        labels,
        source.column(image) if image else None,
        source.column(ids) if ids else None,
        label_names,
    )


TEXT_COLUMNS, IMAGE_COLUMNS, ID_COLUMNS = (
    COLUMN_ALIASES["question"],
    COLUMN_ALIASES["image"],
    COLUMN_ALIASES["question id"],
)
# The first format whose columns are present is used.
FORMATS = {
    "RGQA": SetFormat(frozenset(("img_id", "question_id", "sent", "label")), parse_rgqa),
    "RGQA (table)": SetFormat(
        frozenset(("item_id", "image_id", "source_question_id", "question", "label")), parse_release_table
    ),
    "RGQA (table, before 2.0)": SetFormat(
        frozenset(("item_id", "image_id", "question_id", "question", "label")), parse_release_table
    ),
    "HallusionBench": SetFormat(
        frozenset(("category", "subcategory", "set_id", "figure_id", "question_id", "question", "gt_answer")),
        parse_hallusion_bench,
    ),
    "POPE": SetFormat(frozenset(("image", "text", "label")), parse_pope),
    "POPE (hub)": SetFormat(
        frozenset(("question_id", "question", "answer", "image_source", "category")), parse_pope_hub
    ),
    "MM-UPD": SetFormat(
        frozenset(("index", "question", "type", "masked_answer", "A")), parse_mm_upd, ("type",)
    ),
    "VizWiz": SetFormat(frozenset(("image", "question", "answerable")), parse_vizwiz),
    "VQA v2, yes or no": SetFormat(
        frozenset(("question", "image_id", "answer_type", "multiple_choice_answer")), parse_vqa_v2
    ),
    "VQA style": SetFormat(frozenset(), parse_vqa_style),
}


def detect_format(columns: Sequence[str], source: str) -> str:
    """Return the name of the format that has these columns.

    Raises:
        UserError: No format has these columns. The message states what is missing.
    """
    for name, known in FORMATS.items():
        if known.columns and known.columns <= set(columns):
            return name
    text, answer = (
        find_column(TEXT_COLUMNS, columns),
        find_column((*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS), columns),
    )
    if text and answer:
        return "VQA style"
    missing = [f"a text ({', '.join(TEXT_COLUMNS)})"] if not text else []
    missing += (
        [f"a label or answer ({', '.join((*ANSWERABLE_COLUMNS, *ANSWER_COLUMNS))})"] if not answer else []
    )
    more = "; for VQA v2 also give --annotations FILE" if text and not answer else ""
    raise UserError(
        f"{source}: unknown format; its columns {', '.join(map(str, columns)) or '(none)'} lack"
        f" {' and '.join(missing)}. Name the columns: --text-column NAME --label-column NAME [--image-column NAME]{more}"
    )


def parse_label(value: Any, label_values: Mapping[str, bool]) -> bool | None:
    """Return the label that a value stands for, or None if the value is not in `label_values`."""
    return label_values.get(normalize_value(value).lower())


def normalize_value(value: Any) -> str:
    """Return a value as a string that can be compared.

    Whole numbers lose their ".0". The bytes of an image, and very long texts, are replaced by their hash.
    Missing values become "".

    >>> normalize_value(1.0), normalize_value("yes "), normalize_value(float("nan"))
    ('1', 'yes', '')
    >>> normalize_value({"bytes": b"x", "path": None})
    '2d711642b726b044'
    """
    # The library `datasets` stores an image in this form.
    if isinstance(value, Mapping) and value.keys() == {"bytes", "path"}:
        return normalize_value(value["bytes"]) if value.get("bytes") else str(value.get("path") or "")
    if isinstance(value, bytes) or (isinstance(value, str) and len(value) > 1000):
        data = value if isinstance(value, bytes) else value.encode()
        return hashlib.sha256(data).hexdigest()[:16]
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
