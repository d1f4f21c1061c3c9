"""Choose questions so that types, wordings and answers are even over all images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from pipeline.drafting.look_reader import DraftQuestion

# A wording is the first words of a question.
WORDING_WORDS = 3


def choose_questions(
    by_image: Mapping[str, Sequence[DraftQuestion]], per_image: int
) -> dict[str, list[DraftQuestion]]:
    """Choose at most `per_image` questions of each image, in turn.

    The next question of an image is one of the type that was chosen least often so far. Among them, the wording and the answer
    that were chosen least often come first.

    Args:
        by_image: Image id -> its questions.
        per_image: Maximum number of questions of an image.

    Returns:
        Image id -> the chosen questions, in the order of `by_image`.
    """
    remaining = {image_id: [*rows] for image_id, rows in sorted(by_image.items())}
    chosen: dict[str, list[DraftQuestion]] = {image_id: [] for image_id in remaining}
    used = Counter[object]()
    for _ in range(per_image):
        for image_id, rows in remaining.items():
            if not rows:
                continue
            best = min(rows, key=lambda row: [used[key] for key in _list_keys(row)])
            rows.remove(best)
            used.update(_list_keys(best))
            chosen[image_id].append(best)
    return {image_id: sorted(rows, key=[*by_image[image_id]].index) for image_id, rows in chosen.items()}


def _list_keys(question: DraftQuestion) -> list[object]:
    wording = " ".join(question.text.lower().split()[:WORDING_WORDS])
    return [question.type, (question.type, wording), (question.type, question.answer)]
