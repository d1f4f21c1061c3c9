"""Read public sets of multiple-choice questions: MM-UPD, and TUBench with its yes/no questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.core.errors import Problems
from pipeline.core.images import IMAGE_SUFFIXES
from pipeline.public_sets.cells import (
    column_or_empty,
    detail_columns,
    name_images,
    read_optional_text,
    read_text,
)
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.row_sources import RecordRows, RowSource

OPTION_LETTERS = "ABCDE"
# MM-UPD repeats each question with rotated options. The index of a repetition is the index of the question plus a multiple of this number.
ROTATION_INDEX_STEP = 1_000_000
# Names of MM-UPD's files, such as mmaad_20240303_base.tsv, and of its configurations, such as mmaad_base.
MM_UPD_NAME = re.compile(
    r"mm(aad|iasd|ivqd)(?:_(?:aad|iasd|ivqd|standard))?(?:_\d+)?(?:_(base|option|inst(?:ruction)?))?"
)
# Settings of MM-UPD in the names of files -> in the authors' script. A name without a setting is of the base setting.
_QUESTION_TYPES = {"base": "base", "option": "option", "inst": "inst", "instruction": "inst"}
MM_UPD_DETAILS = ("index", "type", "answer", "masked_answer", "category", "l2-category", "split", "source")


def read_mm_upd(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read MM-UPD.

    Each question is there with each rotation of its options, as in MMBench: rows whose index is equal modulo 1,000,000 are rotations
    of one question. The standard and the unsolvable version of a question have the same indices. The name of the file states the
    kind (aad, iasd or ivqd) and the setting (base, option or instruction).
    """
    letters = [letter for letter in OPTION_LETTERS if letter in source.columns]
    columns = {letter: source.column(letter) for letter in letters}
    details = detail_columns(source, MM_UPD_DETAILS)
    images = name_images(source, "image") if "image" in source.columns else [""] * len(source)
    hints, texts = column_or_empty(source, "hint"), source.column("question")
    items = []
    for row, detail in enumerate(details):
        kind, index, answer = detail["type"], detail["index"], read_optional_text(detail.get("answer"))
        # The file name counts more than the folders.
        matches = [*MM_UPD_NAME.finditer(files[row].lower())][::-1]
        named = next((one for one in matches if one[2]), matches[0] if matches else None)
        upd_type, setting = (named[1], _QUESTION_TYPES.get(named[2] or "", "base")) if named else ("", "")
        options = {letter: read_optional_text(columns[letter][row]) for letter in letters}
        items.append(
            SetItem(
                f"{kind} {index}",
                images[row],
                read_text(texts[row]),
                {letter: text for letter, text in options.items() if text},
                read_optional_text(hints[row]),
                kind == "standard" if kind else None,
                (answer,) if answer else (),
                f"{upd_type} {setting}".strip(),
                _main_index(index),
                {
                    **detail,
                    "masked_answer": read_optional_text(detail["masked_answer"]),
                    "upd_type": upd_type,
                    "question_type": setting,
                },
            )
        )
    return items


def _main_index(index: str) -> str:
    """Return the index of the question that a row repeats with rotated options.

    >>> _main_index("2000241"), _main_index("241")
    ('241', '241')
    """
    return str(int(index) % ROTATION_INDEX_STEP) if index.isdecimal() else index


# Parts of TUBench, which are folders. The questions of the first two are answered with yes or no.
TUBENCH_PARTS = ("UCR", "UVQA", "UGeoQA", "UTabMWP")


def find_tubench_parts(folder: Path) -> list[Path]:
    """Return the folders of TUBench's parts in a folder, or the folder itself if it is a part."""
    if folder.name in TUBENCH_PARTS:
        return [folder]
    return [folder / name for name in TUBENCH_PARTS if (folder / name).is_dir()]


def open_tubench(folder: Path) -> RowSource:
    """Read the questions of TUBench from its folders, which have a numbered folder for each image.

    Raises:
        UserError: Lists every file that cannot be read.
    """
    problems, records = Problems(str(folder)), list[dict[str, Any]]()
    for part in find_tubench_parts(folder):
        numbered = sorted(
            (path for path in part.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name)
        )
        for place in numbered:
            try:
                for record in _TUBENCH_READERS[part.name](place):
                    image = record["image"]
                    records.append(
                        record | {"part": part.name, "image": str(image.relative_to(folder)) if image else ""}
                    )
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                problems.add(
                    str(place.relative_to(folder)),
                    f"not as TUBench stores a question ({type(error).__name__}: {error})",
                )
    problems.raise_if_any()
    return RecordRows(records, "TUBench")


