"""Known faults of items: kept with the data set, told by the next release, and left out by `score` if that is asked for."""

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
    """A fault of an item, in every subset that has it. `version`: of the release in which it was found."""

    item_id: str
    reason: str
    version: str


def read_errata(folders: DatasetFolders) -> tuple[Erratum, ...]:
    """The errata of a data set, by id; none where there is no file."""
    path = folders.errata / ERRATA_FILE
    return read_json(path, tuple[Erratum, ...]) if os.path.lexists(path) else ()


def add_erratum(folders: DatasetFolders, version: str, item_id: str, reason: str) -> Path:
    """Note a fault of an item of the version in work; return the file.

    Raises:
        UserError: there is no such item, it is there already, or there is no reason.
    """
    reason, known = " ".join(reason.split()), read_errata(folders)
    if not reason:
        raise UserError(f"{item_id}: no reason given; say what is wrong with it")
    if not any(item.item_id == item_id for item in folders.read_records(Item)):
        raise UserError(
            f"{item_id}: no such item of the data set {folders.dataset!r}; ids look like 201669520 or "
            "clipeasy_n460556+202082119 (`item_id` in a release's tables)"
        )
    if before := [row for row in known if row.item_id == item_id]:
        raise UserError(f"{item_id}: is there already, since {before[0].version}: {before[0].reason}")
    path = folders.errata / ERRATA_FILE
    new = Erratum(item_id=item_id, reason=reason, version=version)
    write_json(path, sorted((*known, new), key=lambda row: row.item_id))
    return path


def remove_erratum(folders: DatasetFolders, item_id: str) -> Path:
    """Take back what was noted of an item; return the file, which is deleted with its last entry.

    So `add` and `remove` together leave the folder as it was, and no stage that depends on it is stale.

    Raises:
        UserError: nothing is noted of it.
    """
    known = read_errata(folders)
    if not any(row.item_id == item_id for row in known):
        there = ", ".join(row.item_id for row in known) or "none"
        raise UserError(f"{item_id}: nothing is noted of it; items that are: {there}")
    path = folders.errata / ERRATA_FILE
    if left := [row for row in known if row.item_id != item_id]:
        write_json(path, left)
    else:
        path.unlink()
    return path


def render_errata(title: str, errata: Sequence[Erratum], ids: Collection[str]) -> str:
    """ERRATA.md: what is wrong with items of the release, and which faulty ones are gone from it.

    Args:
        ids: of the release's items.
    """
    lines = [f"# Errata of {escape_markdown(title)}", ""]
    here = [row for row in errata if row.item_id in ids]
    gone = [row for row in errata if row.item_id not in ids]
    if not here:
        lines += ["None known. Items found faulty are listed here by `item_id`, with the reason.", ""]
    else:
        lines += [
            f"`rgqa-score . FILE --exclude-errata auto` leaves them out. The same list for programs: `{ERRATA_FILE}`.",
            "",
        ]
    for rows, head in ((here, ""), (gone, "Found in earlier versions, and no longer in this one:")):
        if rows:
            lines += [*([head, ""] if head else []), "| item | found in | what is wrong |", "|---|---|---|"]
            lines += [
                f"| {format_code_span(row.item_id)} | {escape_markdown(row.version)} | {escape_markdown(row.reason)} |"
                for row in rows
            ] + [""]
    return "\n".join(lines)
