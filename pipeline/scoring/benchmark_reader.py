"""Read a benchmark: a release folder, a subset in RGQA's format, or GQA's or VQA's own files."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..core.atomic_files import sha256_file
from ..core.errors import UserError, collect_errors, format_count
from ..core.no_answer_texts import is_no_answer
from .gqa_schema import find_question_faults
from .input_validation import parse_each_row, parse_json, read_bytes
from .items import UNANSWERABLE_LABEL, Benchmark, Items, full_name
from .json_streaming import iterate_chunks, stream_list
from .provenance import (
    PARAMS_FILE,
    PROVENANCE_FILE,
    QUESTION_TYPE_FIELDS,
    find_false_presuppositions,
    parse_provenance,
    path_exists,
)

# A function that converts rows of a file to columns: field of `BenchmarkItem` -> values.
ColumnBuilder = Callable[[Sequence[Any]], dict[str, list[Any]]]


def read_benchmark(path: Path | str, subsets: Collection[str] = ()) -> Benchmark:
    """Read all or some subsets of a benchmark.

    Args:
        path: A release folder, or a file in RGQA's, GQA's or VQA's format.
        subsets: Names of the subsets to select; empty for all.

    Raises:
        UserError: The benchmark cannot be read, has an unknown format or faulty rows, or does not have a
            subset of `subsets`. The message lists all problems.
    """
    path = Path(path)
    benchmark = _read_release(path) if path.is_dir() else _read_single_file(path)
    if unknown := [name for name in subsets if name not in benchmark.subsets]:
        raise UserError(f"{path}: no subset {', '.join(unknown)}; there are {', '.join(benchmark.subsets)}")
    selected = {name: items for name, items in benchmark.subsets.items() if not subsets or name in subsets}
    return benchmark._replace(subsets=selected)


class ReleaseName(NamedTuple):
    """Title and version of a release, from the release itself.

    Attributes:
        title: Title on the data set card, such as "RGQA sample".
        version: "" if the release states none.
    """

    title: str
    version: str

    def __str__(self) -> str:
        return full_name(self.title, self.version)


def read_release_name(folder: Path) -> ReleaseName:
    """Read the title and the version of a release from its params.json.

    Args:
        folder: The release folder.

    Returns:
        The title and the version. The title is `release.title`, else `dataset`, else the name of the folder.

    Raises:
        UserError: params.json cannot be read, is not an object, or its title or version is not a string.
    """
    path = folder / PARAMS_FILE
    params = parse_json(read_bytes(path), path) if path_exists(path) else {}
    if not isinstance(params, dict):
        raise UserError(f'{path}: expected an object whose version is a string like "1.0.0"')
    release = params.get("release")
    given = {
        "release.title": release.get("title", "") if isinstance(release, dict) else "",
        "dataset": params.get("dataset", ""),
        "version": params.get("version", ""),
    }
    if wrong := [name for name, value in given.items() if not isinstance(value, str)]:
        raise UserError([f"{path}: {name} is {given[name]!r:.80}, expected a string" for name in wrong])
    # A lone surrogate can be written in JSON, but not printed or written to a file.
    title, dataset, version = (
        " ".join(text.encode("utf-8", "replace").decode().split()) for text in given.values()
    )
    return ReleaseName(title or dataset or folder.resolve().name, version)


def _read_single_file(path: Path) -> Benchmark:
    data = read_bytes(path)
    is_list = stream_list(data, path) is not None
    value = None if is_list else parse_json(data, path)
    questions = value.values() if isinstance(value, dict) else []
    if is_list:
        kind, items = (
            "rgqa",
            _build_items(partial(_parse_values, data, path), path, "question", _RgqaColumnBuilder()),
        )
    elif isinstance(value, dict) and isinstance(annotations := value.get("annotations"), list):
        kind, items = "vqa", _build_items(lambda: annotations, path, "annotation", _build_vqa_columns)
    elif (
        isinstance(value, dict)
        and questions
        and all(isinstance(q, dict) and "answer" in q for q in questions)
    ):
        kind, items = "gqa", _build_gqa_items(value, path)
    else:
        raise UserError(
            f"{path}: expected RGQA's list of questions, VQA's object with `annotations` or GQA's object of questions with `answer`"
        )
    return Benchmark(kind, path.stem, "", {path.name: _sha256(data)}, {path.stem: items}, items.ids)


def _read_release(folder: Path) -> Benchmark:
    files = sorted((folder / "rgqa").glob("*.json"))
    if not files:
        raise UserError(f"{folder}: no rgqa/*.json in it; expected a release's folder or a file")
    provenance = folder / PROVENANCE_FILE
    name, problems = ReleaseName("", ""), []
    sums: dict[str, str] = {}
    details: dict[str, dict[str, Mapping[str, Any]]] = {}
    with collect_errors(problems):
        name = read_release_name(folder)
    with collect_errors(problems):
        if path_exists(provenance):
            data = read_bytes(provenance)
            sums[provenance.name] = _sha256(data)
            details = parse_provenance(data, provenance)
    subsets: dict[str, Items] = {}
    columns_of = _RgqaColumnBuilder()
    for file in files:
        with collect_errors(problems):
            data, subset = read_bytes(file), file.stem
            sums[f"rgqa/{file.name}"] = _sha256(data)
            if stream_list(data, file) is None:
                raise UserError(f"{file}: expected a list of questions")
            items = _build_items(partial(_parse_values, data, file), file, "question", columns_of)
            known = details.get(subset, {})
            lost = [item for item in items["id"] if item not in known] if known else []
            problems += [f"{PROVENANCE_FILE}: has nothing on {subset}'s item {item}" for item in lost]
            subsets[subset] = _with_provenance(items, known)
    if problems:
        raise UserError(problems)
    ids = frozenset().union(*(items.ids for items in subsets.values()))
    return Benchmark("rgqa", name.title, name.version, sums, subsets, ids)


def _with_provenance(items: Items, known: Mapping[str, Mapping[str, Any]]) -> Items:
    details = [known.get(name, {}) for name in items["id"]]
    texts = {
        name: [row.get(name) or "" for row in details]
        for name in (*QUESTION_TYPE_FIELDS, "split", "category", "difficulty")
    }
    edits = [tuple(sorted({edit["kind"] for edit in row.get("edits", ())})) for row in details]
    faults = [find_false_presuppositions(row) for row in details]
    return items.with_columns(
        edits=edits, faults=faults, pair_id=[row.get("pair_id") or "" for row in details], **texts
    )


def _parse_values(data: bytes, path: Path) -> Iterable[Any]:
    return stream_list(data, path) or ()


def _build_items(
    rows: Callable[[], Iterable[Any]], path: Path, noun: str, columns_of: ColumnBuilder
) -> Items:
    """Build items from the rows of a file.

    If any row is faulty, all rows are checked one by one to list all faults.

    Raises:
        UserError: Lists every faulty row and every duplicate id.
    """
    with suppress(UserError):
        columns: dict[str, list[Any]] = defaultdict(list)
        for chunk in iterate_chunks(rows()):
            for name, values in columns_of(chunk).items():
                columns[name] += values
        count = len(columns["id"])
        items = Items(columns, count)
        if len(items.ids) == count:
            return items
    seen: set[str] = set()

    def check(row: Any) -> None:
        (name,) = columns_of([row])["id"]
        if name in seen:
            raise UserError(f"duplicate id {name}")
        seen.add(name)

    _, problems = parse_each_row(rows(), f"{path.name}, {noun}", check)
    raise UserError([f"{path}: {format_count(len(problems), 'fault')}", *problems])


class _RgqaColumnBuilder:
    """Build columns from RGQA's rows. Equal labels share one mapping and equal questions one string."""

    def __init__(self) -> None:
        self.label_cache: dict[tuple[tuple[str, float], ...], dict[str, float]] = {}
        self.text_cache: dict[str, str] = {}

    def __call__(self, rows: Sequence[Any]) -> dict[str, list[Any]]:
        try:
            names = _as_strings([row["question_id"] for row in rows])
            labels = [row["label"] for row in rows]
            images = _as_strings([row.get("img_id", "") for row in rows])
            asked = _as_strings([row.get("sent", "") for row in rows])
        except (KeyError, TypeError, AttributeError):
            raise UserError("expected an object with question_id and label") from None
        asked = [*map(self.text_cache.setdefault, asked, asked)]
        # Labels that were parsed before are looked up without a Python loop.
        try:
            answers = [*map(self.label_cache.__getitem__, map(tuple, map(dict.items, labels)))]
        except (KeyError, TypeError):
            answers = [self.parse_label(name, label) for name, label in zip(names, labels, strict=True)]
        return {"id": names, "image": images, "answers": answers, "question_text": asked}

    def parse_label(self, name: str, label: Any) -> dict[str, float]:
        found = _parse_label(name, label)
        return self.label_cache.setdefault(tuple(label.items()), found)


