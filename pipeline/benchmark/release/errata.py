"""Record known faults of items (errata).

Errata are kept with the data set and listed in the next release. Faulty items can be excluded from scoring.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path

from pipeline.core.errors import UserError
from pipeline.core.json_files import read_json, write_json
from pipeline.core.paths import DatasetFolders
from pipeline.core.records import Item, Record
from pipeline.core.rendering import escape_markdown, format_code_span

ERRATA_FILE = "errata.json"


class Erratum(Record):
    """A fault of an item, in every subset that contains it.

    Attributes:
        item_id: The id of the item.
        reason: What is wrong with the item.
        version: The version of the release in which the fault was found.
    """

    item_id: str
    reason: str
    version: str


def read_errata(folders: DatasetFolders) -> tuple[Erratum, ...]:
    """Return the errata of a data set, sorted by item id. The result is () if there is no file."""
    path = folders.errata / ERRATA_FILE
    return read_json(path, tuple[Erratum, ...]) if os.path.lexists(path) else ()


def add_erratum(folders: DatasetFolders, version: str, item_id: str, reason: str) -> Path:
    """Add an erratum for an item of the current version.

    Returns:
        The file with the errata.

    Raises:
        UserError: The item does not exist or already has an erratum, or the reason is empty.
    """
    reason, known = " ".join(reason.split()), read_errata(folders)
    if not reason:
        raise UserError(f"{item_id}: the reason is empty; state what is wrong with the item")
    if not any(item.item_id == item_id for item in folders.read_records(Item)):
        raise UserError(
            f"{item_id}: no such item in the data set {folders.dataset!r}; ids look like 201669520 or "
            "clipeasy_n460556+202082119 (column `item_id` in the tables of a release)"
        )
    if before := [row for row in known if row.item_id == item_id]:
        raise UserError(
            f"{item_id}: already has an erratum, since version {before[0].version}: {before[0].reason}"
        )
    return add_errata(folders, [Erratum(item_id=item_id, reason=reason, version=version)])[0]


def add_errata(folders: DatasetFolders, new: Sequence[Erratum]) -> tuple[Path, int]:
    """Add errata of items that are known to exist. An item that already has an erratum keeps it.

    Returns:
        The file with the errata, and the number of errata that were added.
    """
    path, known = folders.errata / ERRATA_FILE, read_errata(folders)
    added = [row for row in new if row.item_id not in {old.item_id for old in known}]
    if added:
        write_json(path, sorted((*known, *added), key=lambda row: row.item_id))
    return path, len(added)


def remove_erratum(folders: DatasetFolders, item_id: str) -> Path:
    """Remove the erratum of an item.

    The file is deleted with its last entry. So the folder is restored if an erratum is added and removed
    again, and no stage that depends on the folder becomes stale.

    Returns:
        The file with the errata.

    Raises:
        UserError: The item has no erratum.
    """
    known = read_errata(folders)
    if not any(row.item_id == item_id for row in known):
        known_ids = ", ".join(row.item_id for row in known) or "none"
        raise UserError(f"{item_id}: has no erratum; items with an erratum: {known_ids}")
    path = folders.errata / ERRATA_FILE
    if left := [row for row in known if row.item_id != item_id]:
        write_json(path, left)
    else:
        path.unlink()
    return path


def render_errata(title: str, errata: Sequence[Erratum], ids: Collection[str]) -> str:
    """Return the text of ERRATA.md.

    It lists the faulty items of the release, and faulty items of earlier versions that the release does not
    contain.

    Args:
        title: Title and version of the release.
        errata: All errata of the data set.
        ids: The ids of the items of the release.
    """
    lines = [f"# Errata of {escape_markdown(title)}", ""]
    present = [row for row in errata if row.item_id in ids]
    removed = [row for row in errata if row.item_id not in ids]
    if not present:
        lines += ["None known. Faulty items will be listed here by `item_id`, with the reason.", ""]
    else:
        lines += [
            f"`rgqa-score . FILE --exclude-errata auto` excludes these items. `{ERRATA_FILE}` has the same list in"
            " machine-readable form.",
            "",
        ]
    for rows, head in ((present, ""), (removed, "Found in earlier versions and no longer in this one:")):
        if rows:
            lines += [*([head, ""] if head else []), "| item | found in version | fault |", "|---|---|---|"]
            lines += [
                f"| {format_code_span(row.item_id)} | {escape_markdown(row.version)} | {escape_markdown(row.reason)} |"
                for row in rows
            ] + [""]
    return "\n".join(lines)
