"""Compare answers with RGQA's labels after normalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from .joined_predictions import MatchMode
from .normalize import normalize_answer, to_plain_text

# From the strictest to the loosest. Answers that match in one mode also match in all later modes.
NORMALIZERS: dict[MatchMode, Callable[[str], str]] = {
    "exact": str,
    "vqa": lambda text: normalize_answer(to_plain_text(text)),
    "squad": lambda text: normalize_answer(normalize_answer(to_plain_text(text)), normalization="squad"),
}


def match_answers(
    predictions: Sequence[str],
    answers: Sequence[Mapping[str, float]],
    match: MatchMode,
    synonyms: Mapping[str, str] | None = None,
) -> np.ndarray:
    """Return the score of each answer: the score of the label that the answer matches, 0 if it matches no
    label.

    Args:
        predictions: [n] answers.
        answers: [n] mappings of label -> score in [0, 1]; empty for an unanswerable question.
        match: "exact" compares the texts as they are. "vqa" compares them after conversion to plain
            characters (`normalize.to_plain_text`) and VQA's normalization (letter case, punctuation,
            articles, number words, contractions). "squad" applies SQuAD's normalization after these steps.
        synonyms: Answer -> another answer that counts as the same. Both are normalized before the lookup.
            None: no synonyms.

    Returns:
        [n] scores in [0, 1]. If several labels match, the score of the first one is used.

    >>> labels = [{"kitchen": 1.0}] * 3
    >>> match_answers(["Kitchen.", "the kitchen", "kitchens"], labels, "vqa").tolist()
    [1.0, 1.0, 0.0]
    >>> match_answers(["sofa"], [{"couch": 1.0}], "vqa", {"sofa": "couch"}).tolist()
    [1.0]
    """
    form = NORMALIZERS[match]
    same = {form(one): form(other) for one, other in (synonyms or {}).items()}
    numbers: dict[str, int] = {}

    def number(text: str) -> int:
        text = form(text)
        return numbers.setdefault(same.get(text, text), len(numbers))

    number_of = {text: number(text) for text in {*predictions}.union(*answers)}
    labels = np.fromiter(map(number_of.__getitem__, chain.from_iterable(answers)), int)
    scores = np.fromiter(chain.from_iterable(row.values() for row in answers), float)
    rows = np.repeat(np.arange(len(predictions)), np.fromiter(map(len, answers), int, len(predictions)))
    predicted = np.fromiter(map(number_of.__getitem__, predictions), int, len(predictions))
    # Reverse order: if several labels match, the score of the first label is written last, so it is the
    # result.
    matching = np.flatnonzero(labels == predicted[rows])[::-1]
    matched_scores = np.zeros(len(predictions))
    matched_scores[rows[matching]] = scores[matching]
    return matched_scores
