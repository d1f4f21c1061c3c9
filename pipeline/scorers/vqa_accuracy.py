"""VQA accuracy: an answer is as right as people agree with it (Antol et al., ICCV 2015; VQA's evaluation tools)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from .normalize import normalize_answer, official_punctuation
from .validation import strings

Form = Literal["official", "corrected"]


def vqa_accuracy(
    predictions: Iterable[str], answers: Iterable[Iterable[str]], *, form: Form = "official"
) -> np.ndarray:
    """min(matches / 3, 1), averaged over all ways to leave one person out (10 choose 9); [n], each in [0, 1].

    Args:
        predictions: n answers. answers: for each, the answers of people (10 in VQA).
        form: "official" normalises as VQA's tools do: the prediction fully, people's answers only their punctuation
            and only where they differ. "corrected" treats both alike, always; with one person it is NaN
            (official: 0), as leaving that one out leaves nobody.

    >>> vqa_accuracy(["red", "blue"], [["red"] * 3 + ["blue"] * 2 + ["green"] * 5] * 2).round(9).tolist()
    [0.9, 0.6]
    """
    matches, people = _matches(predictions, answers, form)
    with_own, without = np.minimum((matches - 1) / 3, 1), np.minimum(matches / 3, 1)
    accuracy = (matches * with_own + (people - matches) * without) / people
    return np.where(people == 1, np.nan, accuracy) if form == "corrected" else accuracy


def vqa3_plus(
    predictions: Iterable[str], answers: Iterable[Iterable[str]], *, form: Form = "official"
) -> np.ndarray:
    """VQA3+ as MaSSeS's authors state it: 0.3, 0.6, 0.9, 1 for 1, 2, 3, 4 and more people who agree; [n]. For ten
    people this is `vqa_accuracy`; for another number it is not.

    >>> vqa3_plus(["red"], [["red", "red", "blue"]]).tolist()
    [0.6]
    """
    matches, _ = _matches(predictions, answers, form)
    return np.minimum(3 * matches, 10) / 10


def most_frequent(answers: Sequence[str]) -> str:
    """The commonest answer, the first in alphabetical order of several; the paper's rule for ECE."""
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer))


def _matches(
    predictions: Iterable[str], answers: Iterable[Iterable[str]], form: Form
) -> tuple[np.ndarray, np.ndarray]:
    """How many people gave the predicted answer, and how many people there are; [n] each."""
    predictions, answers = strings(predictions, answers)
    if form not in ("official", "corrected"):
        raise ValueError(f"form is {form!r}, wanted 'official' or 'corrected'")
    seen: dict[str, str] = {}
    counts = np.empty(len(predictions), int)
    for i, (said, people) in enumerate(zip(predictions, answers, strict=True)):
        said = normalize_answer(said, form=form)
        if form == "official" and people.count(people[0]) == len(people):  # left as they wrote it
            counts[i] = len(people) if people[0] == said else 0
            continue
        for text in people:
            if text not in seen:
                official = form == "official"
                seen[text] = official_punctuation(text) if official else normalize_answer(text, form=form)
        counts[i] = sum(seen[text] == said for text in people)
    return counts, np.array([len(people) for people in answers], int)
