"""SHA-256 sums of a release, in the format of `sha256sum`; the check of a copy; and the copy that stays for good."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from pipeline.core.errors import Problems, UserError
from pipeline.core.files import read_json, read_jsonl, sha256_file, write_text
from pipeline.core.records import Item, Subset
from pipeline.releasing.provenance import Provenance
from pipeline.releasing.subset_files import Prediction, RgqaRow, SanityScores, rgqa_rows, score_predictions

SUMS = "CHECKSUMS.sha256"
COMPILED = "__pycache__"
TOLERANCE = 1e-6  # the stated scores are rounded to six places


def write_checksums(folder: Path) -> None:
    """Write the sums of every file in the folder, sorted by path."""
    lines = [f"{sha256_file(folder / path)}  {path}\n" for path in files_of(folder)]
    write_text(folder / SUMS, "".join(lines))


def check_checksums(folder: Path) -> int:
    """Compare every file with its sum; return how many were compared.

    Raises:
        UserError: there is no such folder, or it lists every file that is missing, changed or not listed.
    """
    if not folder.is_dir():
        raise UserError(
            f"{folder}: there is no such folder; wanted a release's, data/release/<data set>/<version>"
        )
    problems = Problems(f"{folder}: the release is not as it was published")
    if not (folder / SUMS).is_file():
        problems.add(SUMS, "no such file; this is not a release folder, or a part of one")
        problems.raise_if_any()
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise UserError(
            f"{folder / SUMS}: not UTF-8, so not as it was published; get the release anew"
        ) from None
    expected = {line[66:]: line[:64] for line in lines}
    present = set(files_of(folder))
    for path in sorted(set(expected) | present):
        if path not in present:
            problems.add(path, "missing")
        elif path not in expected:
            problems.add(path, f"not listed in {SUMS}")
        elif not (folder / path).is_file():
            problems.add(path, "no regular file")
        elif sha256_file(folder / path) != expected[path]:
            problems.add(path, "its bytes have changed")
    problems.raise_if_any()
    return len(expected)


def files_of(folder: Path) -> list[str]:
    """All but the sums, and what Python leaves where a module was run, and the hub where it was downloaded (.gitattributes, .cache)."""
    files = [
        path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir() and path.name != SUMS
    ]
    return sorted(
        path.as_posix()
        for path in files
        if not any(name == COMPILED or name.startswith(".") for name in path.parts)
    )


def released(folder: Path) -> Iterator[Item]:
    """The items of a release, by its provenance."""
    return (row.item for row in read_jsonl(folder / "provenance.jsonl", Provenance))


def check_release(folder: Path) -> str:
    """Check the sums of all files, that RGQA's files and the provenance tell of the same items, and that scoring the
    sanity predictions anew gives the stated scores. Returns one line saying what was checked.

    Raises:
        UserError: lists everything that does not agree.
    """
    files = check_checksums(folder)
    problems = Problems(f"{folder}: the release does not pass its sanity check")
    items, compared, rehearsal = Counter[Subset](), 0, False
    for item in released(folder):
        items[item.subset] += 1
        rehearsal = rehearsal or item.rehearsal
    for subset in items:  # of no more than one are the items held
        members = [item for item in released(folder) if item.subset == subset]
        rows = read_json(folder / "rgqa" / f"{subset}.json", list[RgqaRow])
        if rows != list(rgqa_rows(members, rows[0].canary if rows else "")):
            problems.add(f"rgqa/{subset}.json", "its rows are not those of provenance.jsonl")
        stated = read_json(folder / "sanity" / subset / "expected.json", dict[str, SanityScores])
        for name, expected in stated.items():
            predictions = read_json(folder / "sanity" / subset / f"{name}.json", list[Prediction])
            scores = score_predictions(members, predictions)
            compared += 1
            figures = [np.array(msgspec.structs.astuple(row), float) for row in (expected, scores)]
            if not np.allclose(*figures, rtol=0, atol=TOLERANCE, equal_nan=True):
                problems.add(f"sanity/{subset}/{name}.json", f"scores are {scores}, stated are {expected}")
    problems.raise_if_any()
    return (
        f"{'a REHEARSAL, no benchmark: ' if rehearsal else ''}{files} files whole, "
        f"{items.total():,} items agree, {compared} sanity predictions get their scores"
    )


def publish(release: Path, target: Path) -> str:
    """Copy `release` (a version's folder) to `target/<data set>/<version>`, read-only; say what was done.
    Publishing the same bytes again does nothing.

    Raises:
        UserError: the release does not pass its check, is a rehearsal, or was published with other bytes.
    """
    check_release(release)
    if any(item.rehearsal for item in released(release)):
        raise UserError(
            f"{release}: a rehearsal; its verdicts are simulated from no known truth, so it is not published"
        )
    place = target / release.parent.name / release.name
    if place.exists():
        if (place / SUMS).is_file() and (place / SUMS).read_bytes() == (release / SUMS).read_bytes():
            check_release(place)
            return f"already published with the same bytes -> {place}"
        raise UserError(
            f"{place}: this version was published with different bytes; a published version never changes. "
            "Raise `version` in params.yaml and run dvc repro"
        )
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        for copy, path in ((temporary / name, release / name) for name in (*files_of(release), SUMS)):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            copy.chmod(0o444)
        temporary.replace(place)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return f"published -> {place}"
