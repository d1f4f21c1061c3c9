"""Tasks whose two verdicts are known: a training that tells after each answer what is right and why, and a test.

The questions are filter questions of the tasks that go out last, which few people ever get. Both may be valid, both invalid, or
one of each: one of them tells nothing of the other. What is shown in the browser looks like any task; its answers are no verdicts.
Pure: tasks come in, plain mappings for `study/queue.json` go out. How answers are marked: `annotation.study.qualification`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from annotation.study.qualification import MAX_ATTEMPTS
from pipeline.core.errors import UserError, format_count
from pipeline.core.json_files import content_hash
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import Task, TaskQuestion

KnownTask = dict[str, Any]
OfferedQuestions = dict[str, list[TaskQuestion]]  # image id -> its known questions


def build_known_tasks(
    tasks: Iterable[Task], images: Mapping[str, str], num_training: int, num_test: int, seed: int
) -> list[KnownTask]:
    """`training` tasks, then `test` tasks for each try, every part with pairs of all three kinds as far as images have them.

    Every image serves once; templates, which are known at sight, only where it has nothing else.

    Args:
        images: image id -> its address.

    Raises:
        UserError: there are not so many images with two known questions.
    """
    parts = [num_training, *[num_test] * MAX_ATTEMPTS]
    offers = _collect_offers(tasks, seed)
    if len(offers) < sum(parts):
        raise UserError(
            f"training: {format_count(sum(parts), 'image')} wanted (annotate.training {num_training}, {MAX_ATTEMPTS} times annotate.test {num_test}), but only "
            f"{len(offers)} have two questions with a known verdict; ask for fewer, or make more tasks first"
        )
    known: list[KnownTask] = []
    for size in parts:
        same = round(size / 4)
        pairs = [("invalid", "invalid"), ("valid", "valid")] * same + [("valid", "invalid")] * (
            size - 2 * same
        )
        rows = [_build_known_task(*_take_pair(offers, *pair), images, seed) for pair in pairs]
        known += sorted(rows, key=lambda row: hash_uniform(str(seed), "training", row["key"]))
    return known


def _collect_offers(tasks: Iterable[Task], seed: int) -> OfferedQuestions:
    """Images with two known questions or more: first those whose tasks go out last, then by lot; so are the questions."""
    found: dict[str, dict[str, TaskQuestion]] = defaultdict(dict)
    first: dict[str, int] = {}  # block in which an image is asked of
    for task in tasks:
        first[task.image_id] = min(task.priority_block, first.get(task.image_id, task.priority_block))
        for row in (task.first, task.second):
            if row.role == "filter":
                found[task.image_id].setdefault(row.text, row)
    offers: OfferedQuestions = {}
    for key in sorted(found, key=lambda key: (-first[key], hash_uniform(str(seed), "training", key))):
        rows = sorted(found[key].values(), key=lambda row: hash_uniform(str(seed), "training", key, row.text))
        alike = [row for row in rows if row.gold_source != "template"]
        if len(rows) > 1:
            offers[key] = alike if len(alike) > 1 else rows
    return offers


def _take_pair(offers: OfferedQuestions, *verdicts: str) -> tuple[str, Sequence[TaskQuestion]]:
    """Take out of `offers` the first image with two questions of these verdicts; if none has them, any two of the first."""
    fits = (
        (key, pair)
        for key, rows in offers.items()
        for pair in combinations(rows, 2)
        if sorted(row.expected_choice or "" for row in pair) == sorted(verdicts)
    )
    key, pair = next(fits, None) or next((key, rows[:2]) for key, rows in offers.items())
    del offers[key]
    return key, pair


def _build_known_task(
    image_id: str, pair: Sequence[TaskQuestion], images: Mapping[str, str], seed: int
) -> KnownTask:
    """A row of queue.json's `known`, its questions in an order by lot."""
    first, second = sorted(
        pair, key=lambda row: hash_uniform(str(seed), "training", "first", image_id, row.text)
    )
    key = content_hash("training", image_id, first.text, second.text)
    asked = {
        name: {"text": row.text, "expected": row.expected_choice, "why": explain_verdict(row)}
        for name, row in (("first", first), ("second", second))
    }
    return {"key": key, "image": images[image_id], **asked}


def explain_verdict(question: TaskQuestion) -> str:
    """In words why the verdict of a filter question is as it is.

    >>> why(TaskQuestion(key="", text="What color is the dog?", role="filter", expected="invalid", why="no dog in the image"))
    'It has no answer here: no dog in the image.'
    """
    known = question.gold_explanation
    if question.expected_choice == "invalid":
        return f"It has no answer here: {known or 'it takes something for granted that is not so'}."
    return f"It has an answer: {known}." if known else "It has an answer, and only one is right."
