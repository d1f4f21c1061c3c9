"""Find gold questions that no task contains, for the training and the qualification test.

After a training task, annotators see which choices are correct. A question of the training or the test must not
come again as the gold question of a task, because it would not show any more whether somebody looks. So these
questions come from what the tasks leave over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pipeline.core.json_files import content_hash
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import SpareGoldQuestion, Task, TaskQuestion
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.second_questions import Offer

# Maximum number of images, and of questions of one kind (valid or invalid) per image. More are never needed.
MAX_IMAGES, MAX_QUESTIONS_PER_KIND = 400, 3
KINDS: tuple[KnownVerdict, ...] = ("invalid", "valid")


def find_spare_gold_questions(
    tasks: Iterable[Task], offers: Mapping[str, Offer], seed: int
) -> list[SpareGoldQuestion]:
    """Return gold questions that no task about their image contains, sorted by image and text.

    Questions from templates are left out, because annotators would expect more of them in the tasks.

    Args:
        tasks: All tasks.
        offers: Image id -> the gold questions that can be used for the image.
        seed: Seed of the random choice of images and questions.
    """
    images = sorted(offers, key=lambda image_id: hash_uniform(str(seed), "spare", image_id))[:MAX_IMAGES]
    shown: defaultdict[str, set[str]] = defaultdict(set)
    chosen = set(images)
    for task in tasks:
        if task.image_id in chosen:
            shown[task.image_id] |= {task.first.text, task.second.text}
    found = []
    for image_id in sorted(images):
        rows = {row.text: row for row in offers[image_id].gold_questions if not row.is_template}
        free = sorted(rows.keys() - shown[image_id], key=lambda text: hash_uniform(str(seed), image_id, text))
        for kind in KINDS:
            own = [rows[text] for text in free if rows[text].expected_choice == kind]
            found += [_to_spare(image_id, row) for row in own[:MAX_QUESTIONS_PER_KIND]]
    return sorted(found, key=lambda row: (row.image_id, row.question.text))


def _to_spare(image_id: str, row: GoldQuestion) -> SpareGoldQuestion:
    question = TaskQuestion(
        key=content_hash("spare", image_id, row.text),
        text=row.text,
        role="gold",
        candidate_id=row.candidate_id,
        question_id=row.question_id,
        expected_choice=row.expected_choice,
        gold_source=row.source,
        gold_explanation=row.explanation,
        program=row.program,
    )
    return SpareGoldQuestion(image_id=image_id, question=question)
