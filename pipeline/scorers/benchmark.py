"""Reading a benchmark: a release folder, a subset in RGQA's format, or GQA's or VQA's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from .items import UNANSWERABLE, Benchmark, BenchmarkItem
from .json_parts import parse_list
from .validation import InputError, each, parse_json, parse_lines, read_bytes

TYPES = ("structural", "semantic", "detailed")  # of questions, as GQA names them


def read_benchmark(path: Path | str, subsets: Collection[str] = ()) -> Benchmark:
    """Read a benchmark, cut to `subsets` if any are named.

    Raises:
        InputError: missing, not JSON, of no known form, without a named subset, or faulty rows: all are listed.
    """
    path = Path(path)
    whole = _release(path) if path.is_dir() else _single_file(path)
    if unknown := [name for name in subsets if name not in whole.subsets]:
        raise InputError(f"{path}: no subset {', '.join(unknown)}; there are {', '.join(whole.subsets)}")
    chosen = {name: items for name, items in whole.subsets.items() if not subsets or name in subsets}
    return whole._replace(subsets=chosen)


def _single_file(path: Path) -> Benchmark:
    data = read_bytes(path)
    is_list = parse_list(data, path) is not None
    value = None if is_list else parse_json(data, path)
    questions = value.values() if isinstance(value, dict) else []
    if is_list:
        kind, items = "rgqa", _items(partial(_values, data, path), path, "question", _RgqaItems())
    elif isinstance(value, dict) and isinstance(annotations := value.get("annotations"), list):
        kind, items = "vqa", _items(lambda: annotations, path, "annotation", _vqa_item)
    elif (
        isinstance(value, dict)
        and questions
        and all(isinstance(q, dict) and "answer" in q for q in questions)
    ):
        kind, items = "gqa", [_gqa_item(name, question) for name, question in value.items()]
    else:
        raise InputError(
            f"{path}: wanted RGQA's list of questions, VQA's object with `annotations` or GQA's object of questions with `answer`"
        )
    ids = frozenset(map(attrgetter("id"), items))
    return Benchmark(kind, path.stem, "", {path.name: _sha256(data)}, {path.stem: items}, ids)


def _release(folder: Path) -> Benchmark:
    files = sorted((folder / "rgqa").glob("*.json"))
    if not files:
        raise InputError(f"{folder}: no rgqa/*.json in it; wanted a release's folder or a file")
    params, provenance = folder / "params.json", folder / "provenance.jsonl"
    version = parse_json(read_bytes(params), params).get("version", "") if params.is_file() else ""
    sums: dict[str, str] = {}
    details: dict[str, dict[str, Any]] = {}
    if provenance.is_file():
        data = read_bytes(provenance)
        sums[provenance.name] = _sha256(data)
        details = _details(data, provenance)
    subsets: dict[str, list[BenchmarkItem]] = {}
    problems: list[str] = []
    item_of = _RgqaItems()
    for file in files:
        data, name = read_bytes(file), file.stem
        sums[f"rgqa/{file.name}"] = _sha256(data)
        try:
            if parse_list(data, file) is None:
                raise InputError(f"{file}: wanted a list of questions")
            items = _items(partial(_values, data, file), file, "question", item_of)
        except InputError as error:
            problems += error.problems
            continue
        known = details.get(name, {})
        lost = [item.id for item in items if item.id not in known] if known else []
        problems += [f"provenance.jsonl: has nothing on {name}'s item {item}" for item in lost]
        subsets[name] = [_detailed(item, known.get(item.id, {})) for item in items]
    if problems:
        raise InputError(problems)
    ids = frozenset(item.id for items in subsets.values() for item in items)
    return Benchmark("rgqa", folder.resolve().name, str(version), sums, subsets, ids)


def _details(data: bytes, path: Path) -> dict[str, dict[str, Any]]:
    """What a release's provenance says of each item, by subset and id."""
    details: dict[str, dict[str, Any]] = {}
    for number, row in parse_lines(data, path):
        try:
            item = row["item"]
            details.setdefault(item["subset"], {})[item["item_id"]] = item
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: not an item's provenance ({error!r})") from error
    return details


