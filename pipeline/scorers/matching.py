"""Comparing an answer with right ones: exact match, token F1 (SQuAD), ANLS (TextVQA, DocVQA). The best of several
right answers counts; every function gives [n] values in [0, 1], higher is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial

import numpy as np

from .normalize import Form, fold, normalize_answer
from .validation import strings


def exact_match(
    predictions: Iterable[str], answers: Iterable[Iterable[str]], *, form: Form | None = None
) -> np.ndarray:
    """1 where the prediction equals a right answer, letter by letter, or, with `form`, once both are normalised.

    >>> exact_match(["A cat."], [["cat"]]).tolist(), exact_match(["A cat."], [["cat"]], form="squad").tolist()
    ([0.0], [1.0])
    """
    pairs = zip(*strings(predictions, answers), strict=True)
    alike = str if form is None else partial(normalize_answer, form=form)
    return np.array([float(alike(said) in map(alike, right)) for said, right in pairs])


def token_f1(predictions: Iterable[str], answers: Iterable[Iterable[str]]) -> np.ndarray:
    """Harmonic mean of the shares of words in common, after SQuAD's normalisation. Two empty answers agree; an
    empty one and another do not.

    >>> token_f1(["the big red bus"], [["red bus"]]).round(9).tolist()  # precision 2/3, recall 1
    [0.8]
    """
    pairs = zip(*strings(predictions, answers), strict=True)
    return np.array([max(_f1(said, text) for text in right) for said, right in pairs])


def anls(
    predictions: Iterable[str], answers: Iterable[Iterable[str]], *, threshold: float = 0.5
) -> np.ndarray:
    """1 - edit distance / longer length, of lower-cased answers with single spaces; 0 where that is below
    `threshold` (the field's 0.5; 0 for none). Two empty answers agree.

    >>> anls(["main st"], [["main street"]]).round(3).tolist(), anls(["cat"], [["dog"]], threshold=0).tolist()
    ([0.636], [0.0])
    """
    pairs = zip(*strings(predictions, answers), strict=True)
    similarity = np.array([max(_similarity(said, text) for text in right) for said, right in pairs])
    return np.where(similarity < threshold, 0.0, similarity)


def edit_distance(one: str, other: str) -> int:
    """Levenshtein: the fewest letters to insert, delete or replace."""
    if len(one) < len(other):
        one, other = other, one
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, target in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != target))
    return row[-1]


def _f1(said: str, right: str) -> float:
    ours, theirs = (normalize_answer(text, form="squad").split() for text in (said, right))
    if not ours or not theirs:
        return float(ours == theirs)
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs))


def _similarity(said: str, right: str) -> float:
    said, right = fold(said), fold(right)
    return 1 - edit_distance(said, right) / max(len(said), len(right)) if said != right else 1.0
