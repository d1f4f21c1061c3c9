"""Compare answers with reference answers: exact match, token F1 (SQuAD), ANLS (TextVQA, DocVQA), VQA
accuracy.

Every function takes n predictions and a list of reference answers for each prediction (in VQA one entry for
every human answer). It returns the score of each prediction, [n] in [0, 1]; higher is better.
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
    """Return 1 where the prediction equals any reference answer, exactly or after normalization, else 0.

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
    """Return the highest F1 of common words with any reference answer, after SQuAD's normalization.

    Two empty answers have F1 1. An empty and a non-empty answer have F1 0.

    >>> token_f1(["the big red bus"], [["red bus"]]).round(9).tolist()  # precision 2/3, recall 1
    [0.8]
    """
    return _best_over_references(predictions, answers, _token_f1_of_pair)


def anls(predictions: Texts, answers: TextLists, *, threshold: float = 0.5) -> np.ndarray:
    """Return the highest normalized Levenshtein similarity with any reference answer (ANLS is its average
    over items).

    The similarity of two texts is 1 - edit distance / length of the longer text, in lower case with single
    spaces. Similarities below `threshold` count as 0 (usual threshold: 0.5; 0 for none). Two empty answers
    have similarity 1.

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
        normalization: "official" follows VQA's tools since March 2021 (GT-Vision-Lab/VQA a013f00): if the
            human answers disagree, the prediction and the human answers are normalized; if the human answers
            agree, nothing is normalized. "official-2017" follows the earlier tools (a4f1afd): the prediction
            is always normalized; only the punctuation of the human answers is normalized, and only if the
            human answers disagree. "corrected" always normalizes both. Every match under "official" is also a
            match under "corrected". With a single human answer "corrected" returns NaN ("official": 0),
            because no human answer is left after omitting one.

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
    """Return VQA3+ as MaSSeS's authors define it: 0.3, 0.6, 0.9, 1 for 1, 2, 3, 4 and more matching human
    answers.

    With ten human answers VQA3+ equals `vqa_accuracy`; with another number of human answers it does not.

    >>> vqa3_plus(["red"], [["red", "red", "blue"]]).tolist()
    [0.6]
    """
    return np.minimum(3 * _count_matches(predictions, answers, normalization)[0], 10) / 10


def most_frequent_answer(answers: Sequence[str]) -> str:
    """Return the most frequent answer; of several equally frequent ones, the first in alphabetical order.

    Whitehead et al. (ECCV 2022, appendix G) use the most frequent answer as the correct one for the
    calibration error.

    >>> most_frequent_answer(["red", "blue", "blue"])
    'blue'
    """
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer))


def edit_distance(one: str, other: str) -> int:
    """Return the Levenshtein distance: the minimum number of characters to insert, delete or replace.

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
    """Return the number of human answers that match each prediction, and the number of human answers; [n]
    each.
    """
    predictions, answers = check_strings(predictions, answers)
    if normalization not in get_args(VqaNormalization):
        raise ValueError(
            f"normalization is {normalization!r}, expected one of {', '.join(get_args(VqaNormalization))}"
        )
    people = np.array([len(row) for row in answers], int)
    if not len(people):
        return people, people
    # Each distinct text is normalized once, and equal normalized texts get the same index.
    places: dict[str, int] = {}
    ids = np.array([places.setdefault(text, len(places)) for text in chain(predictions, *answers)], int)
    numbers: dict[str, int] = {}

    def number(normalize: Callable[[str], str]) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each human answer, the index of its prediction's text and the index of its own text."""
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


# Answer scores of a report; the value is NaN where a score is undefined. Every report includes all of these
# scores, with intervals.
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
    """Compute every answer score of every item, [n]. A missing prediction is scored as the answer ""."""
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
