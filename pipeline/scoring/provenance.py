"""Read the fields of a release's items from its provenance.jsonl."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..core.errors import UserError, format_count
from .input_validation import parse_json_lines
from .items import Fault

# Fields with the types of a question, with the names that GQA uses.
QUESTION_TYPE_FIELDS = ("structural", "semantic", "detailed")
STRING_FIELDS = (*QUESTION_TYPE_FIELDS, "split", "category", "difficulty", "pair_id")
PARAMS_FILE, PROVENANCE_FILE = RELEASE_METADATA_FILES = ("params.json", "provenance.jsonl")
# Categories of UQs with a false presupposition.
FAULT_CATEGORIES = ("missing object", "wrong attribute", "wrong relation")
# Names in programs that stand for any object.
_ANY_NAMES = frozenset({"", "_", "scene", "it", "they", "this", "that", "object", "thing", "item"})
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
        Subset -> item id -> record of the item, with the functional program of its question as `program`.

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
        if program := row.get("program"):
            item["program"] = program
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
        isinstance(edit, dict)
        and isinstance(edit.get("kind"), str)
        and all(isinstance(edit.get(key, ""), str) for key in ("old", "new"))
        for edit in edits
    ):
        yield f"edits is {edits!r:.80}, expected a list of objects with kind, old and new as texts"


def find_false_presuppositions(item: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Return what an unanswerable question presupposes wrongly, from the provenance of its item.

    Each edit of a question is a fault. For a question about another image, which was not edited, the fault is one of the
    objects that the question names, if its category is "missing object". The faults of all other questions are
    unknown: questions of other categories, query-only questions ("nothing" may be their answer), and edits that insert "not".

    Returns:
        The possible faults, of which at least one is wrong; () if not known.

    >>> find_false_presuppositions({"unanswerable": True, "edits": [{"kind": "object", "old": "cat", "new": "dog"}]})
    (Fault(kind='object', wrong='dog', actual='cat'),)
    """
    category = item.get("category")
    if not item.get("unanswerable") or item.get("query_only") or category not in (None, *FAULT_CATEGORIES):
        return ()
    if edits := item.get("edits"):
        found = (
            Fault(edit["kind"], edit.get("new", ""), _without_negation(edit.get("old", ""))) for edit in edits
        )
        return tuple(fault for fault in found if fault.wrong and _without_negation(fault.wrong))
    if category != "missing object":
        return ()
    return tuple(Fault("object", name) for name in dict.fromkeys(_iter_named_objects(item.get("program"))))


def _without_negation(text: str) -> str:
    return "" if "not" in text.lower().split() else text


def _iter_named_objects(program: Any) -> Iterator[str]:
    """Yield the names of the objects in a functional program, such as "table" for "table,on,s (12)"."""
    for step in program if isinstance(program, list) else ():
        if not isinstance(step, dict):
            continue
        operation, argument = (str(step.get(key, "")) for key in ("operation", "argument"))
        name = argument.partition("(")[0].partition(",")[0].strip()
        if operation in ("select", "relate", "verify rel", "choose rel") and name not in _ANY_NAMES:
            yield name
