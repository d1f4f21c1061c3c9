"""SHA-256 sums of a release, in the format of `sha256sum`; the check of a copy; and the copy that stays for good."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from annotation.study.quality_control import ExcludedAnswer
from pipeline.benchmark.release.errata import ERRATA_FILE, Erratum
from pipeline.benchmark.release.parquet_table import (
    find_column_faults,
    make_row,
    read_column_names,
    read_rows,
)
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.subset_files import (
    Prediction,
    ReferenceScores,
    RgqaRow,
    make_rgqa_rows,
    score_predictions,
)
from pipeline.core.atomic_files import open_for_reading, sha256_file, write_text
from pipeline.core.errors import Problems, UserError, collect_errors, format_count, join_examples
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.output_paths import Output, check_output_paths
from pipeline.core.records import DroppedCandidate, Item, Record, Subset, Verdict
from pipeline.core.release_params import RecordedParams
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.model_report import find_benchmark_faults

CHECKSUMS_FILE = "CHECKSUMS.sha256"
BYTECODE_FOLDER = "__pycache__"
# Files of records that a release may have, beside provenance.jsonl.
RECORD_FILES: dict[str, type[Record]] = {
    "verdicts.jsonl": Verdict,
    "set_aside.jsonl": ExcludedAnswer,
    "dropped.jsonl": DroppedCandidate,
}
SCORE_TOLERANCE = 1e-6  # the stated scores are rounded to six places


class _CroissantFile(Record, forbid_unknown_fields=False):
    """A file that croissant.json names."""

    contentUrl: str
    sha256: str


class _Croissant(Record, forbid_unknown_fields=False):
    """What is checked of croissant.json."""

    distribution: tuple[_CroissantFile, ...]


class _Audit(Record, forbid_unknown_fields=False):
    """What audit.json has in a release of any kind."""

    subsets: dict[Subset, dict[str, Any]]
    warnings: list[str]
    attack_table: str


def write_checksums(folder: Path) -> None:
    """Write the sums of every file in the folder, sorted by path."""
    lines = [f"{sha256_file(folder / path)}  {path}\n" for path in list_release_files(folder)]
    write_text(folder / CHECKSUMS_FILE, "".join(lines))


def check_checksums(folder: Path) -> dict[str, str]:
    """Compare every file with its SHA-256 in CHECKSUMS.sha256, and return these sums by path.

    Raises:
        UserError: there is no such folder, or it lists every file that is missing, changed or not listed.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder}: there is no such folder; wanted a release's, data/release/<data set>/<version>"
        )
    problems = Problems(f"{folder}: the release is not as it was published")
    if not (folder / CHECKSUMS_FILE).exists():
        problems.add(CHECKSUMS_FILE, "no such file; this is not a release folder, or a part of one")
        problems.raise_if_any()
    expected: dict[str, str] = {}
    for number, line in enumerate(_read_checksums(folder / CHECKSUMS_FILE), 1):
        known = re.fullmatch("([0-9a-f]{64})  (.+)", line)
        if not known:
            problems.add(
                f"{CHECKSUMS_FILE}, line {number}", f"wanted a sum, two blanks and a file, got {line[:80]!r}"
            )
        elif Path(known[2]).is_absolute() or ".." in Path(known[2]).parts:
            problems.add(f"{CHECKSUMS_FILE}, line {number}", f"{known[2]} points outside the release")
        else:
            expected[known[2]] = known[1]
    present = set(list_release_files(folder))
    for path in sorted(set(expected) | present):
        if path not in present:
            problems.add(path, "missing")
        elif path not in expected:
            problems.add(path, f"not listed in {CHECKSUMS_FILE}")
        elif not (folder / path).is_file():
            problems.add(path, "no regular file")
        elif sha256_file(folder / path) != expected[path]:
            problems.add(path, "its bytes have changed")
    problems.raise_if_any()
    return expected


def _read_checksums(path: Path) -> list[str]:
    try:
        with open_for_reading(path) as file:
            return file.read().decode().splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8, so not as it was published; get the release anew") from None


def list_release_files(folder: Path) -> list[str]:
    """All but the sums, and what Python leaves where a module was run, and the hub where it was downloaded (.gitattributes, .cache)."""
    files = [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if not path.is_dir() and path.name != CHECKSUMS_FILE
    ]
    return sorted(
        path.as_posix()
        for path in files
        if not any(name == BYTECODE_FOLDER or name.startswith(".") for name in path.parts)
    )


def read_released_items(folder: Path) -> Iterator[Item]:
    """The items of a release, by its provenance."""
    return (row.item for row in read_jsonl(folder / "provenance.jsonl", Provenance))