def _detailed(item: BenchmarkItem, details: dict[str, Any]) -> BenchmarkItem:
    return item._replace(
        category=details.get("category") or "",
        edits=tuple(sorted({edit["kind"] for edit in details.get("edits", ())})),
        pair=details.get("pair_id", ""),
        **{name: details.get(name, "") for name in (*TYPES, "part")},
    )


def _values(data: bytes, path: Path) -> Iterable[Any]:
    return parse_list(data, path) or ()


def _items(
    rows: Callable[[], Iterable[Any]], path: Path, noun: str, item_of: Callable[[Any], BenchmarkItem]
) -> list[BenchmarkItem]:
    """The items of a file's rows, which are gone through again where something is wrong with any.

    Raises:
        InputError: lists every row of which none can be made, and every id that stands there twice.
    """
    with suppress(InputError):
        items = [*map(item_of, rows())]
        if len(set(map(attrgetter("id"), items))) == len(items):
            return items
    seen: set[str] = set()

    def new_item(row: Any) -> BenchmarkItem:
        item = item_of(row)
        if item.id in seen:
            raise InputError(f"id {item.id} stands there twice")
        seen.add(item.id)
        return item

    items, problems = each(rows(), f"{path.name}, {noun}", new_item)
    if problems:
        raise InputError([f"{path}: {len(problems)} faults", *problems])
    return items


class _RgqaItems:
    """Makes items of RGQA's rows; labels that are alike are one mapping, pictures and questions that are alike one text."""

    def __init__(self) -> None:
        self.labels: dict[tuple[tuple[str, float], ...], dict[str, float]] = {}
        self.texts: dict[str, str] = {}

    def __call__(self, row: Any) -> BenchmarkItem:
        try:
            name, label, picture = str(row["question_id"]), row["label"], str(row.get("img_id", ""))
        except (KeyError, TypeError, AttributeError):
            raise InputError("wanted an object with question_id and label") from None
        try:
            answers = self.labels[tuple(label.items())]
        except (KeyError, TypeError, AttributeError):
            answers = _answers(name, label)
            self.labels[tuple(label.items())] = answers
        asked, one_text = str(row.get("sent", "")), self.texts.setdefault
        return BenchmarkItem(name, one_text(picture, picture), answers, (), one_text(asked, asked))


def _answers(name: str, label: Any) -> dict[str, float]:
    """The right answers by a label. One that looks like "UQ" but is not written so is a fault, never an answer."""
    worths = label.values() if isinstance(label, dict) else []
    if not worths or not all(isinstance(worth, int | float) and 0 <= worth <= 1 for worth in worths):
        raise InputError(
            f'{name}: label is {label!r}, wanted {{answer: 1.0}} (each worth 0 to 1) or {{"UQ": 1.0}}'
        )
    if any(answer != UNANSWERABLE and answer.strip().upper() == UNANSWERABLE for answer in label):
        raise InputError(f'{name}: label {label!r} is neither an answer nor "UQ"; write UQ in capitals')
    if UNANSWERABLE in label and len(label) > 1:
        raise InputError(f"{name}: label {label!r} is both UQ and an answer")
    return {} if UNANSWERABLE in label else label


def _vqa_item(row: Any) -> BenchmarkItem:
    try:
        people = tuple(str(answer["answer"]) for answer in row["answers"])
        name = str(row["question_id"])
    except (KeyError, TypeError) as error:
        raise InputError(f"wanted question_id and answers ({error!r})") from None
    if not people:
        raise InputError(f"id {name} has no answers")
    picture, kind = str(row.get("image_id", "")), str(row.get("answer_type", ""))
    return BenchmarkItem(name, picture, dict.fromkeys(people, 1.0), people, structural=kind)


def _gqa_item(name: str, question: dict[str, Any]) -> BenchmarkItem:
    types = question.get("types") or {}
    item = BenchmarkItem(name, str(question.get("imageId", "")), {question["answer"]: 1.0}, question=question)
    return item._replace(**{kind: types.get(kind) or "" for kind in TYPES})


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
