"""Compare two versions of a release."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pipeline.benchmark.release.errata import ERRATA_FILE, Erratum
from pipeline.benchmark.release.provenance import Provenance
from pipeline.benchmark.release.subset_files import RgqaRow
from pipeline.core.atomic_files import open_for_reading
from pipeline.core.errors import Problems, UserError
from pipeline.core.json_files import read_json, read_jsonl
from pipeline.core.records import SUBSETS, Subset
from pipeline.core.release_params import RecordedParams

PROVENANCE_FILE = "provenance.jsonl"
# Item id -> provenance, for the items of one subset.
ProvenanceById = Mapping[str, Provenance]
# Property of an item that is compared -> a function that formats the property.
COMPARED_FIELDS: dict[str, Callable[[Provenance], str]] = {
    "label": lambda row: "UQ" if row.item.unanswerable else "AQ",
    "text": lambda row: row.item.text,
    "answer": lambda row: "no answer" if row.item.unanswerable else row.item.answer,
    "verdict": lambda row: f"{row.votes_invalid} invalid, {row.votes_valid} valid",
    "image": lambda row: row.item.image_id,
    "split": lambda row: row.item.split,
    "category": lambda row: row.item.category or "not known",
}


def compare_releases(old: Path, new: Path, list_items: bool = False) -> list[str]:
    """Return a report of the differences between two versions of a release, as lines of text.

    The report has the names of both versions. It states whether the licence, the canary and the errata
    differ. For each subset it has the number of items that were added, removed and changed.

    Args:
        old, new: The folders of the two versions.
        list_items: Whether to list also every added, removed and changed item.

    Raises:
        UserError: One of the folders is not the folder of a release, or both folders are the same.
    """
    if old.resolve() == new.resolve():
        raise UserError(f"{old}: both folders are the same; give two versions of a release")
    old_subsets, new_subsets = _read_both(old, new)
    lines = [f"{read_title(old)} -> {read_title(new)}", *_compare_metadata(old, new)]
    names: list[Subset] = [name for name in SUBSETS if name in old_subsets or name in new_subsets]
    table = [["", *count_changes({}, {})]]
    for name in names:
        counts = count_changes(old_subsets.get(name, {}), new_subsets.get(name, {}))
        table.append([name, *(f"{count:,}" for count in counts.values())])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *cells in table:
        rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *rest]).rstrip())
    for name in names if list_items else ():
        lines += _list_changes(name, old_subsets.get(name, {}), new_subsets.get(name, {}))
    return lines


def _read_both(old: Path, new: Path) -> list[dict[Subset, ProvenanceById]]:
    """Return the items of both releases, after checking that every file can be read.

    Raises:
        UserError: Files cannot be read. The message lists all these files.
    """
    problems, releases = (
        Problems("files that are needed for the comparison cannot be read"),
        list[dict[Subset, ProvenanceById]](),
    )
    for folder in (old, new):
        with problems.collect():
            releases.append(read_subsets(folder))
        # In a folder that is not a release, the other files are missing, too. They are not reported one by
        # one.
        for read in (
            (read_title, _read_licence, _read_canaries, _read_errata)
            if (folder / PROVENANCE_FILE).is_file()
            else ()
        ):
            with problems.collect():
                read(folder)
    problems.lines[:] = dict.fromkeys(problems.lines)
    if len(problems.lines) == 1:
        raise UserError(problems.lines)
    problems.raise_if_any()
    return releases


def count_changes(old: ProvenanceById, new: ProvenanceById) -> dict[str, int]:
    """Count the items of a subset that were added, removed, and changed in each property.

    The result also has the number of items in the old and in the new version.
    """
    return {
        "old": len(old),
        "new": len(new),
        "added": len(new.keys() - old.keys()),
        "removed": len(old.keys() - new.keys()),
        **{kind: sum(1 for _ in find_changed(old, new, kind)) for kind in COMPARED_FIELDS},
    }


def _list_changes(name: str, old: ProvenanceById, new: ProvenanceById) -> Iterator[str]:
    """Yield a line for every item of a subset that was added, removed or changed."""
    for word, ids, rows in (
        ("added", new.keys() - old.keys(), new),
        ("removed", old.keys() - new.keys(), old),
    ):
        for key in sorted(ids):
            yield f"{name}  {word}  {key}  {rows[key].item.text!r} ({COMPARED_FIELDS['answer'](rows[key])})"
    for kind in COMPARED_FIELDS:
        for key, old_value, new_value in find_changed(old, new, kind):
            yield f"{name}  {kind}  {key}  {old_value!r} -> {new_value!r}"


def find_changed(old: ProvenanceById, new: ProvenanceById, field: str) -> Iterator[tuple[str, str, str]]:
    """Yield (id, old value, new value) of every item whose value of a field differs, sorted by id.

    Only items that are in both versions are compared.
    """
    format_value = COMPARED_FIELDS[field]
    for key in sorted(old.keys() & new.keys()):
        if (old_value := format_value(old[key])) != (new_value := format_value(new[key])):
            yield key, old_value, new_value


def _compare_metadata(old: Path, new: Path) -> Iterator[str]:
    """Yield lines that state whether the licence, the canary and the errata are the same.

    The version in the licence is ignored. Each version has its own canary.
    """
    for name, read in (("licence", _read_licence), ("canary", _read_canaries), ("errata", _read_errata)):
        old_value, new_value = read(old), read(new)
        missing = [str(folder) for folder, value in ((old, old_value), (new, new_value)) if value is None]
        result = "the same" if old_value == new_value else "different"
        yield f"{name}: {'missing in ' + ' and '.join(missing) if missing else result}"


def read_subsets(folder: Path) -> dict[Subset, ProvenanceById]:
    """Return subset -> item id -> provenance of the item.

    Raises:
        UserError: The folder is not the folder of a release.
    """
    if not (folder / PROVENANCE_FILE).is_file():
        raise UserError(f"{folder}: not the folder of a release; expected data/release/<data set>/<version>")
    found: dict[Subset, dict[str, Provenance]] = {}
    try:
        for row in read_jsonl(folder / PROVENANCE_FILE, Provenance):
            found.setdefault(row.item.subset, {})[row.item.item_id] = row
    except UserError as error:
        raise UserError(
            f"{error}; the release may have been made by another version of the pipeline"
        ) from error
    return dict(found)


def read_title(folder: Path) -> str:
    """Return the data set and the version of a release."""
    record = read_json(folder / "params.json", RecordedParams)
    return f"{record.dataset} {record.version}"


def _read_licence(folder: Path) -> str | None:
    """Return the text of LICENSE without the version, or None if there is no such file."""
    path = folder / "LICENSE"
    if not os.path.lexists(path):
        return None
    version = read_json(folder / "params.json", RecordedParams).version
    with open_for_reading(path) as file:
        try:
            return file.read().decode().replace(version, "VERSION")
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 ({error}); download the release again") from error


def _read_canaries(folder: Path) -> set[str] | None:
    """Return the canaries of all rows, or None if there are no rows."""
    files = sorted((folder / "rgqa").glob("*.json"))
    return {row.canary for path in files for row in read_json(path, list[RgqaRow])} or None


def _read_errata(folder: Path) -> set[tuple[str, str]] | None:
    """Return the ids of faulty items with their faults, or None if the file does not exist."""
    path = folder / ERRATA_FILE
    if not os.path.lexists(path):
        return None
    return {(row.item_id, row.reason) for row in read_json(path, list[Erratum])}