def _as_strings(values: list[Any]) -> list[str]:
    return values if {*map(type, values)} == {str} else [*map(str, values)]


def _parse_label(name: str, label: Any) -> dict[str, float]:
    """Return the correct answers of a label.

    A label other than "UQ" that says that no answer exists is a fault.
    """
    worths = label.values() if isinstance(label, dict) else []
    if not all(isinstance(worth, int | float) and 0 <= worth <= 1 for worth in worths) or not any(worths):
        raise UserError(
            f'{name}: label is {label!r}, expected {{answer: 1.0}} (each worth 0 to 1, one more than 0) or {{"UQ": 1.0}}'
        )
    if not all(map(str.strip, label)):
        raise UserError(f"{name}: label {label!r} has an empty answer")
    if any(answer != UNANSWERABLE_LABEL and is_no_answer(answer) for answer in label):
        raise UserError(
            f"{name}: label {label!r} says that no answer exists, which is read as an abstention in a reply. "
            'Write {"UQ": 1.0} if the question is unanswerable, else remove the item'
        )
    if UNANSWERABLE_LABEL in label and len(label) > 1:
        raise UserError(f"{name}: label {label!r} is both UQ and an answer")
    return {} if UNANSWERABLE_LABEL in label else label


def _build_vqa_columns(rows: Sequence[Any]) -> dict[str, list[Any]]:
    try:
        names = [str(row["question_id"]) for row in rows]
        people = [tuple(str(answer["answer"]) for answer in row["answers"]) for row in rows]
    except (KeyError, TypeError) as error:
        raise UserError(f"expected question_id and answers ({error!r})") from None
    if lacking := [name for name, answers in zip(names, people, strict=True) if not answers]:
        raise UserError(f"id {lacking[0]} has no answers")
    return {
        "id": names,
        "image": [str(row.get("image_id", "")) for row in rows],
        "answers": [dict.fromkeys(answers, 1.0) for answers in people],
        "human_answers": people,
        "structural": [str(row.get("answer_type", "")) for row in rows],
    }


