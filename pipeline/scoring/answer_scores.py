"""Answers compared with people's, item by item: exact match, token F1 (SQuAD), ANLS (TextVQA, DocVQA), VQA accuracy.

Every score takes n predictions and, for each of them, its right answers (in VQA the answers of people, one by one),
and gives [n] values in [0, 1], higher is better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Literal, get_args

import numpy as np

from .input_validation import TextLists, Texts, check_strings
from .joined_predictions import JoinedPredictions, ReportedScore, Scores, ScoringOptions
from .normalize import Normalization, fold_case, normalize_answer, process_punctuation, to_single_line
from .threshold_sweep import nan_mean

VqaNormalization = Literal["official", "official-2017", "corrected"]


def exact_match(
    predictions: Texts, answers: TextLists, *, normalization: Normalization | None = None
) -> np.ndarray:
    """1 where the prediction equals a right answer, letter by letter, or, with `form`, once both are normalised.

    >>> exact_match(["A cat."], [["cat"]]).tolist(), exact_match(["A cat."], [["cat"]], form="squad").tolist()
    ([0.0], [1.0])
    """
    alike = str if normalization is None else partial(normalize_answer, normalization=normalization)
    pairs = zip(*check_strings(predictions, answers), strict=True)
    return np.array([float(alike(said) in map(alike, right)) for said, right in pairs])


def token_f1(predictions: Texts, answers: TextLists) -> np.ndarray:
    """Harmonic mean of the shares of words in common, after SQuAD's normalisation, with the best of the right answers.
    Two empty answers agree; an empty one and another do not.

    >>> token_f1(["the big red bus"], [["red bus"]]).round(9).tolist()  # precision 2/3, recall 1
    [0.8]
    """
    return _best_over_references(predictions, answers, _token_f1_of_pair)


def anls(predictions: Texts, answers: TextLists, *, threshold: float = 0.5) -> np.ndarray:
    """1 - edit distance / longer length, of lower-cased answers with single spaces, to the best of the right answers;
    0 where that is below `threshold` (the field's 0.5; 0 for none). Two empty answers agree.

    >>> anls(["main st"], [["main street"]]).round(3).tolist(), anls(["cat"], [["dog"]], threshold=0).tolist()
    ([0.636], [0.0])
    """
    similarity = _best_over_references(predictions, answers, _edit_similarity)
    return np.where(similarity < threshold, 0.0, similarity)


def vqa_accuracy(
    predictions: Texts, answers: TextLists, *, normalization: VqaNormalization = "official"
) -> np.ndarray:
    """min(matches / 3, 1), averaged over all ways to leave one person out (10 choose 9) (Antol et al., ICCV 2015; VQA's
    evaluation tools).

    Args:
        form: how answers are brought to a common form before they are compared. "official": as VQA's tools do since
            March 2021 (GT-Vision-Lab/VQA a013f00): prediction and people's answers where the people disagree, neither
            where they agree. "official-2017": as they did before (a4f1afd): the prediction always, of people's answers
            only the punctuation and only where they disagree. "corrected": both, always; what matches under `official`
            matches here, too; with one person it is NaN (official: 0), as leaving that one out leaves nobody.

    >>> vqa_accuracy(["red", "blue"], [["red"] * 3 + ["blue"] * 2 + ["green"] * 5] * 2).round(9).tolist()
    [0.9, 0.6]
    """
    matches, people = _count_matches(predictions, answers, normalization)
    with_own, without = np.minimum((matches - 1) / 3, 1), np.minimum(matches / 3, 1)
    accuracy = (matches * with_own + (people - matches) * without) / people
    return np.where(people == 1, np.nan, accuracy) if normalization == "corrected" else accuracy


def vqa3_plus(
    predictions: Texts, answers: TextLists, *, normalization: VqaNormalization = "official"
) -> np.ndarray:
    """VQA3+ as MaSSeS's authors state it: 0.3, 0.6, 0.9, 1 for 1, 2, 3, 4 and more people who agree. For ten people
    this is `vqa_accuracy`; for another number it is not.

    >>> vqa3_plus(["red"], [["red", "red", "blue"]]).tolist()
    [0.6]
    """
    return np.minimum(3 * _count_matches(predictions, answers, normalization)[0], 10) / 10


def most_frequent_answer(answers: Sequence[str]) -> str:
    """The commonest answer, the first in alphabetical order of several; the paper's rule for ECE."""
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer))


