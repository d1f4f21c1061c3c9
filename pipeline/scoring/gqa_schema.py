"""Check the fields of GQA's questions and choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def _is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_string_mapping(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict) and all(isinstance(text, str | None) for text in value.values())
    )


def _is_program(value: Any) -> bool:
    return value is None or (
        isinstance(value, list)
        and all(isinstance(step, dict) and {"operation", "argument"} <= step.keys() for step in value)
    )


# Field of a question -> the type in words, and a function that returns whether a value is valid.
FIELD_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "answer": ("a string", lambda value: isinstance(value, str)),
    "types": ("an object of strings", _is_string_mapping),
    "groups": ("an object of strings", _is_string_mapping),
    "entailed": ("a list of ids", lambda value: value is None or _is_string_list(value)),
    "semantic": ("a list of objects with operation and argument", _is_program),
    "isBalanced": ("true or false", lambda value: isinstance(value, bool)),
}


def find_question_faults(questions: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the faults of each question."""
    for name, question in questions.items():
        for field, (wanted, fits) in FIELD_CHECKS.items():
            if field in question and not fits(question[field]):
                yield f"question {name}: {field} is {question[field]!r:.60}, expected {wanted}"


def has_answer(question: Any) -> bool:
    """Return whether a record is a question with a correct answer."""
    return isinstance(question, dict) and isinstance(question.get("answer"), str)


def is_choices_record(choices: Any) -> bool:
    """Return whether a record has the structure of GQA's choices of a question."""
    return isinstance(choices, dict) and all(map(_is_string_list, choices.values()))
