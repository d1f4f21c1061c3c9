"""Compare answers with RGQA's labels after normalization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from .joined_predictions import MatchMode
from .normalize import normalize_answer, to_plain_text

# From the strictest to the loosest; each one matches everything that those before it match.
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
    """Return the score of each answer: that of the label that it matches, 0 if it matches none.

    Args:
        predictions: [n] answers.
        answers: Labels and their scores in [0, 1] for each answer; empty for an unanswerable question.
        match: "exact"; "vqa" for plain characters (`normalize.to_plain_text`) and VQA's normalization (letter case,
            punctuation, articles, number words, contractions); "squad" for SQuAD's normalization after that.
        synonyms: Answer -> another answer that counts as the same. Both are normalized before they are looked up.

    Returns:
        [n] in [0, 1]. If several labels match, the first one counts.

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
    # In reverse order, so that the first of several matching labels is written last and counts.
    matching = np.flatnonzero(labels == predicted[rows])[::-1]
    matched_scores = np.zeros(len(predictions))
    matched_scores[rows[matching]] = scores[matching]
    return matched_scores
