"""MaSSeS: majority, subjectivity and semantic similarity of people's answers (Jolly et al., 2018).

`answers` are, for each of n questions, the answers of people, one by one. Answers are compared after trimming spaces,
letter case aside. All values are in [0, 1], [n].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from .validation import strings


def majority(predictions: Iterable[str], answers: Iterable[Iterable[str]]) -> np.ndarray:
    """MA (eq. 1): how often people gave the predicted answer, over how often they gave the commonest.

    >>> majority(["cubed"], [["diced"] * 4 + ["cubed"] * 2 + ["squares"] * 2 + ["with knife", "in pieces"]]).tolist()
    [0.5]
    """
    predictions, answers = strings(predictions, answers)
    return np.array(
        [
            _majority(_same(said), Counter(map(_same, people)))
            for said, people in zip(predictions, answers, strict=True)
        ]
    )


def subjectivity(answers: Iterable[Iterable[str]]) -> np.ndarray:
    """S (eq. 2): the Wasserstein distance of the answers' frequencies, padded with zeros to as many as there are
    people, to as many times the highest frequency; normalised, this is (highest - 1) / (people - 1). 1 where all
    agree, 0 where nobody does; NaN with one person.

    >>> subjectivity([["yes"] * 6 + ["no"] * 4, ["yes"]]).round(4).tolist()
    [0.5556, nan]
    """
    _, answers = strings_of(answers)
    return np.array([_reliability(Counter(map(_same, people))) for people in answers])


def semantic_subjectivity(
    answers: Iterable[Iterable[str]], vectors: Mapping[str, np.ndarray], *, threshold: float = 0.9
) -> np.ndarray:
    """SeS: S once answers of like meaning are counted as one. An answer's vector is the mean of its words' vectors;
    the centroid is the mean over *different* answers; those whose cosine with it is at least `threshold` merge
    (negative cosines count as 0). An answer of which no word has a vector never merges.

    Args:
        vectors: word -> vector; see `vectors.read_vectors` and `vectors.spacy_vectors`.
    """
    _, answers = strings_of(answers)
    return np.array(
        [_reliability(_merged(Counter(map(_same, people)), vectors, threshold)[0]) for people in answers]
    )


def masses(
    predictions: Iterable[str],
    answers: Iterable[Iterable[str]],
    vectors: Mapping[str, np.ndarray] | None = None,
    *,
    threshold: float = 0.9,
) -> np.ndarray:
    """MaSSeS_t: MA on the merged frequencies x SeS_t. Without `vectors` nothing merges: MA x S."""
    predictions, answers = strings(predictions, answers)
    found = []
    for said, people in zip(predictions, answers, strict=True):
        counts, group = Counter(map(_same, people)), frozenset()
        if vectors is not None:
            counts, group = _merged(counts, vectors, threshold)
        said = _same(said)
        found.append(_majority(_GROUP if said in group else said, counts) * _reliability(counts))
    return np.array(found)


_GROUP = "\0group"  # the merged answers' common name; no answer of a person is written so


def strings_of(answers: Iterable[Iterable[str]]) -> tuple[list[str], list[list[str]]]:
    """People's answers, checked, without predictions."""
    answers = list(answers)
    return strings([""] * len(answers), answers)


def _same(text: str) -> str:
    return " ".join(text.lower().split())


def _majority(said: str, counts: Counter[str]) -> float:
    return counts[said] / max(counts.values())


def _reliability(counts: Counter[str]) -> float:
    people = counts.total()
    return (max(counts.values()) - 1) / (people - 1) if people > 1 else float("nan")


def _merged(
    counts: Counter[str], vectors: Mapping[str, np.ndarray], threshold: float
) -> tuple[Counter[str], frozenset[str]]:
    """The frequencies after merging, and which answers merged."""
    means = {}
    for answer in counts:
        words = [vectors[word] for word in answer.split() if word in vectors]
        if words:
            mean = np.mean(words, axis=0)
            if np.linalg.norm(mean) > 0:
                means[answer] = mean
    if not means:
        return counts, frozenset()
    centroid = np.mean(list(means.values()), axis=0)
    length = np.linalg.norm(centroid)
    cosine = {
        a: max(0.0, float(v @ centroid / (np.linalg.norm(v) * length))) if length else 0.0
        for a, v in means.items()
    }
    group = frozenset(answer for answer, value in cosine.items() if value >= threshold - 1e-9)
    merged = Counter({answer: count for answer, count in counts.items() if answer not in group})
    if group:
        merged[_GROUP] = sum(counts[answer] for answer in group)
    return merged, group
