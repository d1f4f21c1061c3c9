"""Compare answers with reference answers: exact match, token F1 (SQuAD), ANLS (TextVQA, DocVQA), VQA accuracy.

Every score takes n predictions and the reference answers of each (in VQA the human answers, one by one). It returns [n] values
in [0, 1]; higher is better.
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
    """Return 1 where the prediction equals a reference answer, exactly or after normalization.

    >>> exact_match(["A cat."], [["cat"]]).tolist()
    [0.0]
    >>> exact_match(["A cat."], [["cat"]], normalization="squad").tolist()
    [1.0]
    """
    normalize = str if normalization is None else partial(normalize_answer, normalization=normalization)
    pairs = zip(*check_strings(predictions, answers), strict=True)
    return np.array(
        [float(normalize(prediction) in map(normalize, references)) for prediction, references in pairs]
    )


def token_f1(predictions: Texts, answers: TextLists) -> np.ndarray:
    """Return the F1 of common words after SQuAD's normalization, with the best reference answer.

    Two empty answers match; an empty and another answer do not.

    >>> token_f1(["the big red bus"], [["red bus"]]).round(9).tolist()  # precision 2/3, recall 1
    [0.8]
    """
    return _best_over_references(predictions, answers, _token_f1_of_pair)


def anls(predictions: Texts, answers: TextLists, *, threshold: float = 0.5) -> np.ndarray:
    """Return the average normalized Levenshtein similarity with the best reference answer.

    It is 1 - edit distance / longer length, in lower case with single spaces, and 0 below `threshold` (usually 0.5; 0 for no
    threshold). Two empty answers match.

    >>> anls(["main st"], [["main street"]]).round(3).tolist(), anls(["cat"], [["dog"]], threshold=0).tolist()
    ([0.636], [0.0])
    """
    similarity = _best_over_references(predictions, answers, _edit_similarity)
    return np.where(similarity < threshold, 0.0, similarity)


def vqa_accuracy(
    predictions: Texts, answers: TextLists, *, normalization: VqaNormalization = "official"
) -> np.ndarray:
    """Return VQA accuracy: min(matches / 3, 1), averaged over all subsets of the human answers that omit one.

    Source: Antol et al., ICCV 2015; VQA's evaluation tools.

    Args:
        predictions: [n] answers.
        answers: Human answers for each prediction.
        normalization: "official" is that of VQA's tools since March 2021 (GT-Vision-Lab/VQA a013f00): predictions and human
            answers are normalized if the human answers disagree, neither if they agree. "official-2017" is the one
            before (a4f1afd): predictions are always normalized, human answers only in punctuation and only if they disagree.
            "corrected" always normalizes both. What matches under "official" matches here, too. With one human answer it
            is NaN (official: 0), as omitting it leaves none.

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
    """Return VQA3+ as MaSSeS's authors define it: 0.3, 0.6, 0.9, 1 for 1, 2, 3, 4 and more matching human answers.

    With ten human answers it equals `vqa_accuracy`, with other numbers it does not.

    >>> vqa3_plus(["red"], [["red", "red", "blue"]]).tolist()
    [0.6]
    """
    return np.minimum(3 * _count_matches(predictions, answers, normalization)[0], 10) / 10


def most_frequent_answer(answers: Sequence[str]) -> str:
    """Return the most frequent answer, the first in alphabetical order if there are several; the paper's rule for ECE.

    >>> most_frequent_answer(["red", "blue", "blue"])
    'blue'
    """
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer))


def edit_distance(one: str, other: str) -> int:
    """Return the Levenshtein distance: the fewest characters to insert, delete or replace.

    >>> edit_distance("main st", "main street")
    4
    """
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
    return np.array(
        [max(similarity(prediction, text) for text in references) for prediction, references in pairs]
    )


def _token_f1_of_pair(prediction: str, reference: str) -> float:
    ours, theirs = (normalize_answer(text, normalization="squad").split() for text in (prediction, reference))
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def _edit_similarity(prediction: str, reference: str) -> float:
    one, other = fold_case(prediction), fold_case(reference)
    return 1 - edit_distance(one, other) / max(len(one), len(other)) if one != other else 1.0


def _count_matches(
    predictions: Texts, answers: TextLists, normalization: VqaNormalization
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of human answers that match each prediction, and the number of human answers; [n] each."""
    predictions, answers = check_strings(predictions, answers)
    if normalization not in get_args(VqaNormalization):
        raise ValueError(
            f"normalization is {normalization!r}, expected one of {', '.join(get_args(VqaNormalization))}"
        )
    people = np.array([len(row) for row in answers], int)
    if not len(people):
        return people, people
    # Each distinct text is normalized once, and equal normalized texts get the same number.
    places: dict[str, int] = {}
    ids = np.array([places.setdefault(text, len(places)) for text in chain(predictions, *answers)], int)
    numbers: dict[str, int] = {}

    def number(normalize: Callable[[str], str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each prediction, repeated for each of its human answers, and of each human answer."""
        of_text = np.array([numbers.setdefault(normalize(text), len(numbers)) for text in places], int)[ids]
        return np.repeat(of_text[: len(people)], people), of_text[len(people) :]

    starts = np.cumsum(people) - people
    raw, (normal, normal_people) = (
        number(str if normalization == "official-2017" else to_single_line),
        number(normalize_answer),
    )
    agree = np.maximum.reduceat(raw[1], starts) == np.minimum.reduceat(raw[1], starts)
    if normalization == "corrected":
        corrected, corrected_people = number(partial(normalize_answer, normalization="corrected"))
        same = (normal == normal_people) | (corrected == corrected_people)
    elif normalization == "official":
        same = np.where(np.repeat(agree, people), raw[0] == raw[1], normal == normal_people)
    else:
        punctuated = number(process_punctuation)[1]
        same = np.where(np.repeat(agree, people), normal == raw[1], normal == punctuated)
    return np.add.reduceat(same.astype(int), starts), people


# Answer scores of a report, NaN where undefined. A score that is added here is in every report, with an interval.
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
    """Compute every answer score of every item, [n]. A missing prediction is the answer ""."""
    applicable = {
        name: score
        for name, score in ANSWER_SCORES.items()
        if answered.has_human_answers or not score.needs_human_answers
    }
    return {
        name: score.compute(answered.answer, answered.reference_answers) for name, score in applicable.items()
    }


def score_answers(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Return the mean of each answer score."""
    return {name: nan_mean(values) for name, values in compute_item_scores(answered).items()}