def check_release(folder: Path) -> str:
    """Check the sums of all files, that each subset's files and the provenance tell of the same items, and that scoring the
    sanity predictions anew gives the stated scores. Returns one line saying what was checked.

    Raises:
        UserError: lists everything that does not agree.
    """
    sums = check_checksums(folder)
    problems = Problems(f"{folder}: the release does not pass its sanity check")
    kinds = {"params.json": RecordedParams, "audit.json": _Audit, ERRATA_FILE: list[Erratum]}
    for name, kind in kinds.items():
        with problems.collect():
            if name != ERRATA_FILE or (folder / name).exists():  # not every release knows of any
                read_json(folder / name, kind)
    for name, record in RECORD_FILES.items():
        with problems.collect():
            if (folder / name).exists():  # a release without an annotation study has none
                deque(read_jsonl(folder / name, record), maxlen=0)
    with problems.collect():
        _check_croissant(folder, sums, problems)
    items, compared, rehearsal = Counter[tuple[Subset, str]](), 0, False
    with problems.collect():
        for item in read_released_items(folder):
            items[item.subset, item.split] += 1
            rehearsal = rehearsal or item.rehearsal
        _check_item_files(folder, items, problems)
        embed = _has_images(folder)
        subsets: set[Subset] = {subset for subset, _ in items}
        for subset in sorted(subsets):  # of no more than one are the items held
            compared += _check_subset(folder, subset, embed, problems)
    _check_scorable(folder, problems)
    problems.raise_if_any()
    return (
        f"{'a REHEARSAL, no benchmark: ' if rehearsal else ''}{format_count(len(sums), 'file')} whole, "
        f"{items.total():,} items agree, {compared} sanity predictions get their scores"
    )


def _check_item_files(folder: Path, items: Collection[tuple[Subset, str]], problems: Problems) -> None:
    """Each subset and part that has items has its files, and no other has any."""
    if not items:
        problems.add("provenance.jsonl", "no item in it")
    wanted = {f"data/{subset}-{split}.parquet" for subset, split in items}
    wanted |= {
        path for subset, _ in items for path in (f"rgqa/{subset}.json", f"sanity/{subset}/expected.json")
    }
    present = {
        path
        for path in list_release_files(folder)
        if re.match(r"data/|rgqa/|sanity/.*/expected\.json$", path)
    }
    for path in sorted(wanted ^ present):
        what = (
            "missing, though provenance.jsonl has its items"
            if path in wanted
            else "provenance.jsonl has no item of it"
        )
        problems.add(path, what)


def _check_croissant(folder: Path, checksums: Mapping[str, str], problems: Problems) -> None:
    """Compare croissant.json, if the release has one, with the tables and with their checked sums."""
    if not (path := folder / "croissant.json").exists():
        return
    stated = {entry.contentUrl: entry.sha256 for entry in read_json(path, _Croissant).distribution}
    tables = {file.relative_to(folder).as_posix() for file in (folder / "data").glob("*.parquet")}
    for name in sorted(tables - stated.keys()):
        problems.add("croissant.json", f"does not name {name}")
    for name, sha256 in sorted(stated.items()):
        if name not in tables:
            problems.add("croissant.json", f"names {name}, which is not there")
        elif checksums.get(name) != sha256:
            problems.add("croissant.json", f"states another SHA-256 of {name}")


def _check_scorable(folder: Path, problems: Problems) -> None:
    """Read the release as `rgqa score` does, so that what it refuses is a problem here, too."""
    found: list[str] = []
    with collect_errors(found):
        found += find_benchmark_faults(read_benchmark(folder), ScoringOptions())
    for line in found:
        if line not in problems.lines:
            problems.lines.append(f"cannot be scored: {line}")


def _has_images(folder: Path) -> bool:
    """Whether the tables hold the images: as params.json says, else as the first table does."""
    stated = read_json(folder / "params.json", RecordedParams).release.include_images
    if stated is not None:
        return stated
    return any("image" in read_column_names(path) for path in sorted((folder / "data").glob("*.parquet"))[:1])


