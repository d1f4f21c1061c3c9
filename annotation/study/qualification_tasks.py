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

from annotation.study.qualification import TRIES
from pipeline.core.errors import UserError, counted
from pipeline.core.json_files import content_key
from pipeline.core.randomness import lot
from pipeline.core.records import Task, TaskQuestion

Known = dict[str, Any]
Offers = dict[str, list[TaskQuestion]]  # picture id -> its known questions


def known_tasks(
    tasks: Iterable[Task], images: Mapping[str, str], training: int, test: int, seed: int
) -> list[Known]:
    """`training` tasks, then `test` tasks for each try, every part with pairs of all three kinds as far as pictures have them.

    Every picture serves once; templates, which are known at sight, only where it has nothing else.

    Args:
        images: picture id -> its address.

    Raises:
        UserError: there are not so many pictures with two known questions.
    """
    parts = [training, *[test] * TRIES]
    offers = _offers(tasks, seed)
    if len(offers) < sum(parts):
        raise UserError(
            f"training: {counted(sum(parts), 'picture')} wanted (annotate.training {training}, {TRIES} times annotate.test {test}), but only "
            f"{len(offers)} have two questions with a known verdict; ask for fewer, or make more tasks first"
        )
    known: list[Known] = []
    for size in parts:
        same = round(size / 4)
        pairs = [("invalid", "invalid"), ("valid", "valid")] * same + [("valid", "invalid")] * (
            size - 2 * same
        )
        rows = [_known(*_draw(offers, *pair), images, seed) for pair in pairs]
        known += sorted(rows, key=lambda row: lot(str(seed), "training", row["key"]))
    return known


def _offers(tasks: Iterable[Task], seed: int) -> Offers:
    """Pictures with two known questions or more: first those whose tasks go out last, then by lot; so are the questions."""
    found: dict[str, dict[str, TaskQuestion]] = defaultdict(dict)
    first: dict[str, int] = {}  # block in which a picture is asked of
    for task in tasks:
        first[task.picture_id] = min(task.block, first.get(task.picture_id, task.block))
        for row in (task.first, task.second):
            if row.role == "filter":
                found[task.picture_id].setdefault(row.text, row)
    offers: Offers = {}
    for key in sorted(found, key=lambda key: (-first[key], lot(str(seed), "training", key))):
        rows = sorted(found[key].values(), key=lambda row: lot(str(seed), "training", key, row.text))
        alike = [row for row in rows if row.source != "template"]
        if len(rows) > 1:
            offers[key] = alike if len(alike) > 1 else rows
    return offers


def _draw(offers: Offers, *verdicts: str) -> tuple[str, Sequence[TaskQuestion]]:
    """Take out of `offers` the first picture with two questions of these verdicts; if none has them, any two of the first."""
    fits = (
        (key, pair)
        for key, rows in offers.items()
        for pair in combinations(rows, 2)
        if sorted(row.expected or "" for row in pair) == sorted(verdicts)
    )
    key, pair = next(fits, None) or next((key, rows[:2]) for key, rows in offers.items())
    del offers[key]
    return key, pair


def _known(picture_id: str, pair: Sequence[TaskQuestion], images: Mapping[str, str], seed: int) -> Known:
    """A row of queue.json's `known`, its questions in an order by lot."""
    first, second = sorted(pair, key=lambda row: lot(str(seed), "training", "first", picture_id, row.text))
    key = content_key("training", picture_id, first.text, second.text)
    asked = {
        name: {"text": row.text, "expected": row.expected, "why": why(row)}
        for name, row in (("first", first), ("second", second))
    }
    return {"key": key, "image": images[picture_id], **asked}


def why(question: TaskQuestion) -> str:
    """In words why the verdict of a filter question is as it is.

    >>> why(TaskQuestion(key="", text="What color is the dog?", role="filter", expected="invalid", why="no dog in the picture"))
    'It has no answer here: no dog in the picture.'
    """
    known = question.why
    if question.expected == "invalid":
        return f"It has no answer here: {known or 'it takes something for granted that is not so'}."
    return f"It has an answer: {known}." if known else "It has an answer, and only one is right."