def _build_gqa_items(questions: Mapping[str, dict[str, Any]], path: Path) -> Items:
    if problems := [*find_question_faults(questions)]:
        raise UserError([f"{path}: {format_count(len(problems), 'fault')}", *problems])
    types = [question.get("types") or {} for question in questions.values()]
    columns = {
        "id": questions,
        "image": [str(question.get("imageId", "")) for question in questions.values()],
        "answers": [{question["answer"]: 1.0} for question in questions.values()],
        "gqa_question": questions.values(),
        **{kind: [row.get(kind) or "" for row in types] for kind in QUESTION_TYPE_FIELDS},
    }
    return Items(columns, len(questions))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fingerprint_release(release: Path) -> str:
    """Check the questions and images of a release against its CHECKSUMS.sha256, and return the SHA-256 of
    that file.

    Raises:
        UserError: Lists every file that is missing or changed.
    """
    sums = release / "CHECKSUMS.sha256"
    if not sums.is_file():
        raise UserError(f"{release}: no CHECKSUMS.sha256 in it; expected a release's folder")
    data = read_bytes(sums)
    problems = []
    for line in data.decode("utf-8", "replace").splitlines():
        wanted, path = line[:64], release / line[66:]
        if path.parent.name in ("rgqa", "data") and path.parent.parent == release:
            if not path.is_file():
                problems.append(f"{line[66:]}: missing")
                continue
            if sha256_file(path) != wanted:
                problems.append(f"{line[66:]}: its bytes have changed")
    if problems:
        raise UserError(
            [f"{release}: the release has changed since it was published. Download it again", *problems]
        )
    return hashlib.sha256(data).hexdigest()
