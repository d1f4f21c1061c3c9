"""Write the checksums of a release, check a release, and publish it into a folder."""

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
from pipeline.benchmark.release.release_summary import StudyFacts
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
from pipeline.core.release_params import STUDY_FILE, RecordedParams
from pipeline.scoring.benchmark_reader import read_benchmark
from pipeline.scoring.joined_predictions import ScoringOptions
from pipeline.scoring.model_report import find_benchmark_faults

CHECKSUMS_FILE = "CHECKSUMS.sha256"
BYTECODE_FOLDER = "__pycache__"
REFERENCE_FOLDER = "reference_predictions"
# Files of records that a release may have besides provenance.jsonl.
RECORD_FILES: dict[str, type[Record]] = {
    "verdicts.jsonl": Verdict,
    "excluded_answers.jsonl": ExcludedAnswer,
    "dropped.jsonl": DroppedCandidate,
}
# The expected scores are rounded to six decimals.
SCORE_TOLERANCE = 1e-6


class _CroissantFile(Record, forbid_unknown_fields=False):
    """A file that croissant.json lists."""

    contentUrl: str
    sha256: str


class _Croissant(Record, forbid_unknown_fields=False):
    """The part of croissant.json that is checked."""

    distribution: tuple[_CroissantFile, ...]


