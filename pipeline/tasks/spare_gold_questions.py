"""Find gold questions that no task contains, for the training and the qualification test.

After a training task, annotators see which choices are correct. A question of the training or the test must not
come again as the gold question of a task, because it would not show any more whether somebody looks. So these
questions come from what the tasks leave over.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import zip_longest

from pipeline.core.json_files import content_hash
from pipeline.core.randomness import hash_uniform
from pipeline.core.records import SpareGoldQuestion, Task, TaskQuestion
from pipeline.tasks.gold_questions import GoldQuestion, KnownVerdict
from pipeline.tasks.second_questions import Offer

# Maximum number of images, and of questions of one kind (valid or invalid) per image. More are never needed.
MAX_IMAGES, MAX_QUESTIONS_PER_KIND = 400, 3
KINDS: tuple[KnownVerdict, ...] = ("invalid", "valid")
# If fewer images have two spare gold questions, gold questions are held back from the tasks. A training of 6 tasks
# and two tests of 10 tasks need 26 images.
MIN_IMAGES = 26
# Number of gold questions of each kind that an image keeps for its tasks.
MIN_KEPT = 2


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


def count_usable_images(spare: Iterable[SpareGoldQuestion]) -> int:
    """Return the number of images with two spare gold questions, which a training or test task needs."""
    return sum(count > 1 for count in Counter(row.image_id for row in spare).values())


def hold_back_gold_questions(offer: Offer, image_id: str, seed: int) -> Offer:
    """Return an offer without two questions, one of each kind if possible, which stay spare.

    Of each kind, at least `MIN_KEPT` questions are kept. If two cannot be spared, the offer is returned as it is.

    Args:
        offer: The gold questions of an image.
        image_id: The id of the image.
        seed: Seed of the random choice.
    """
    spared = []
    for kind in KINDS:
        texts = {
            row.text for row in offer.gold_questions if row.expected_choice == kind and not row.is_template
        }
        ordered = sorted(texts, key=lambda text: hash_uniform(str(seed), "hold back", image_id, text))
        spared.append(ordered[MIN_KEPT:])
    # The first questions of both kinds in turn.
    in_turn = [text for pair in zip_longest(*spared) for text in pair if text is not None]
    held = set(in_turn[:2])
    if len(held) < 2:
        return offer
    return Offer(gold_questions=tuple(row for row in offer.gold_questions if row.text not in held))


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
