"""Reading a benchmark: a release folder, a subset in RGQA's format, or GQA's or VQA's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from .items import UNANSWERABLE, Benchmark, BenchmarkItem
from .json_input import parse_json, parse_lines, read_bytes
from .validation import InputError


def read_benchmark(path: Path | str, subsets: Collection[str] = ()) -> Benchmark:
    """Read a benchmark, cut to `subsets` if any are named.

    Raises:
        InputError: missing, not JSON, of no known form, without a named subset, or faulty rows: all are listed.
    """
    path = Path(path)
    whole = _release(path) if path.is_dir() else _single_file(path)
    if unknown := [name for name in subsets if name not in whole.subsets]:
        raise InputError(f"{path}: no subset {', '.join(unknown)}; there are {', '.join(whole.subsets)}")
    return whole._replace(
        subsets={name: items for name, items in whole.subsets.items() if not subsets or name in subsets}
    )


def _single_file(path: Path) -> Benchmark:
    data = read_bytes(path)
    value = parse_json(data, path)
    if isinstance(value, list):
        kind, items = "rgqa", _items(value, path, "question", _rgqa_item)
    elif isinstance(value, dict) and isinstance(value.get("annotations"), list):
        kind, items = "vqa", _items(value["annotations"], path, "annotation", _vqa_item)
    elif (
        isinstance(value, dict)
        and value
        and all(isinstance(v, dict) and "answer" in v for v in value.values())
    ):
        kind, items = "gqa", [_gqa_item(name, question) for name, question in value.items()]
    else:
        raise InputError(
            f"{path}: wanted RGQA's list of questions, VQA's object with `annotations` or GQA's object of questions with `answer`"
        )
    ids = frozenset(item.id for item in items)
    return Benchmark(kind, path.stem, "", {path.name: _sha256(data)}, {path.stem: items}, ids)


def _release(folder: Path) -> Benchmark:
    files = sorted((folder / "rgqa").glob("*.json"))
    if not files:
        raise InputError(f"{folder}: no rgqa/*.json in it; wanted a release's folder or a file")
    version = ""
    if (params := folder / "params.json").is_file():
        version = str(parse_json(read_bytes(params), params).get("version", ""))
    sums: dict[str, str] = {}
    details: dict[tuple[str, str], dict[str, Any]] = {}
    if (provenance := folder / "provenance.jsonl").is_file():
        data = read_bytes(provenance)
        sums[provenance.name] = _sha256(data)
        details = _details(data, provenance)
    described = {subset for subset, _ in details}
    subsets: dict[str, list[BenchmarkItem]] = {}
    problems: list[str] = []
    for file in files:
        data, name = read_bytes(file), file.stem
        sums[f"rgqa/{file.name}"] = _sha256(data)
        try:
            items = _items(parse_json(data, file), file, "question", _rgqa_item)
        except InputError as error:
            problems += error.problems
            continue
        if name in described:
            problems += [
                f"provenance.jsonl: has nothing on {name}'s item {item.id}"
                for item in items
                if (name, item.id) not in details
            ]
        subsets[name] = [_detailed(item, details.get((name, item.id))) for item in items]
    if problems:
        raise InputError(problems)
    ids = frozenset(item.id for items in subsets.values() for item in items)
    return Benchmark("rgqa", folder.name, version, sums, subsets, ids)


def _details(data: bytes, path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """What a release's provenance says of each item, by subset and id."""
    details = {}
    for number, row in parse_lines(data, path):
        try:
            details[row["item"]["subset"], row["item"]["item_id"]] = row["item"]
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}, line {number}: not an item's provenance ({error!r})") from error
    return details


def _detailed(item: BenchmarkItem, details: dict[str, Any] | None) -> BenchmarkItem:
    if details is None:
        return item
    return item._replace(
        category=details.get("category") or "",
        edits=tuple(sorted({edit["kind"] for edit in details.get("edits", ())})),
        pair=details.get("pair_id", ""),
        **{name: details.get(name, "") for name in ("structural", "semantic", "detailed", "part")},
    )


def _items(rows: Any, path: Path, noun: str, item_of: Callable[[Any], BenchmarkItem]) -> list[BenchmarkItem]:
    """The items of a file's rows.

    Raises:
        InputError: lists every row of which none can be made, and every id that stands there twice.
    """
    if not isinstance(rows, list):
        raise InputError(f"{path}: wanted a list of {noun}s, got {type(rows).__name__}")
    items: dict[str, BenchmarkItem] = {}
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        where = f"{path.name}, {noun} {number}"
        try:
            item = item_of(row)
        except InputError as error:
            problems += [f"{where}: {problem}" for problem in error.problems]
            continue
        if item.id in items:
            problems.append(f"{where}: id {item.id} stands there twice")
        items[item.id] = item
    if problems:
        raise InputError([f"{path}: {len(problems)} faults", *problems])
    return list(items.values())


def _rgqa_item(row: Any) -> BenchmarkItem:
    """A row of RGQA's. A label that looks like "UQ" but is not written so is a fault, never an answer."""
    if not isinstance(row, dict) or not {"question_id", "label"} <= row.keys():
        raise InputError("wanted an object with question_id and label")
    name, label = str(row["question_id"]), row["label"]
    if (
        not isinstance(label, dict)
        or not label
        or not all(isinstance(v, int | float) for v in label.values())
    ):
        raise InputError(f'{name}: label is {label!r}, wanted {{answer: 1.0}} or {{"UQ": 1.0}}')
    if any(answer != UNANSWERABLE and answer.strip().upper() == UNANSWERABLE for answer in label):
        raise InputError(f'{name}: label {label!r} is neither an answer nor "UQ"; write UQ in capitals')
    if UNANSWERABLE in label and len(label) > 1:
        raise InputError(f"{name}: label {label!r} is both UQ and an answer")
    return BenchmarkItem(name, str(row.get("img_id", "")), {} if UNANSWERABLE in label else label)


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
    structural, semantic, detailed = (
        types.get(kind) or "" for kind in ("structural", "semantic", "detailed")
    )
    return BenchmarkItem(
        name,
        str(question.get("imageId", "")),
        {question["answer"]: 1.0},
        structural=structural,
        semantic=semantic,
        detailed=detailed,
        question=question,
    )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