class _Audit(Record, forbid_unknown_fields=False):
    """The fields of audit.json that every release has."""

    subsets: dict[Subset, dict[str, Any]]
    warnings: list[str]
    attack_table: str


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of every file of a release to CHECKSUMS.sha256.

    The file has the format of `sha256sum` and is sorted by path.
    """
    lines = [f"{sha256_file(folder / path)}  {path}\n" for path in list_release_files(folder)]
    write_text(folder / CHECKSUMS_FILE, "".join(lines))


def check_checksums(folder: Path) -> dict[str, str]:
    """Compare every file with its SHA-256 in CHECKSUMS.sha256.

    Returns:
        Path -> checksum.

    Raises:
        UserError: The folder does not exist, or files are missing, changed or not listed. The message lists
            all faulty files.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder}: no such folder; give the folder of a release, data/release/<data set>/<version>"
        )
    problems = Problems(f"{folder}: the release differs from what was published")
    if not (folder / CHECKSUMS_FILE).exists():
        problems.add(
            CHECKSUMS_FILE, "no such file; this is not the folder of a release, or only a part of it"
        )
        problems.raise_if_any()
    expected: dict[str, str] = {}
    for number, line in enumerate(_read_checksums(folder / CHECKSUMS_FILE), 1):
        known = re.fullmatch("([0-9a-f]{64})  (.+)", line)
        if not known:
            problems.add(
                f"{CHECKSUMS_FILE}, line {number}",
                f"expected a checksum, two spaces and a path, got {line[:80]!r}",
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
            problems.add(path, "not a regular file")
        elif sha256_file(folder / path) != expected[path]:
            problems.add(path, "its content has changed")
    problems.raise_if_any()
    return expected


def _read_checksums(path: Path) -> list[str]:
    try:
        with open_for_reading(path) as file:
            return file.read().decode().splitlines()
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8, so not as published; download the release again") from None


def list_release_files(folder: Path) -> list[str]:
    """Return the paths of all files of a release, sorted.

    The file with the checksums, bytecode and hidden files are not part of a release. (A download from the hub
    leaves hidden files.)
    """
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
    """Yield the items of a release. They are read from provenance.jsonl."""
    return (row.item for row in read_jsonl(folder / "provenance.jsonl", Provenance))


def check_release(folder: Path) -> str:
    """Check a release.

    The check compares the checksums, verifies that all files contain the same items, and scores the reference
    predictions.

    Returns:
        One line that states what was checked.

    Raises:
        UserError: The release does not pass the check. The message lists all faults.
    """
    checksums = check_checksums(folder)
    problems = Problems(f"{folder}: the release does not pass its check")
    kinds = {
        "params.json": RecordedParams,
        "audit.json": _Audit,
        ERRATA_FILE: list[Erratum],
        STUDY_FILE: StudyFacts,
    }
    for name, kind in kinds.items():
        with problems.collect():
            # A release without known faults has no errata, and one without an annotation study no facts about it.
            if name not in {ERRATA_FILE, STUDY_FILE} or (folder / name).exists():
                read_json(folder / name, kind)
    for name, record in RECORD_FILES.items():
        with problems.collect():
            # A release without an annotation study has none of these files.
            if (folder / name).exists():
                deque(read_jsonl(folder / name, record), maxlen=0)
    with problems.collect():
        _check_croissant(folder, checksums, problems)
    items, compared, rehearsal = Counter[tuple[Subset, str]](), 0, False
    with problems.collect():
        for item in read_released_items(folder):
            items[item.subset, item.split] += 1
            rehearsal = rehearsal or item.rehearsal
        _check_item_files(folder, items, problems)
        has_images = _has_images(folder)
        subsets: set[Subset] = {subset for subset, _ in items}
        # The items of only one subset at a time are in memory.
        for subset in sorted(subsets):
            compared += _check_subset(folder, subset, has_images, problems)
    _check_scorable(folder, problems)
    problems.raise_if_any()
    return (
        f"{'a REHEARSAL, not a benchmark: ' if rehearsal else ''}{format_count(len(checksums), 'file')} unchanged, "
        f"{format_count(items.total(), 'item')} identical in all files, {format_count(compared, 'reference prediction file')} scored as expected"
    )


def _check_item_files(folder: Path, items: Collection[tuple[Subset, str]], problems: Problems) -> None:
    """Check that each subset and split with items has its files, and that no other files exist."""
    if not items:
        problems.add("provenance.jsonl", "no item in it")
    wanted = {f"data/{subset}-{split}.parquet" for subset, split in items}
    wanted |= {
        path
        for subset, _ in items
        for path in (f"rgqa/{subset}.json", f"{REFERENCE_FOLDER}/{subset}/expected.json")
    }
    present = {
        path
        for path in list_release_files(folder)
        if re.match(rf"data/|rgqa/|{REFERENCE_FOLDER}/.*/expected\.json$", path)
    }
    for path in sorted(wanted ^ present):
        what = (
            "missing, but provenance.jsonl contains its items"
            if path in wanted
            else "provenance.jsonl contains none of its items"
        )
        problems.add(path, what)


def _check_croissant(folder: Path, checksums: Mapping[str, str], problems: Problems) -> None:
    """Compare croissant.json, if the release has one, with the tables and their checksums."""
    if not (path := folder / "croissant.json").exists():
        return
    stated = {entry.contentUrl: entry.sha256 for entry in read_json(path, _Croissant).distribution}
    tables = {file.relative_to(folder).as_posix() for file in (folder / "data").glob("*.parquet")}
    for name in sorted(tables - stated.keys()):
        problems.add("croissant.json", f"does not list {name}")
    for name, sha256 in sorted(stated.items()):
        if name not in tables:
            problems.add("croissant.json", f"lists {name}, which is missing")
        elif checksums.get(name) != sha256:
            problems.add("croissant.json", f"states another SHA-256 of {name}")


def _check_scorable(folder: Path, problems: Problems) -> None:
    """Read the release as `rgqa score` does, and report the faults that `rgqa score` would report."""
    found: list[str] = []
    with collect_errors(found):
        found += find_benchmark_faults(read_benchmark(folder), ScoringOptions())
    for line in found:
        if line not in problems.lines:
            problems.lines.append(f"cannot be scored: {line}")


def _has_images(folder: Path) -> bool:
    """Return whether the tables contain the images.

    The answer comes from params.json or, if params.json does not state it, from the first table.
    """
    stated = read_json(folder / "params.json", RecordedParams).release.include_images
    if stated is not None:
        return stated
    return any("image" in read_column_names(path) for path in sorted((folder / "data").glob("*.parquet"))[:1])


def _check_subset(folder: Path, subset: Subset, has_images: bool, problems: Problems) -> int:
    """Compare the files of a subset with its items, column by column, and score its reference predictions.

    Args:
        folder: The folder of the release.
        subset: The subset.
        has_images: Whether the tables contain the images.
        problems: The collector of faults.

    Returns:
        The number of files of reference predictions that were scored.
    """
    members = [item for item in read_released_items(folder) if item.subset == subset]
    if answered := [item.item_id for item in members if item.unanswerable and item.answer]:
        problems.add("provenance.jsonl", f"UQs with an answer ({len(answered):,}): {join_examples(answered)}")
    different_rows, compared = "its rows differ from provenance.jsonl", 0
    # The canary is not in provenance.jsonl.
    canary: str | None = None
    if (path := folder / "rgqa" / f"{subset}.json").exists():
        with problems.collect():
            rows = read_json(path, list[RgqaRow])
            canary = rows[0].canary if rows else None
            expected_rows = (msgspec.to_builtins(row) for row in make_rgqa_rows(members, canary or ""))
            actual_rows = (msgspec.to_builtins(row) for row in rows)
            for line in compare_rows(expected_rows, actual_rows, "question_id"):
                problems.add(f"rgqa/{subset}.json", f"{different_rows}: {line}")
    for split in dict.fromkeys(item.split for item in members):
        if (path := folder / "data" / f"{subset}-{split}.parquet").exists():
            with problems.collect():
                if faults := find_column_faults(path, has_images):
                    problems.lines += [f"data/{path.name}: {fault}" for fault in faults]
                    continue
                actual_rows = [*read_rows(path, has_images)]
                canary = actual_rows[0]["canary"] if canary is None and actual_rows else canary
                expected_rows = (make_row(item, canary or "") for item in members if item.split == split)
                for line in compare_rows(expected_rows, actual_rows, "item_id"):
                    problems.add(f"data/{path.name}", f"{different_rows}: {line}")
    predictions_folder = f"{REFERENCE_FOLDER}/{subset}"
    home = folder / predictions_folder
    with problems.collect():
        stated = read_json(home / "expected.json", dict[str, ReferenceScores]) if home.exists() else {}
        if home.exists() and not stated:
            problems.add(f"{predictions_folder}/expected.json", "no scores in it")
        for name, expected in stated.items():
            compared += 1
            predictions = read_json(home / f"{name}.json", list[Prediction])
            if Counter(row.questionId for row in predictions) != Counter(item.item_id for item in members):
                problems.add(f"{predictions_folder}/{name}.json", different_rows)
                continue
            scores = score_predictions(members, predictions)
            figures = [np.array(msgspec.structs.astuple(row), float) for row in (expected, scores)]
            if not np.allclose(*figures, rtol=0, atol=SCORE_TOLERANCE, equal_nan=True):
                problems.add(f"{predictions_folder}/{name}.json", f"scores are {scores}, expected {expected}")
    return compared


def compare_rows(
    expected_rows: Iterable[Mapping[str, Any]], actual_rows: Iterable[Mapping[str, Any]], key: str
) -> list[str]:
    """Compare rows with the same id, value by value.

    Args:
        expected_rows: The expected rows.
        actual_rows: The actual rows, in any order. A column `image` has the name of the image file. The name
            without its suffix should be the `image_id` of the row.
        key: The column with the ids.

    Returns:
        A line for each kind of difference, with the number of rows and the first five rows.
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
            rows["image is missing or wrong"].append(f"{name} has {row['image']!r}")
        for column, value in expected[name].items():
            if row[column] != value:
                rows[f"{column} differs"].append(f"{name} has {row[column]!r:.80}, expected {value!r:.80}")
    if missing := [name for name in expected if name not in seen]:
        rows["rows missing"] = missing
    return [f"{what} ({len(names):,}): {join_examples(names)}" for what, names in rows.items()]


def refuse_trial(release: Path, allow_trial: bool) -> None:
    """Refuse to publish a release of which the study was only a trial. A release with simulated verdicts is no trial.

    Raises:
        UserError: The study was a trial, and `allow_trial` is false. The message has the reasons.
    """
    path = release / STUDY_FILE
    doubts = read_json(path, StudyFacts).doubts if path.exists() else ()
    if doubts and not allow_trial and not any(item.simulated for item in read_released_items(release)):
        raise UserError(
            f"{release}: the annotation study was only a trial, and others could mistake its items for verified ones:\n"
            + "".join(f"  {doubt}\n" for doubt in doubts)
            + "Give --allow-trial to publish it nevertheless. Its card says the same"
        )


def publish_release(release: Path, target: Path, allow_trial: bool = False) -> str:
    """Copy a release read-only to `target/<data set>/<version>`.

    Publishing the same bytes again does nothing.

    Args:
        release: The folder of the release.
        target: The folder into which all releases are published.
        allow_trial: Whether to publish it even if the study was only a trial.

    Returns:
        One line that states what was done.

    Raises:
        UserError: The release does not pass its check, is a rehearsal or a trial, or was already published with
            different content.
    """
    about = read_json(release / "params.json", RecordedParams)
    place = target / about.dataset / about.version
    check_output_paths([Output("--destination", place, "folder")], [release], own_folder=place)
    check_release(release)
    if any(item.rehearsal for item in read_released_items(release)):
        raise UserError(
            f"{release}: a rehearsal cannot be published, because its verdicts are not simulated from a known"
            " truth"
        )
    refuse_trial(release, allow_trial)
    if place.exists():
        if (place / CHECKSUMS_FILE).is_file() and (place / CHECKSUMS_FILE).read_bytes() == (
            release / CHECKSUMS_FILE
        ).read_bytes():
            check_release(place)
            return f"already published with the same content -> {place}"
        raise UserError(
            f"{place}: this version was already published with different content, and a published version never"
            " changes; raise `version` in params.yaml and run dvc repro"
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
    return f"copied the release to {place}"
