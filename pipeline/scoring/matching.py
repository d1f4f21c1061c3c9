"""Is an answer the right one? How answers are brought to a common form before they are compared with RGQA's labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from .joined_predictions import MatchMode
from .normalize import normalize_answer, to_plain_text

# From the strictest on; every one matches what those before it match.
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
    """What each answer is worth, in [0, 1]: the worth of the label that it matches, 0 if it matches none; [n].

    Args:
        said: n answers. answers: for each the labels and what they are worth; none for an unanswerable question.
        match: "exact", letter by letter; "vqa", both sides in plain characters (`normalize.plain_text`) and normalised as VQA's
            evaluation does (letter case, punctuation, articles, number words, contractions); "squad", SQuAD's normalisation on top.
        synonyms: answer -> one that counts as the same; both sides are looked up once they are normalised.

    >>> labels = [{"kitchen": 1.0}] * 3
    >>> verdicts(["Kitchen.", "the kitchen", "kitchens"], labels, "vqa").tolist()
    [1.0, 1.0, 0.0]
    >>> verdicts(["sofa"], [{"couch": 1.0}], "vqa", {"sofa": "couch"}).tolist()
    [1.0]
    """
    form = NORMALIZERS[match]
    same = {form(one): form(other) for one, other in (synonyms or {}).items()}
    numbers: dict[str, int] = {}  # of the common forms

    def number(text: str) -> int:
        text = form(text)
        return numbers.setdefault(same.get(text, text), len(numbers))

    number_of = {text: number(text) for text in {*predictions}.union(*answers)}
    labels = np.fromiter(map(number_of.__getitem__, chain.from_iterable(answers)), int)
    worths = np.fromiter(chain.from_iterable(row.values() for row in answers), float)
    rows = np.repeat(np.arange(len(predictions)), np.fromiter(map(len, answers), int, len(predictions)))
    said_as = np.fromiter(map(number_of.__getitem__, predictions), int, len(predictions))
    matching = np.flatnonzero(labels == said_as[rows])[::-1]
    worth = np.zeros(len(predictions))
    worth[rows[matching]] = worths[matching]  # of several that match, the first: it is written last
    return worth