def _record(
    name: str,
    image: Path | None,
    question: str,
    label: str,
    strategy: str = "",
    options: Mapping[str, str] = MappingProxyType({}),
    pair: str = "",
) -> dict[str, Any]:
    return {
        "id": name,
        "image": image,
        "question": question,
        "label": label,
        "strategy": strategy,
        "options": options,
        "pair": pair,
    }


def _read_ucr(folder: Path) -> Iterator[dict[str, Any]]:
    """Read code questions: 1.txt with answerable questions, and 1_u1.txt to 1_u3.txt with unanswerable ones about changed code."""
    for path in sorted(folder.glob("*.txt")):
        if path.stem.endswith("_negate_flip"):
            continue
        strategy = re.search(r"_u(\d)$", path.stem)
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            question, label = line.strip().split("\t")
            name = f"UCR {folder.name} {path.stem} {number}"
            pair = f"UCR {folder.name} {number}"
            yield _record(
                name, path.with_suffix(".png"), question, label, strategy[1] if strategy else "0", pair=pair
            )


def _read_uvqa(folder: Path) -> Iterator[dict[str, Any]]:
    """Read questions about photographs: lines of vqa.txt with question and label in the second and third column."""
    images = sorted(path for path in folder.iterdir() if path.suffix.lower() in IMAGE_SUFFIXES)
    for number, line in enumerate((folder / "vqa.txt").read_text("utf-8").splitlines()):
        _, question, label, *strategy = line.strip().split("\t")
        yield _record(
            f"UVQA {folder.name} {number}",
            images[0] if images else None,
            question,
            label,
            strategy[0] if strategy else "0",
        )


def _read_json(folder: Path) -> dict[str, Any]:
    return json.loads((folder / f"{folder.name}.json").read_text("utf-8"))


def _letter(index: int) -> str:
    """Return the letter of an option.

    >>> _letter(2)
    'C'
    """
    return chr(ord("A") + index)


def _read_ugeoqa(folder: Path) -> Iterator[dict[str, Any]]:
    """Read geometry questions: `subject` with its answer `label` (an index of `choices`), and `unanswerable_subject`."""
    data, image = _read_json(folder), folder / f"{folder.name}.png"
    options = {_letter(i): str(text) for i, text in enumerate(data["choices"])}
    pair = f"UGeoQA {folder.name}"
    for kind, question, label in (
        ("answerable", data["subject"], _letter(int(data["label"]))),
        ("unanswerable", data["unanswerable_subject"], "Unanswerable"),
    ):
        yield _record(f"{pair} {kind}", image, question, label, options=options, pair=pair)


def _read_utabmwp(folder: Path) -> Iterator[dict[str, Any]]:
    """Read questions about tables: the image NUMBER.png answers the question, NUMBER_u1.png does not."""
    data, pair = _read_json(folder), f"UTabMWP {folder.name}"
    options = {_letter(i): str(text) for i, text in enumerate(data["choices"])}
    for kind, suffix, label in (
        ("answerable", "", _letter(data["choices"].index(data["answer"]))),
        ("unanswerable", "_u1", "Unanswerable"),
    ):
        image = folder / f"{folder.name}{suffix}.png"
        yield _record(f"{pair} {kind}", image, data["question"], label, options=options, pair=pair)


_TUBENCH_READERS = {
    "UCR": _read_ucr,
    "UVQA": _read_uvqa,
    "UGeoQA": _read_ugeoqa,
    "UTabMWP": _read_utabmwp,
}


def read_tubench(source: RowSource, files: Sequence[str]) -> list[SetItem]:
    """Read TUBench, as `open_tubench` returns it. The answers are "yes", "no", the letter of an option, or none."""
    names = ("id", "image", "question", "label", "strategy", "options", "pair", "part")
    items = []
    for name, image, question, label, strategy, options, pair, part in zip(
        *map(source.column, names), strict=True
    ):
        has_answer = label.lower() != "unanswerable"
        items.append(
            SetItem(
                name,
                image,
                read_text(question),
                options,
                is_answerable=has_answer,
                answers=(label if label in options else label.lower(),) if has_answer else (),
                group=part,
                pair_id=pair,
                details={"dataset": part, "strategy": strategy},
            )
        )
    return items
