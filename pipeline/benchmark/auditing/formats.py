"""Formats of public sets, recognized by the names of their columns.

Where the formats are from (read, not copied):
    POPE          AoiDragon/POPE 7ef3026, output/coco/coco_pope_popular.json: in each line question_id, image, text, label;
                  on the hub (lmms-lab/POPE, as lmms-eval 0.7.3 reads it): question, answer, image_source, category.
    HallusionBench tianyi-lab/HallusionBench 4e75e5d, HallusionBench.json, and utils.py 08e51de, which says what names a
                  figure (category, subcategory, set_id, figure_id) and what a question.
    VizWiz        vizwiz.org/tasks-and-datasets/vqa: image, question, answers, answer_type, answerable (0 or 1).
    VQA v2        visualqa.org/download.html: questions and annotations; answer_type "yes/no", multiple_choice_answer.
    MM-UPD        AtsuMiyai/UPD c8ad930, vlms/llava/eval/llava_vqa_updbench.py: hint, question, options A to E ("nan" where there is
                  none); type "standard" or "upd" (or the kind of it), masked_answer: lmms-eval 0.7.3, mmupd_evals.py.
    RGQA          chihhuiho/RGQA 737af30 and this project's releases: img_id, question_id, sent, label; their tables (Parquet): item_id,
                  picture_id, source_question_id (question_id in older ones), question, label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pipeline.benchmark.auditing.row_sources import Rows
from pipeline.core.column_aliases import ALIASES, first_of
from pipeline.core.errors import UserError

YES_NO = {"yes": True, "no": False}
CAN_NOT = {"0": True, "1": False, "false": True, "true": False}  # of a column that says what can be answered
ANSWERABLE, ANSWERS = ALIASES["answerable"], ALIASES["answer"]
OPTIONS = "ABCDE"  # of MM-UPD


class RowsRead(NamedTuple):
    """What a format says of each row, [n] each.

    Attributes:
        texts: Questions.
        labels: True, False, a str that says why the row counts as neither, or None where it has none.
        images, ids: Their names; None where the format has none.
        meaning: What the labels False and True stand for.
        source_ids: The question that each row is, or was made from; None where the format has none.
    """

    texts: Sequence[Any]
    labels: Sequence[bool | str | None]
    images: Sequence[Any] | None
    ids: Sequence[Any] | None
    meaning: tuple[str, str]
    source_ids: Sequence[Any] | None = None


class SetFormat(NamedTuple):
    """A format that is recognized by its columns; `labels`: the columns that its labels may be in, of which it has one."""

    columns: frozenset[str]
    read: Callable[[Rows], RowsRead]
    labels: Sequence[str] = (*ANSWERABLE, *ANSWERS)


def rgqa(source: Rows) -> RowsRead:
    ids = source.column("question_id")
    labels = ["UQ" in label if isinstance(label, Mapping) else None for label in source.column("label")]
    source_ids = [str(key).rpartition("+")[2] for key in ids]
    return RowsRead(source.column("sent"), labels, source.column("img_id"), ids, ("AQ", "UQ"), source_ids)


def release_table(source: Rows) -> RowsRead:
    labels = [answered(label, {"1": True, "0": False}) for label in source.column("label")]
    key = "source_question_id" if "source_question_id" in source.columns else "question_id"
    texts, images, ids, source_ids = map(source.column, ("question", "picture_id", "item_id", key))
    return RowsRead(texts, labels, images, ids, ("AQ", "UQ"), source_ids)


def pope(source: Rows) -> RowsRead:
    labels = [answered(label, YES_NO) for label in source.column("label")]
    return RowsRead(
        source.column("text"),
        labels,
        source.column("image"),
        source.column("question_id") if "question_id" in source.columns else None,
        ("no", "yes"),
    )


def pope_of_the_hub(source: Rows) -> RowsRead:
    """Its three sets in one, each with ids of its own: category "adversarial", "popular" or "random"."""
    ids = [f"{a} {b}" for a, b in zip(source.column("category"), source.column("question_id"), strict=True)]
    labels = [answered(label, YES_NO) for label in source.column("answer")]
    return RowsRead(source.column("question"), labels, source.column("image_source"), ids, ("no", "yes"))


def hallusion_bench(source: Rows) -> RowsRead:
    figure, question = ("category", "subcategory", "set_id", "figure_id"), "question_id"
    figures = ["_".join(map(str, row)) for row in zip(*map(source.column, figure), strict=True)]
    ids = [f"{name} {key}" for name, key in zip(figures, source.column(question), strict=True)]
    labels = [answered(label, {"1": True, "0": False}) for label in source.column("gt_answer")]
    return RowsRead(source.column("question"), labels, figures, ids, ("no", "yes"))


def vizwiz(source: Rows) -> RowsRead:
    labels = [answered(label, CAN_NOT) for label in source.column("answerable")]
    return RowsRead(
        source.column("question"), labels, source.column("image"), None, ("answerable", "unanswerable")
    )


def mm_upd(source: Rows) -> RowsRead:
    """The text is all that a model is shown: hint, question and options. The versions of a question with and without a solution have one index."""
    shown = [name for name in ("hint", "question", *OPTIONS) if name in source.columns]
    texts = []
    for row in zip(*map(source.column, shown), strict=True):
        parts = {name: value for name, value in zip(shown, map(plain, row), strict=True) if value}
        lines = [
            f"{name}. {value}" if name in OPTIONS else value
            for name, value in parts.items()
            if value.lower() not in ("nan", "none")
        ]
        texts.append("\n".join(lines))
    index, kinds = ([plain(value) for value in source.column(name)] for name in ("index", "type"))
    ids = [f"{kind} {key}" for kind, key in zip(kinds, index, strict=True)]
    labels = [kind != "standard" if kind else None for kind in kinds]
    images = source.column("image") if "image" in source.columns else None
    return RowsRead(texts, labels, images, ids, ("standard", "unsolvable"), index)


def vqa_v2(source: Rows) -> RowsRead:
    kinds, answers = source.column("answer_type"), source.column("multiple_choice_answer")
    labels = [
        YES_NO[plain(answer)] if kind == "yes/no" and plain(answer) in YES_NO else "not answered yes or no"
        for kind, answer in zip(kinds, answers, strict=True)
    ]
    ids = source.column("question_id") if "question_id" in source.columns else None
    return RowsRead(source.column("question"), labels, source.column("image_id"), ids, ("no", "yes"))


def vqa_style(source: Rows) -> RowsRead:
    """A question, its image and its answer, under the names that are common. Where some answer is "unanswerable" (or a
    column says what can be answered), that is the label; else whether the answer is yes, of those that are yes or no."""
    text, image, ids = (first_of(names, source.columns) for names in (TEXTS, IMAGES, IDS))
    column = first_of(ANSWERABLE, source.columns)
    meaning, labels = ("answerable", "unanswerable"), []
    if column:
        labels = [answered(value, CAN_NOT) for value in source.column(column)]
    elif answer := first_of(ANSWERS, source.columns):
        answers = [plain(value).lower().rstrip(".") for value in source.column(answer)]
        labels = [value == "unanswerable" if value else None for value in answers]
        if True not in labels:
            meaning = ("no", "yes")
            labels = [YES_NO.get(value, "not answered yes or no") if value else None for value in answers]
    return RowsRead(
        source.column(text or ""),
        labels,
        source.column(image) if image else None,
        source.column(ids) if ids else None,
        meaning,
    )


TEXTS, IMAGES, IDS = ALIASES["question"], ALIASES["image"], ALIASES["question id"]
# The first that fits.
FORMATS = {
    "RGQA": SetFormat(frozenset(("img_id", "question_id", "sent", "label")), rgqa),
    "RGQA (table)": SetFormat(
        frozenset(("item_id", "picture_id", "source_question_id", "question", "label")), release_table
    ),
    "RGQA (table, before 2.0)": SetFormat(
        frozenset(("item_id", "picture_id", "question_id", "question", "label")), release_table
    ),
    "HallusionBench": SetFormat(
        frozenset(("category", "subcategory", "set_id", "figure_id", "question_id", "question", "gt_answer")),
        hallusion_bench,
    ),
    "POPE": SetFormat(frozenset(("image", "text", "label")), pope),
    "POPE (hub)": SetFormat(
        frozenset(("question_id", "question", "answer", "image_source", "category")), pope_of_the_hub
    ),
    "MM-UPD": SetFormat(frozenset(("index", "question", "type", "masked_answer", "A")), mm_upd, ("type",)),
    "VizWiz": SetFormat(frozenset(("image", "question", "answerable")), vizwiz),
    "VQA v2, yes or no": SetFormat(
        frozenset(("question", "image_id", "answer_type", "multiple_choice_answer")), vqa_v2
    ),
    "VQA style": SetFormat(frozenset(), vqa_style),
}


def format_of(columns: Sequence[str], source: str) -> str:
    """The name of the format that has these columns.

    Raises:
        UserError: no format has them; the message says what is missing.
    """
    for name, known in FORMATS.items():
        if known.columns and known.columns <= set(columns):
            return name
    text, answer = first_of(TEXTS, columns), first_of((*ANSWERABLE, *ANSWERS), columns)
    if text and answer:
        return "VQA style"
    lack = [f"a text ({', '.join(TEXTS)})"] if not text else []
    lack += [f"a label or answer ({', '.join((*ANSWERABLE, *ANSWERS))})"] if not answer else []
    more = "; of VQA v2 give the annotations, too: --annotations FILE" if text and not answer else ""
    raise UserError(
        f"{source}: no known format; its columns {', '.join(map(str, columns)) or '(none)'} lack {' and '.join(lack)}."
        f" Name them: --text NAME --label NAME [--group NAME]{more}"
    )


def answered(value: Any, meaning: Mapping[str, bool]) -> bool | None:
    """What a value means; None if it is none of those."""
    return meaning.get(plain(value).lower())


def plain(value: Any) -> str:
    """A value as it is compared: numbers without an idle ".0", bytes (an image's) by their hash, nothing as "".

    >>> plain(1.0), plain("yes "), plain(float("nan")), plain({"bytes": b"x", "path": None})
    ('1', 'yes', '', '2d711642b726b044')
    """
    if isinstance(value, Mapping) and value.keys() == {"bytes", "path"}:  # an image, as `datasets` keeps it
        return plain(value["bytes"]) if value.get("bytes") else str(value.get("path") or "")
    if isinstance(value, bytes) or (isinstance(value, str) and len(value) > 1000):
        data = value if isinstance(value, bytes) else value.encode()
        return hashlib.sha256(data).hexdigest()[:16]
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
