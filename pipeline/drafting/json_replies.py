"""Read the JSON in a model's reply, also if the reply is damaged.

Models put fences, comments and prose around JSON, leave commas at the end of lists, and are cut off in the middle. Everything
before the first fault that cannot be repaired is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

from pipeline.scoring.abstention import is_abstention
from pipeline.scoring.normalize import has_text
from pipeline.scoring.reasoning_parser import extract_final_answer

ReplyFault = Literal["empty reply", "refusal", "no JSON", "only reasoning"]
# A brace in prose may come before the JSON, so parsing starts at most at this many braces or brackets.
MAX_STARTS = 50
# Every request for JSON is of this kind. The request decides whether a reply is a refusal.
REQUEST = "What does the picture show?"
# Longer replies are runaways. The rest is ignored.
MAX_CHARACTERS = 400_000
# Strings, or parts outside of strings that JSON does not allow: comments, a comma before a closing bracket, and the
# constants of Python and JavaScript.
_REPAIRED_PARTS = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\.)*")|(?P<comment>//[^\n]*|/\*.*?\*/|(?<=\s)\#[^\n]*)|(?P<comma>,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[\]}]))"""
    r"|(?P<constant>\b(?:True|False|None|NaN|undefined|-?Infinity)\b)",
    re.DOTALL,
)
_CONSTANTS = {"True": "true", "False": "false"}
# Python refuses integers of thousands of digits.
MAX_INTEGER_DIGITS = 18


class JsonReply(NamedTuple):
    """The JSON of a reply.

    Attributes:
        value: The object; {} if there is none.
        fault: Why there is no object; "" if there is one.
        is_damaged: Whether the object is only the part of the reply before a fault, such as the end of a truncated reply.
    """

    value: Mapping[str, Any]
    fault: ReplyFault | Literal[""] = ""
    is_damaged: bool = False


def read_json_reply(text: str, keys: Collection[str]) -> JsonReply:
    """Return the first JSON object in a reply that has an expected key.

    A list of objects or questions in place of the object is accepted, too.

    Args:
        text: The reply of a model.
        keys: The keys that the object should have. At least one of them must be there.

    >>> read_json_reply('Sure!\\n```json\\n{"objects": [{"name": "cup",}, // red\\n{"name": "ta', ["objects"])
    JsonReply(value={'objects': [{'name': 'cup'}, {}]}, fault='', is_damaged=True)
    >>> read_json_reply("I cannot help with that.", ["objects"]).fault
    'refusal'
    """
    answer = extract_final_answer(text[:MAX_CHARACTERS])
    said = answer.text
    if not has_text(said):
        return JsonReply({}, "only reasoning" if has_text(text) else "empty reply")
    # Most replies are valid, and repairs could only harm them.
    if value := _to_object(_decode(said, _find_start(said)), keys):
        return JsonReply(value)
    repaired = repair_json(said)
    starts = [found.start() for found in re.finditer(r"[{\[]", repaired)][:MAX_STARTS]
    # What is left of an outer object comes before a whole object in it.
    for start in starts:
        for decode in (_decode, _decode_part):
            if value := _to_object(decode(repaired, start), keys):
                return JsonReply(value, is_damaged=decode is _decode_part)
    return JsonReply({}, "no JSON" if starts or not is_abstention(said, REQUEST) else "refusal")


def repair_json(text: str) -> str:
    """Remove comments and commas that JSON does not allow, and replace constants of other languages.

    >>> repair_json('{"a": True, "b": "// no comment", /* c */ "d": [1, None,],}')
    '{"a": true, "b": "// no comment",  "d": [1, null]}'
    """

    def replace(found: re.Match[str]) -> str:
        if string := found["string"]:
            return string
        return _CONSTANTS.get(found["constant"], "null") if found["constant"] else ""

    return _REPAIRED_PARTS.sub(replace, text)


def _find_start(text: str) -> int:
    """Return the position of the first brace or bracket; 0 if there is none."""
    found = re.search(r"[{\[]", text)
    return found.start() if found else 0


def _decode(text: str, start: int) -> Any:
    """Return the value that starts at a position; None if it is not valid JSON."""
    decoder = json.JSONDecoder(strict=False, parse_int=_parse_integer)
    try:
        return decoder.raw_decode(text, start)[0]
    # RecursionError: deep nesting.
    except (ValueError, RecursionError):
        return None


def _decode_part(text: str, start: int) -> Any:
    """Return the part of a value before the first fault; None if nothing of it can be read."""
    from pydantic_core import from_json

    part = text[start:]
    for _ in range(2):
        try:
            return from_json(part, allow_partial=True)
        except ValueError as error:
            if not (found := re.search(r"at line (\d+) column (\d+)", str(error))):
                return None
            # The column counts bytes.
            lines = part.split("\n")[: int(found[1])]
            lines[-1] = lines[-1].encode()[: max(int(found[2]) - 1, 0)].decode(errors="ignore")
            part = "\n".join(lines)
    return None


def _parse_integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else float(digits)


def _to_object(value: Any, keys: Collection[str]) -> Mapping[str, Any] | None:
    """Return an object with an expected key; None if the value is no such object."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        # A list of questions, a list of objects, or the expected object in a list.
        value = (
            {"questions": value}
            if "question" in value[0]
            else {"objects": value}
            if "name" in value[0] and "name" not in keys
            else value[0]
        )
    return value if isinstance(value, dict) and any(key in value for key in keys) else None
