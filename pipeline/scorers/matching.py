"""Is an answer the right one? How answers are brought to a common form before they are compared with RGQA's labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .items import Match
from .normalize import normalize_answer

# From the strictest on; every one matches what those before it match.
FORMS: dict[Match, Callable[[str], str]] = {
    "exact": str,
    "vqa": normalize_answer,
    "squad": lambda text: normalize_answer(normalize_answer(text), form="squad"),
}


def verdicts(
    said: Sequence[str],
    answers: Sequence[Mapping[str, float]],
    match: Match,
    synonyms: Mapping[str, str] | None = None,
) -> np.ndarray:
    """What each answer is worth, in [0, 1]: the worth of the label that it matches, 0 if it matches none; [n].

    Args:
        said: n answers. answers: for each the labels and what they are worth; none for an unanswerable question.
        match: "exact", letter by letter; "vqa", both sides normalised as VQA's evaluation does (letter case, punctuation,
            articles, number words, contractions); "squad", SQuAD's normalisation on top.
        synonyms: answer -> one that counts as the same; both sides are looked up once they are normalised.

    >>> labels = [{"kitchen": 1.0}] * 3
    >>> verdicts(["Kitchen.", "the kitchen", "kitchens"], labels, "vqa").tolist()
    [1.0, 1.0, 0.0]
    >>> verdicts(["sofa"], [{"couch": 1.0}], "vqa", {"sofa": "couch"}).tolist()
    [1.0]
    """
    form = FORMS[match]
    same = {form(one): form(other) for one, other in (synonyms or {}).items()}

    def alike(text: str) -> str:
        text = form(text)
        return same.get(text, text)

    return np.array(
        [_worth(alike(text), labels, alike) for text, labels in zip(said, answers, strict=True)], float
    )


def _worth(said: str, labels: Mapping[str, float], alike: Callable[[str], str]) -> float:
    return next((worth for label, worth in labels.items() if alike(label) == said), 0.0)
