"""Open a public set: recognize the files in a folder, read their rows as items, and check these."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pipeline.core.atomic_files import sha256_file
from pipeline.core.column_aliases import COLUMN_ALIASES, find_column
from pipeline.core.errors import Problems, UserError, collect_errors, join_examples
from pipeline.core.table_reader import format_row_numbers
from pipeline.public_sets.author_scores import check_details
from pipeline.public_sets.items import SetItem
from pipeline.public_sets.multiple_choice_sets import find_tubench_parts, open_tubench
from pipeline.public_sets.registry import KNOWN_SETS, KnownSet, detect_set, file_names
from pipeline.public_sets.row_sources import ConcatenatedRows, JoinedRows, RowSource, open_rows

# Files that may be tables of a set. JSON files may also be settings, or benchmarks in formats of their own.
TABLE_SUFFIXES = (".json", ".jsonl", ".tsv", ".csv", ".parquet")
# How deep in a folder files of a set are looked for.
MAX_FOLDER_DEPTH = 2
# A word in the name of a file, such as val in v2_mscoco_val2014_questions.json.
SPLIT_NAME = re.compile(r"(?<![a-z])(train|valid|validation|val|dev|testdev|test)(?![a-z])")
# AMBER's queries of the discriminative part, and the file with their answers.
AMBER_QUERIES, AMBER_ANNOTATIONS = "query_discriminative", "annotations.json"


class OpenedRows(NamedTuple):
    """The rows of a public set.

    Attributes:
        known: The set, in the layout of its files.
        rows: One row per question.
        image_rows: The rows of the files, whose image columns may contain images.
        files: Path of the file of each row of `rows`.
        paths: The files.
    """

    known: KnownSet
    rows: RowSource
    image_rows: RowSource
    files: list[str]
    paths: list[Path]


class PublicSet(NamedTuple):
    """A public set.

    Attributes:
        known: The set, in the layout of its files.
        path: The file or folder that the user named.
        items: The questions. Their ids are distinct.
        rows: The rows of the set.
        sha256: File -> SHA-256, for every file that was read.
    """

    known: KnownSet
    path: Path
    items: list[SetItem]
    rows: OpenedRows
    sha256: dict[str, str]

    @property
    def name(self) -> str:
        return self.known.set_name

    @property
    def fingerprint(self) -> str:
        """One SHA-256 of all files."""
        text = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.sha256.items()))
        return hashlib.sha256(text.encode()).hexdigest()


def find_public_rows(path: Path) -> OpenedRows | None:
    """Recognize a public set and open its files.

    Args:
        path: A file or a folder.

    Returns:
        The rows; None if there is no file or folder, if the folder is a release, or if no known set has such files.

    Raises:
        UserError: A file cannot be read, or the files of several sets or splits are in one folder.
    """
    if path.is_file():
        return _open_file(path)
    if not path.is_dir() or any((path / "rgqa").glob("*.json")):
        return None
    if find_tubench_parts(path):
        return _open_tubench(path)
    return _open_amber(path) or _open_pair(path) or _open_tables(path)


def require_public_rows(path: Path) -> OpenedRows:
    """Open a public set, as `find_public_rows`.

    Raises:
        UserError: No known set has such files.
    """
    if found := find_public_rows(path):
        return found
    names = ", ".join(dict.fromkeys(known.set_name for known in KNOWN_SETS))
    columns, problems = "", list[str]()
    if path.is_file():
        there = open_rows(str(path)).columns
        columns = f"; its columns are {join_examples(there, 12) or '(none)'}"
    for file in _list_files(path) if path.is_dir() else ():
        with collect_errors(problems):
            open_rows(str(file))
    raise UserError(
        [
            f"{path}: neither a release nor a known public set{columns}. Known sets are {names}; their files are described in"
            " docs/guides/public_sets.md",
            *problems,
        ]
    )


def _open_file(path: Path) -> OpenedRows | None:
    if path.suffix.lower() not in TABLE_SUFFIXES:
        return None
    if path.name.startswith(AMBER_QUERIES):
        annotations = [place / AMBER_ANNOTATIONS for place in (path.parent, path.parent.parent)]
        if found := next((one for one in annotations if one.is_file()), None):
            return _make(JoinedRows(path, found, "id"), [path, found])
        raise UserError(
            f"{path}: AMBER's {AMBER_ANNOTATIONS} is not beside it or in the folder above; put it there"
        )
    rows = open_rows(str(path))
    if found := _make(rows, [path]):
        return found
    # Questions in the form of VQA, whose annotations are in another file.
    has_labels = find_column((*COLUMN_ALIASES["answerable"], *COLUMN_ALIASES["answer"]), rows.columns)
    if {"question_id", "question", "image_id"} <= set(rows.columns) and not has_labels:
        annotations = _find_annotations(path.parent)
        if len(annotations) == 1:
            return _make(JoinedRows(path, annotations[0]), [path, annotations[0]])
        there = (
            f"has {len(annotations)} files *annotations*.json"
            if annotations
            else "has no file *annotations*.json"
        )
        raise UserError(
            f"{path}: questions without answers, and its folder {there}; put the questions and their annotations alone into a folder,"
            " and name the folder"
        )
    return None


def _make(rows: RowSource, paths: Sequence[Path], known: KnownSet | None = None) -> OpenedRows | None:
    known = known or detect_set(rows.columns, paths[0].as_posix())
    if known is None:
        return None
    expanded = known.expand(rows) if known.expand else rows
    return OpenedRows(known, expanded, rows, file_names(expanded, str(paths[0])), [*paths])


def _find_annotations(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if "annotation" in path.name.lower())


def _list_files(folder: Path) -> list[Path]:
    """Return the files that may be tables, in a folder and in folders in it, in alphabetical order."""
    patterns = ["/".join(["*"] * depth) for depth in range(1, MAX_FOLDER_DEPTH + 2)]
    return sorted(
        path
        for pattern in patterns
        for path in folder.glob(pattern)
        if path.suffix.lower() in TABLE_SUFFIXES and path.is_file() and not path.name.startswith(".")
    )


def _open_tubench(folder: Path) -> OpenedRows | None:
    rows = open_tubench(folder)
    if not len(rows):
        return None
    paths = [
        path
        for part in find_tubench_parts(folder)
        for path in sorted(part.glob("*/*"))
        if path.suffix in (".txt", ".json")
    ]
    return _make(rows, paths, next(known for known in KNOWN_SETS if known.set_name == "TUBench"))


def _open_amber(folder: Path) -> OpenedRows | None:
    queries = [path for path in _list_files(folder) if path.name == f"{AMBER_QUERIES}.json"]
    return _open_file(queries[0]) if len(queries) == 1 else None


def _open_pair(folder: Path) -> OpenedRows | None:
    """Open a file of questions and a file of annotations in the form of VQA."""
    files = [path for path in _list_files(folder) if path.suffix.lower() == ".json"]
    annotations = [path for path in files if "annotation" in path.name.lower()]
    questions = [path for path in files if "question" in path.name.lower() and path not in annotations]
    if not (annotations and questions):
        return None
    if len(annotations) > 1 or len(questions) > 1:
        raise UserError(
            f"{folder}: {len(questions)} files of questions and {len(annotations)} of annotations; put the two files of one split alone"
            " into a folder, and name that folder"
        )
    return _make(JoinedRows(questions[0], annotations[0]), [questions[0], annotations[0]])


def _open_tables(folder: Path) -> OpenedRows | None:
    """Open all files in a folder that are tables of a known set."""
    found: list[OpenedRows] = []
    faults: dict[Path, list[str]] = {}
    for path in _list_files(folder):
        with collect_errors(faults.setdefault(path, [])):
            rows = open_rows(str(path))
            if opened := _make(rows, [path]):
                found.append(opened)
    if not found:
        return None
    # A file of another kind, such as the settings of a data set, need not be a table.
    suffixes = {path.suffix for one in found for path in one.paths}
    if problems := [line for path, lines in faults.items() if path.suffix in suffixes for line in lines]:
        raise UserError([f"{folder}: files that cannot be read", *problems])
    layouts = Counter(one.known.name for one in found)
    if len(layouts) > 1:
        several = ", ".join(f"{name} ({count})" for name, count in layouts.items())
        raise UserError(f"{folder}: files of several sets: {several}. Name the file or folder of one set")
    if len(found) == 1:
        return found[0]
    names = [path.stem.lower() for one in found for path in one.paths]
    splits = Counter(match[1] for match in map(SPLIT_NAME.search, names) if match)
    if len(splits) > 1:
        several = ", ".join(f"{name} ({count})" for name, count in splits.items())
        raise UserError(
            f"{folder}: files of several splits: {several}. Name the file, or a folder with the files, of one split"
        )
    return OpenedRows(
        found[0].known,
        ConcatenatedRows([one.rows for one in found], str(folder)),
        ConcatenatedRows([one.image_rows for one in found], str(folder)),
        [file for one in found for file in one.files],
        [path for one in found for path in one.paths],
    )


def read_public_set(path: Path, rows: OpenedRows | None = None) -> PublicSet:
    """Read a public set and check its items.

    Args:
        path: A file or a folder.
        rows: Its rows, if they have been opened already.

    Raises:
        UserError: Lists every fault of the files.
    """
    rows = rows or require_public_rows(path)
    items = read_items(rows)
    check_items(path, rows.known, items)
    base = path if path.is_dir() else path.parent
    names = {
        file: str(file.relative_to(base)) if file.is_relative_to(base) else file.name for file in rows.paths
    }
    return PublicSet(rows.known, path, items, rows, {names[file]: sha256_file(file) for file in rows.paths})


def read_items(rows: OpenedRows) -> list[SetItem]:
    """Read one item per row, without checking them."""
    return _with_distinct_ids(rows.known.read(rows.rows, rows.files), rows.files)


def _with_distinct_ids(items: list[SetItem], files: Sequence[str]) -> list[SetItem]:
    """Put the group, or else the name of the file, before the ids of items from several files whose ids are equal."""
    if len(set(files)) < 2 or len({item.id for item in items}) == len(items):
        return items
    groups = {(item.group, file) for item, file in zip(items, files, strict=True)}
    is_distinct = len({group for group, _ in groups}) == len(groups)
    return [
        item._replace(
            id=f"{item.group if is_distinct and item.group else Path(file).stem} {item.id}",
            pair_id=f"{item.group} {item.pair_id}" if item.pair_id else "",
        )
        for item, file in zip(items, files, strict=True)
    ]


def check_items(path: Path, known: KnownSet, items: Sequence[SetItem]) -> None:
    """Check that items can be asked and scored.

    Raises:
        UserError: Lists every fault, with the numbers of the rows.
    """
    problems = Problems(str(path))
    if not items:
        raise UserError(f"{path}: no rows")

    def report(faulty: Sequence[int], what: str) -> None:
        if faulty:
            problems.add(format_row_numbers([i + 1 for i in faulty]), what)

    def find(test: object) -> list[int]:
        return [i for i, item in enumerate(items) if test(item)]  # type: ignore[operator]

    report(find(lambda item: not item.question.strip()), "the question is missing")
    counts = Counter(item.id for item in items)
    report(
        find(lambda item: counts[item.id] > 1),
        "the id occurs more than once; if several files have the same questions, name one of them",
    )
    if "yes/no" in known.answer_kinds and known.answer_kinds == ("yes/no",):
        report(
            find(lambda item: item.answers not in (("yes",), ("no",))),
            'the answer is missing or neither "yes" nor "no"',
        )
    elif known.answer_kinds:
        report(
            find(lambda item: not item.answers and item.is_answerable is not False),
            "the answer is missing",
        )
    if known.answer_kinds == ("letter",):
        report(find(lambda item: len(item.options) < 2), "fewer than two options")
    if known.label.__name__ == "label_unanswerable":
        report(
            find(lambda item: item.is_answerable is None),
            "it is missing or unknown whether the question has an answer",
        )
    report(
        find(
            lambda item: (
                "letter" in known.answer_kinds
                and item.options
                and item.is_answerable
                and item.answers
                and item.answers[0] not in item.options
            )
        ),
        "the answer is not the letter of an option",
    )
    for name, advice in known.required_details.items():
        if any(not item.details.get(name) for item in items):
            problems.add(name, advice)
    problems.raise_if_any()
    # Otherwise a fault would be found only after all questions have been asked.
    check_details(known.set_name, items)