def _check_subset(folder: Path, subset: Subset, embed: bool, problems: Problems) -> int:
    """Compare a subset's files with its items, column by column, and score its sanity predictions again.

    Args:
        embed: whether the tables have the images.

    Returns:
        How many sanity predictions were scored.
    """
    members = [item for item in read_released_items(folder) if item.subset == subset]
    if answered := [item.item_id for item in members if item.unanswerable and item.answer]:
        problems.add(
            "provenance.jsonl", f"UQs that have an answer ({len(answered):,}): {join_examples(answered)}"
        )
    other, compared = "its rows are not those of provenance.jsonl", 0
    mark: str | None = None  # the canary, which provenance.jsonl does not have
    if (path := folder / "rgqa" / f"{subset}.json").exists():
        with problems.collect():
            rows = read_json(path, list[RgqaRow])
            mark = rows[0].canary if rows else None
            wanted = (msgspec.to_builtins(row) for row in make_rgqa_rows(members, mark or ""))
            found = (msgspec.to_builtins(row) for row in rows)
            for line in compare_rows(wanted, found, "question_id"):
                problems.add(f"rgqa/{subset}.json", f"{other}: {line}")
    for split in dict.fromkeys(item.split for item in members):
        if (path := folder / "data" / f"{subset}-{split}.parquet").exists():
            with problems.collect():
                if faults := find_column_faults(path, embed):
                    problems.lines += [f"data/{path.name}: {fault}" for fault in faults]
                    continue
                found = [*read_rows(path, embed)]
                mark = found[0]["canary"] if mark is None and found else mark
                wanted = (make_row(item, mark or "") for item in members if item.split == split)
                for line in compare_rows(wanted, found, "item_id"):
                    problems.add(f"data/{path.name}", f"{other}: {line}")
    home = folder / "sanity" / subset
    with problems.collect():
        stated = read_json(home / "expected.json", dict[str, ReferenceScores]) if home.exists() else {}
        if home.exists() and not stated:
            problems.add(f"sanity/{subset}/expected.json", "no scores in it")
        for name, expected in stated.items():
            compared += 1
            predictions = read_json(home / f"{name}.json", list[Prediction])
            if Counter(row.questionId for row in predictions) != Counter(item.item_id for item in members):
                problems.add(f"sanity/{subset}/{name}.json", other)
                continue
            scores = score_predictions(members, predictions)
            figures = [np.array(msgspec.structs.astuple(row), float) for row in (expected, scores)]
            if not np.allclose(*figures, rtol=0, atol=SCORE_TOLERANCE, equal_nan=True):
                problems.add(f"sanity/{subset}/{name}.json", f"scores are {scores}, stated are {expected}")
    return compared


def compare_rows(
    expected_rows: Iterable[Mapping[str, Any]], actual_rows: Iterable[Mapping[str, Any]], key: str
) -> list[str]:
    """Compare rows by an id, value by value.

    Args:
        wanted: the rows as they should be. found: the rows as they are, in any order; an `image` is the name of its file,
            whose stem should be the row's `image_id`.
        key: the column of the id.

    Returns:
        A line for each kind of difference, with how many rows have it and the first five of them.
    """
    expected = {row[key]: row for row in expected_rows}
    rows: defaultdict[str, list[str]] = defaultdict(list)
    seen = set[Any]()
    for row in actual_rows:
        name = row[key]
        if name in seen or name not in expected:
            what = f"{key} is null" if name is None else "rows repeated" if name in seen else "rows unknown"
            rows[what].append(str(name))
            continue
        seen.add(name)
        shown = f"{row['image_id']}." if "image" in row else ""
        if shown and not (row["image"] or "").startswith(shown):
            rows["image is missing or another"].append(f"{name} has {row['image']!r}")
        for column, value in expected[name].items():
            if row[column] != value:
                rows[f"{column} differs"].append(f"{name} has {row[column]!r:.80}, wanted {value!r:.80}")
    if lost := [name for name in expected if name not in seen]:
        rows["rows missing"] = lost
    return [f"{what} ({len(names):,}): {join_examples(names)}" for what, names in rows.items()]


def publish_release(release: Path, target: Path) -> str:
    """Copy `release` (a version's folder) to `target/<data set>/<version>`, read-only; say what was done.
    Publishing the same bytes again does nothing.

    Raises:
        UserError: the release does not pass its check, is a rehearsal, or was published with other bytes.
    """
    about = read_json(release / "params.json", RecordedParams)
    place = target / about.dataset / about.version
    check_output_paths([Output("--destination", place, "folder")], [release], own_folder=place)
    check_release(release)
    if any(item.rehearsal for item in read_released_items(release)):
        raise UserError(
            f"{release}: a rehearsal; its verdicts are simulated from no known truth, so it is not published"
        )
    if place.exists():
        if (place / CHECKSUMS_FILE).is_file() and (place / CHECKSUMS_FILE).read_bytes() == (
            release / CHECKSUMS_FILE
        ).read_bytes():
            check_release(place)
            return f"already published with the same bytes -> {place}"
        raise UserError(
            f"{place}: this version was published with different bytes; a published version never changes. "
            "Raise `version` in params.yaml and run dvc repro"
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        for copy, path in (
            (temporary / name, release / name) for name in (*list_release_files(release), CHECKSUMS_FILE)
        ):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o444)
        temporary.replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return f"published -> {place}"
