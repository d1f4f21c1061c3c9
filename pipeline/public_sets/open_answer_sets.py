"""Read public sets with free-text answers: VizWiz, VQA v2, TDIUC, GQA, RGQA and CP-Bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.public_sets.cells import (
    column_or_empty,
    detail_columns,
    normalize_value,
    parse_label,
    read_text,
)
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.row_sources import RowSource

# Question type of the questions of TDIUC that ask for an object that the image does not show.
ABSURD_TYPE = "absurd"
# All types of TDIUC's questions. Other sets in the form of VQA, such as OK-VQA, have the same columns and other types.
TDIUC_TYPES = frozenset(
    (
        ABSURD_TYPE,
        "activity_recognition",
        "attribute",
        "color",
        "counting",
        "object_presence",
        "object_recognition",
        "positional_reasoning",
        "scene_recognition",
        "sentiment_understanding",
        "sport_recognition",
        "utility_affordance",
    )
)
# Tag of a question of CP-Bench with a counterfactual presupposition. The others ("tpq") have a true one.
COUNTERFACTUAL_TAG = "cpq"


def read_annotator_answers(value: Any) -> tuple[str, ...]:
    """Return the answers of all annotators, from a list of texts or of objects with `answer`.

    >>> read_annotator_answers([{"answer": "basil", "answer_confidence": "yes"}, {"answer": "herb"}])
    ('basil', 'herb')
    """
    entries = value if isinstance(value, list) else []
    texts = [entry.get("answer") if isinstance(entry, Mapping) else entry for entry in entries]
    return tuple(text for text in map(normalize_value, texts) if text)


def read_vizwiz(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read VizWiz. A question has no id. As each image has one question, the name of the image is the id."""
    columns = (source.column(name) for name in ("image", "question", "answerable"))
    answers = column_or_empty(source, "answers")
    details = detail_columns(source, ("answer_type",))
    images = [normalize_value(value) for value in source.column("image")]
    repeated = {name for name, count in Counter(images).items() if count > 1}
    items = []
    for row, (_, question, flag) in enumerate(zip(*columns, strict=True)):
        name = images[row]
        items.append(
            SetItem(
                f"{name} {row + 1}" if name in repeated or not name else name,
                name,
                read_text(question),
                is_answerable=parse_label(flag, {"1": True, "0": False, "true": True, "false": False}),
                answers=read_annotator_answers(answers[row]),
                group=details[row].get("answer_type", ""),
                details=details[row],
            )
        )
    return items


def _read_vqa(source: RowSource, detail_names: Sequence[str]) -> list[SetItem]:
    """Read questions and annotations in the form of VQA. The image is the number of a COCO image."""
    has_id = "question_id" in source.columns
    keys = source.column("question_id") if has_id else range(1, len(source) + 1)
    answers = column_or_empty(source, "answers")
    details = detail_columns(source, detail_names)
    rows = zip(keys, source.column("image_id"), source.column("question"), answers, details, strict=True)
    return [
        SetItem(
            normalize_value(key),
            normalize_value(image),
            read_text(question),
            answers=read_annotator_answers(answer),
            details=detail,
        )
        for key, image, question, answer, detail in rows
    ]


def read_vqa_v2(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read VQA v2: questions joined with annotations. The group is the type of the answer (yes/no, number or other)."""
    items = _read_vqa(source, ("answer_type", "question_type", "multiple_choice_answer"))
    # A file may have the most common answer only.
    return [
        item._replace(
            group=item.details.get("answer_type", ""),
            answers=item.answers or tuple(filter(None, [item.details.get("multiple_choice_answer", "")])),
        )
        for item in items
    ]


def read_tdiuc(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read TDIUC, whose questions of type "absurd" have no answer. The group is the type of the question.

    Of a question of an unknown type it is not known whether it has an answer.
    """
    return [
        item._replace(
            group=(kind := item.details.get("question_type", "")),
            is_answerable=kind != ABSURD_TYPE if kind in TDIUC_TYPES else None,
            answers=item.answers[:1],
        )
        for item in _read_vqa(source, ("question_type",))
    ]


def read_gqa(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read GQA's questions, an object by id. The group is the structural type of the question."""
    names = ("question_id", "imageId", "question", "answer", "types", "groups")
    items = []
    for key, image, question, answer, types, groups in zip(
        *(column_or_empty(source, name) for name in names), strict=True
    ):
        text = normalize_value(answer)
        kinds = types if isinstance(types, Mapping) else {}
        group = groups.get("global") if isinstance(groups, Mapping) else None
        items.append(
            SetItem(
                normalize_value(key),
                normalize_value(image),
                read_text(question),
                answers=(text,) if text else (),
                group=normalize_value(kinds.get("structural")),
                details={
                    "structural": normalize_value(kinds.get("structural")),
                    "semantic": normalize_value(kinds.get("semantic")),
                    "global": normalize_value(group),
                },
            )
        )
    return items


def read_rgqa(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read RGQA's JSON. An unanswerable question (UQ) has the id of its source question after a "+". The group is the file's name."""
    names = ("question_id", "img_id", "sent", "label")
    items = []
    for key, image, question, label, file in zip(*map(source.column, names), files, strict=True):
        answers = tuple(label) if isinstance(label, Mapping) else ()
        name = str(key)
        items.append(
            SetItem(
                name,
                normalize_value(image),
                read_text(question),
                is_answerable="UQ" not in answers if isinstance(label, Mapping) else None,
                answers=() if "UQ" in answers else answers,
                group=Path(file).stem,
                details={"source_question_id": name.rpartition("+")[2]},
            )
        )
    return items


def read_release_table(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read a table of a release of this project. Label 1 means unanswerable."""
    key = "source_question_id" if "source_question_id" in source.columns else "question_id"
    names = ("item_id", "image_id", "question", "label", key)
    answers = column_or_empty(source, "answer")
    items = []
    for (name, image, question, label, origin), answer in zip(
        zip(*map(source.column, names), strict=True), answers, strict=True
    ):
        has_answer = parse_label(label, {"1": False, "0": True})
        text = normalize_value(answer)
        items.append(
            SetItem(
                normalize_value(name),
                normalize_value(image),
                read_text(question),
                is_answerable=has_answer,
                answers=(text,) if text and has_answer else (),
                details={"source_question_id": str(origin)},
            )
        )
    return items


def read_cp_bench(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read CP-Bench: image, query and tag. A question with a counterfactual presupposition (cpq) has no answer."""
    names = ("image", "query", "tag")
    items = []
    for row, (image, query, tag) in enumerate(zip(*map(source.column, names), strict=True), 1):
        kind = normalize_value(tag)
        items.append(
            SetItem(
                str(row),
                normalize_value(image),
                read_text(query),
                is_answerable={"cpq": False, "tpq": True}.get(kind),
                group=kind,
                details={"tag": kind},
            )
        )
    return items