def edit_distance(one: str, other: str) -> int:
    """Levenshtein: the fewest letters to insert, delete or replace."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, target in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != target))
    return row[-1]


def _best_over_references(
    predictions: Texts, answers: TextLists, similarity: Callable[[str, str], float]
) -> np.ndarray:
    pairs = zip(*check_strings(predictions, answers), strict=True)
    return np.array([max(similarity(said, text) for text in right) for said, right in pairs])


def _token_f1_of_pair(said: str, right: str) -> float:
    ours, theirs = (normalize_answer(text, normalization="squad").split() for text in (said, right))
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def _edit_similarity(said: str, right: str) -> float:
    said, right = fold_case(said), fold_case(right)
    return 1 - edit_distance(said, right) / max(len(said), len(right)) if said != right else 1.0


def _count_matches(
    predictions: Texts, answers: TextLists, normalization: VqaNormalization
) -> tuple[np.ndarray, np.ndarray]:
    """How many people gave the predicted answer, and how many people there are; [n] each."""
    predictions, answers = check_strings(predictions, answers)
    if normalization not in get_args(VqaNormalization):
        raise ValueError(f"form is {normalization!r}, wanted one of {', '.join(get_args(VqaNormalization))}")
    people = np.array([len(row) for row in answers], int)
    if not len(people):
        return people, people
    # Texts by number, each brought to a form once; forms that are equal have one number.
    places: dict[str, int] = {}
    ids = np.array([places.setdefault(text, len(places)) for text in chain(predictions, *answers)], int)
    numbers: dict[str, int] = {}

    def formed(of: Callable[[str], str]) -> tuple[np.ndarray, np.ndarray]:
        """The number of each prediction, repeated for each of its people, and of each person's answer."""
        of_text = np.array([numbers.setdefault(of(text), len(numbers)) for text in places], int)[ids]
        return np.repeat(of_text[: len(people)], people), of_text[len(people) :]

    starts = np.cumsum(people) - people
    raw, (normal, normal_people) = (
        formed(str if normalization == "official-2017" else to_single_line),
        formed(normalize_answer),
    )
    agree = np.maximum.reduceat(raw[1], starts) == np.minimum.reduceat(raw[1], starts)
    if normalization == "corrected":
        corrected, corrected_people = formed(partial(normalize_answer, normalization="corrected"))
        same = (normal == normal_people) | (corrected == corrected_people)
    elif normalization == "official":
        same = np.where(np.repeat(agree, people), raw[0] == raw[1], normal == normal_people)
    else:
        punctuated = formed(process_punctuation)[1]
        same = np.where(np.repeat(agree, people), normal == raw[1], normal == punctuated)
    return np.add.reduceat(same.astype(int), starts), people


# What a report gives, NaN where undefined; one that is added here stands in every report, with an interval.
ANSWER_SCORES = {
    "vqa_accuracy": ReportedScore("VQA accuracy", vqa_accuracy, needs_human_answers=True),
    "vqa_accuracy_2017": ReportedScore(
        "vqa accuracy of 2017", partial(vqa_accuracy, normalization="official-2017"), needs_human_answers=True
    ),
    "vqa_accuracy_corrected": ReportedScore(
        "vqa accuracy corrected", partial(vqa_accuracy, normalization="corrected"), needs_human_answers=True
    ),
    "vqa3_plus": ReportedScore("VQA3+", vqa3_plus, needs_human_answers=True),
    "exact_match": ReportedScore("exact match", exact_match),
    "normalized_match": ReportedScore("normalized match", partial(exact_match, normalization="squad")),
    "token_f1": ReportedScore("token F1", token_f1),
    "anls": ReportedScore("ANLS", anls),
    "anls_no_threshold": ReportedScore("anls no threshold", partial(anls, threshold=0.0)),
}


def compute_item_scores(answered: JoinedPredictions) -> dict[str, np.ndarray]:
    """Every answer score of every item, [n]; an item without prediction has the answer ""."""
    fit = {
        name: score
        for name, score in ANSWER_SCORES.items()
        if answered.has_human_answers or not score.needs_human_answers
    }
    return {name: score.compute(answered.answer, answered.reference_answers) for name, score in fit.items()}


def score_answers(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """The mean of each answer score."""
    return {name: nan_mean(values) for name, values in compute_item_scores(answered).items()}
