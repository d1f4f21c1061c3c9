"""What changed between two versions of a release: `rgqa diff`."""

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
ProvenanceById = Mapping[str, Provenance]  # of one subset, by id
# What of an item may have changed, and how it is told.
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
    """Lines: what the two are, what of them as a whole differs, of each subset how many items are new, gone and changed, and if
    `full` is set, which ones.

    Raises:
        UserError: one of them is no release's folder, or both are the same.
    """
    if old.resolve() == new.resolve():
        raise UserError(f"{old}: the same folder twice; name two versions of a release")
    before, after = _read_both(old, new)
    lines = [f"{read_title(old)} -> {read_title(new)}", *_compare_metadata(old, new)]
    names: list[Subset] = [name for name in SUBSETS if name in before or name in after]
    table = [["", *count_changes({}, {})]]
    for name in names:
        counts = count_changes(before.get(name, {}), after.get(name, {}))
        table.append([name, *(f"{count:,}" for count in counts.values())])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *cells in table:
        rest = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *rest]).rstrip())
    for name in names if list_items else ():
        lines += _list_changes(name, before.get(name, {}), after.get(name, {}))
    return lines


def _read_both(old: Path, new: Path) -> list[dict[Subset, ProvenanceById]]:
    """The items of both releases, once every file that is compared can be read.

    Raises:
        UserError: lists every file of either that cannot be read.
    """
    problems, found = Problems("what is compared cannot be read"), list[dict[Subset, ProvenanceById]]()
    for folder in (old, new):
        with problems.collect():
            found.append(read_subsets(folder))
        # A folder that is not a release lacks the other files, too.
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
    return found


def count_changes(old: ProvenanceById, new: ProvenanceById) -> dict[str, int]:
    """How many items of a subset are in either version, new, gone, and changed in each way."""
    return {
        "old": len(old),
        "new": len(new),
        "added": len(new.keys() - old.keys()),
        "gone": len(old.keys() - new.keys()),
        **{kind: sum(1 for _ in find_changed(old, new, kind)) for kind in COMPARED_FIELDS},
    }


def _list_changes(name: str, one: ProvenanceById, other: ProvenanceById) -> Iterator[str]:
    """Every item of a subset that is new, gone or changed."""
    for word, ids, rows in (
        ("added", other.keys() - one.keys(), other),
        ("gone", one.keys() - other.keys(), one),
    ):
        for key in sorted(ids):
            yield f"{name}  {word}  {key}  {rows[key].item.text!r} ({COMPARED_FIELDS['answer'](rows[key])})"
    for kind in COMPARED_FIELDS:
        for key, was, now in find_changed(one, other, kind):
            yield f"{name}  {kind}  {key}  {was!r} -> {now!r}"


def find_changed(old: ProvenanceById, new: ProvenanceById, field: str) -> Iterator[tuple[str, str, str]]:
    """Id, old and new value of what both have and what is not the same, by id."""
    told = COMPARED_FIELDS[field]
    for key in sorted(old.keys() & new.keys()):
        if (was := told(old[key])) != (now := told(new[key])):
            yield key, was, now


def _compare_metadata(old: Path, new: Path) -> Iterator[str]:
    """What differs of the whole: licence (but for the version that it names), canary (each version has its own), errata."""
    for name, read in (("licence", _read_licence), ("canary", _read_canaries), ("errata", _read_errata)):
        one, other = read(old), read(new)
        missing = [str(folder) for folder, value in ((old, one), (new, other)) if value is None]
        said = "the same" if one == other else "another"
        yield f"{name}: {'missing in ' + ' and '.join(missing) if missing else said}"


def read_subsets(folder: Path) -> dict[Subset, ProvenanceById]:
    """The items of a release by subset and id.

    Raises:
        UserError: it is no release's folder.
    """
    if not (folder / PROVENANCE_FILE).is_file():
        raise UserError(f"{folder}: no release's folder; wanted data/release/<data set>/<version>")
    found: dict[Subset, dict[str, Provenance]] = {}
    try:
        for row in read_jsonl(folder / PROVENANCE_FILE, Provenance):
            found.setdefault(row.item.subset, {})[row.item.item_id] = row
    except UserError as error:
        raise UserError(f"{error}; was the release made by another version of the pipeline?") from error
    return dict(found)


def read_title(folder: Path) -> str:
    """Data set and version of a release."""
    record = read_json(folder / "params.json", RecordedParams)
    return f"{record.dataset} {record.version}"


def _read_licence(folder: Path) -> str | None:
    """The text of LICENSE but for the version; None where there is none."""
    path = folder / "LICENSE"
    if not os.path.lexists(path):
        return None
    version = read_json(folder / "params.json", RecordedParams).version
    with open_for_reading(path) as file:
        try:
            return file.read().decode().replace(version, "VERSION")
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not UTF-8 ({error}); get the release again") from error


def _read_canaries(folder: Path) -> set[str] | None:
    """The canaries of all rows; None where there are no rows."""
    files = sorted((folder / "rgqa").glob("*.json"))
    return {row.canary for path in files for row in read_json(path, list[RgqaRow])} or None


def _read_errata(folder: Path) -> set[tuple[str, str]] | None:
    """Items and what is wrong with them; None if the file does not exist."""
    path = folder / ERRATA_FILE
    if not os.path.lexists(path):
        return None
    return {(row.item_id, row.reason) for row in read_json(path, list[Erratum])}
