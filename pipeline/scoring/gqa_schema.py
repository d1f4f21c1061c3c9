"""Are GQA's questions and choices what the scores take them for?"""

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


# What a question's fields must be, as far as it has them, and whether a value is.
FIELD_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "answer": ("a text", lambda value: isinstance(value, str)),
    "types": ("an object of texts", _is_string_mapping),
    "groups": ("an object of texts", _is_string_mapping),
    "entailed": ("a list of ids", lambda value: value is None or _is_string_list(value)),
    "semantic": ("a list of objects with operation and argument", _is_program),
    "isBalanced": ("true or false", lambda value: isinstance(value, bool)),
}


def find_question_faults(questions: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with any question, by its id."""
    for name, question in questions.items():
        for field, (wanted, fits) in FIELD_CHECKS.items():
            if field in question and not fits(question[field]):
                yield f"question {name}: {field} is {question[field]!r:.60}, wanted {wanted}"


def has_answer(question: Any) -> bool:
    """Is it a question with a right answer?"""
    return isinstance(question, dict) and isinstance(question.get("answer"), str)


def is_choices_record(choices: Any) -> bool:
    """Is it what GQA has of a question's choices?"""
    return isinstance(choices, dict) and all(map(_is_string_list, choices.values()))
