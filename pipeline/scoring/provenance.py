"""Read the fields of a release's items from its provenance.jsonl."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import UserError, format_count
from .input_validation import parse_json_lines

# Fields with the types of a question, with the names that GQA uses.
QUESTION_TYPE_FIELDS = ("structural", "semantic", "detailed")
STRING_FIELDS = (*QUESTION_TYPE_FIELDS, "split", "category", "difficulty", "pair_id")
PARAMS_FILE, PROVENANCE_FILE = RELEASE_METADATA_FILES = ("params.json", "provenance.jsonl")
ALLOWED_SPLITS = (None, "", "validation", "test")


def path_exists(path: Path) -> bool:
    """Return whether a path exists, including broken links.

    A release may lack the file. But if there is a broken link or a folder in its place, reading must report
    that.
    """
    return os.path.lexists(path)


def parse_provenance(data: bytes, path: Path) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Parse provenance.jsonl.

    Returns:
        Subset -> item id -> record of the item.

    Raises:
        UserError: Lists every line that is not the provenance of an item, and every duplicate item.
    """
    details: dict[str, dict[str, Mapping[str, Any]]] = {}
    problems: list[str] = []
    for number, row in parse_json_lines(data, path):
        item = row.get("item") if isinstance(row, dict) else None
        if not isinstance(item, dict) or {type(item.get(key)) for key in ("subset", "item_id")} != {str}:
            problems.append(f"line {number}: not an item's provenance, expected item with subset and item_id")
            continue
        known, name = details.setdefault(item["subset"], {}), item["item_id"]
        faults = [*_find_item_faults(item), *(["duplicate item"] if name in known else [])]
        problems += [f"line {number} ({item['subset']}'s item {name}): {fault}" for fault in faults]
        known[name] = item
    if problems:
        raise UserError([f"{path}: {format_count(len(problems), 'fault')}", *problems])
    return details


def _find_item_faults(item: Mapping[str, Any]) -> Iterator[str]:
    for name in STRING_FIELDS:
        if (value := item.get(name)) is not None and not isinstance(value, str):
            yield f"{name} is {value!r}, expected a string"
        elif name == "split" and value not in ALLOWED_SPLITS:
            yield f"split is {value!r}, expected validation or test"
    edits = item.get("edits", [])
    if not isinstance(edits, list) or not all(
        isinstance(edit, dict) and isinstance(edit.get("kind"), str) for edit in edits
    ):
        yield f"edits is {edits!r:.80}, expected a list of objects with kind"
