"""Build training and qualification tasks. The correct choices of both questions of these tasks are known.

After each training task, annotators see which choices are correct and why. The questions are gold questions
that no task contains. If there are too few of them, gold questions of the tasks with the lowest priority are
used, too, and annotators who have seen them do not get these tasks. The questions of a task can be both valid,
both invalid, or one of each, so that one question gives no hint about the other. In the browser, these tasks
look like all other tasks. Answers to these tasks are not verdicts.

The result is stored in `study/queue.json`. `annotation.study.qualification` selects the tasks of an annotator
and scores the answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from annotation.study.assignment_params import get_unconfirmed_key
from annotation.study.qualification import MAX_ATTEMPTS
from pipeline.core.errors import UserError
from pipeline.core.json_files import content_hash
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import SpareGoldQuestion, Task, TaskQuestion

# Maximum number of tests of which the pool of test tasks consists, so that people get different tests.
MAX_TESTS_IN_POOL = 6
# Smallest proportion of valid and of invalid questions in the training and in each test.
MIN_KIND_PROPORTION = 0.35
KnownTask = dict[str, Any]
# Image id -> its gold questions.
OfferedQuestions = dict[str, list[TaskQuestion]]


def build_known_tasks(
    tasks: Iterable[Task],
    images: Mapping[str, str],
    num_training: int,
    num_test: int,
    seed: int,
    spare: Iterable[SpareGoldQuestion] = (),
) -> list[KnownTask]:
    """Build the training tasks, followed by the pool of test tasks.

    The pool consists of several tests, from which `annotation.study.qualification.select_tasks` composes the
    test of each annotator. If the images allow it, a quarter of the tasks in each part (training, each test) has
    two valid questions, a quarter has two invalid questions, and half have one of each. Each image is used once.
    Template questions are easy to recognize, so they are used only if an image has no other gold questions, or none of
    one kind (valid or invalid).

    Args:
        tasks: The annotation tasks.
        images: Image id -> URL of the image.
        num_training: Number of training tasks.
        num_test: Number of tasks in each attempt at the qualification test.
        seed: Seed of the random choices.
        spare: Gold questions that no task contains. They are used first.

    Raises:
        UserError: Too few images have two gold questions.
    """
    offers = _collect_spare_offers(spare, seed)
    num_spare_tests = (len(offers) - num_training) // num_test if num_test else 0
    # Questions that annotators must confirm need several people who take the same test.
    if any(get_unconfirmed_key(key, row) for key, rows in offers.items() for row in rows):
        num_spare_tests = 0
    num_tests = max(MAX_ATTEMPTS, min(num_spare_tests, MAX_TESTS_IN_POOL))
    sizes = [num_training, *[num_test] * num_tests]
    offers |= {key: rows for key, rows in _collect_offers(tasks, seed).items() if key not in offers}
    if len(offers) < sum(sizes):
        raise UserError(
            f"too few images with two gold questions: {len(offers)} of {sum(sizes)} (annotate.training_tasks {num_training} plus "
            f"{MAX_ATTEMPTS} times annotate.qualification_tasks {num_test}). Lower these parameters, or make more tasks first"
        )
    known: list[KnownTask] = []
    for size in sizes:
        same = round(size / 4)
        pairs = [("invalid", "invalid"), ("valid", "valid")] * same + [("valid", "invalid")] * (
            size - 2 * same
        )
        known += [_build_known_task(*_take_pair(offers, *pair), images, seed) for pair in pairs]
    return known


def _collect_spare_offers(spare: Iterable[SpareGoldQuestion], seed: int) -> OfferedQuestions:
    """Return the images that have two gold questions which no task contains, in random order."""
    found: dict[str, list[TaskQuestion]] = defaultdict(list)
    for row in spare:
        found[row.image_id].append(row.question)
    return {
        key: sorted(found[key], key=lambda row: hash_uniform(str(seed), "training", key, row.text))
        for key in sorted(found, key=lambda key: hash_uniform(str(seed), "training", key))
        if len(found[key]) > 1
    }


def _collect_offers(tasks: Iterable[Task], seed: int) -> OfferedQuestions:
    """Return images with at least two gold questions, lowest priority first, then at random.

    The questions of an image are in random order.
    """
    found: dict[str, dict[str, TaskQuestion]] = defaultdict(dict)
    # Image id -> the first block that has a task with the image.
    first: dict[str, int] = {}
    for task in tasks:
        first[task.image_id] = min(task.priority_block, first.get(task.image_id, task.priority_block))
        for row in (task.first, task.second):
            if row.role == "gold":
                found[task.image_id].setdefault(row.text, row)
    offers: OfferedQuestions = {}
    for key in sorted(found, key=lambda key: (-first[key], hash_uniform(str(seed), "training", key))):
        rows = sorted(found[key].values(), key=lambda row: hash_uniform(str(seed), "training", key, row.text))
        others = [row for row in rows if "template" not in row.gold_source]
        kinds, other_kinds = ({row.expected_choice for row in group} for group in (rows, others))
        if len(rows) > 1:
            offers[key] = others if len(others) > 1 and kinds == other_kinds else rows
    return offers


def _take_pair(offers: OfferedQuestions, *verdicts: str) -> tuple[str, Sequence[TaskQuestion]]:
    """Remove and return the first image with two questions of the given verdicts, and the two questions.

    If there is no such image, the first image with one question of each kind is used, and otherwise the first
    image with any two questions.
    """

    def find(wanted: Sequence[str]) -> tuple[str, Sequence[TaskQuestion]] | None:
        fits = (
            (key, pair)
            for key, rows in offers.items()
            for pair in combinations(rows, 2)
            if sorted(row.expected_choice or "" for row in pair) == sorted(wanted)
        )
        return next(fits, None)

    found = find(verdicts) or find(("invalid", "valid"))
    key, pair = found or next((key, rows[:2]) for key, rows in offers.items())
    del offers[key]
    return key, pair


def find_rare_kind(known: Iterable[KnownTask]) -> str:
    """Return the choice that is correct for less than `MIN_KIND_PROPORTION` of the questions; "" if none is."""
    expected = [row[side]["expected"] for row in known for side in ("first", "second")]
    return next(
        (
            kind
            for kind in ("invalid", "valid")
            if expected and expected.count(kind) < MIN_KIND_PROPORTION * len(expected)
        ),
        "",
    )


def _build_known_task(
    image_id: str, pair: Sequence[TaskQuestion], images: Mapping[str, str], seed: int
) -> KnownTask:
    """Return an entry of `known_tasks` in queue.json. The two questions are in random order."""
    first, second = sorted(
        pair, key=lambda row: hash_uniform(str(seed), "training", "first", image_id, row.text)
    )
    key = content_hash("training", image_id, first.text, second.text)
    asked = {
        name: {"text": row.text, "expected": row.expected_choice, "explanation": explain_verdict(row)}
        | ({"unconfirmed": gold} if (gold := get_unconfirmed_key(image_id, row)) else {})
        for name, row in (("first", first), ("second", second))
    }
    return {"key": key, "image": images[image_id], **asked}


def explain_verdict(question: TaskQuestion) -> str:
    """Return a sentence for annotators that says why the verdict of a gold question is correct.

    >>> explain_verdict(TaskQuestion(key="", text="", role="gold", expected_choice="invalid", gold_explanation="no dog"))
    'It has no answer here: no dog.'
    """
    reason = question.gold_explanation
    if question.expected_choice == "invalid":
        return f"It has no answer here: {reason or 'it assumes something that is not true'}."
    return f"It has an answer: {reason}." if reason else "It has an answer, and only one is right."
