"""MaSSeS: majority, subjectivity and semantic similarity of people's answers (Jolly et al., 2018).

`answers` are, for each of n questions, the answers of people, one by one. Answers are compared after trimming spaces,
letter case aside. All values are in [0, 1], [n].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .items import Answered, Options
from .normalize import fold
from .sweep import mean_defined
from .validation import strings

THRESHOLDS = (0.7, 0.9)


def majority(predictions: Iterable[str], answers: Iterable[Iterable[str]]) -> np.ndarray:
    """MA (eq. 1): how often people gave the predicted answer, over how often they gave the commonest.

    >>> majority(["cubed"], [["diced"] * 4 + ["cubed"] * 2 + ["squares"] * 2 + ["with knife", "in pieces"]]).tolist()
    [0.5]
    """
    pairs = zip(*strings(predictions, answers), strict=True)
    return np.array([_majority(fold(said), _counted(people)) for said, people in pairs])


def subjectivity(answers: Iterable[Iterable[str]]) -> np.ndarray:
    """S (eq. 2): the Wasserstein distance of the answers' frequencies, padded with zeros to as many as there are
    people, to as many times the highest frequency; normalised, this is (highest - 1) / (people - 1). 1 where all
    agree, 0 where nobody does; NaN with one person.

    >>> subjectivity([["yes"] * 6 + ["no"] * 4, ["yes"]]).round(4).tolist()
    [0.5556, nan]
    """
    return np.array([_reliability(_counted(people)) for people in _checked(answers)])


def semantic_subjectivity(
    answers: Iterable[Iterable[str]], vectors: Mapping[str, np.ndarray], *, threshold: float = 0.9
) -> np.ndarray:
    """SeS: S once answers of like meaning are counted as one. An answer's vector is the mean of its words' vectors;
    the centroid is the mean over *different* answers; those whose cosine with it is at least `threshold` merge
    (negative cosines count as 0). An answer of which no word has a vector never merges.

    Args:
        vectors: word -> vector; see `word_vectors`.
    """
    return np.array(
        [_reliability(_merged(_counted(people), vectors, threshold)[0]) for people in _checked(answers)]
    )


def masses(
    predictions: Iterable[str],
    answers: Iterable[Iterable[str]],
    vectors: Mapping[str, np.ndarray] | None = None,
    *,
    threshold: float = 0.9,
) -> np.ndarray:
    """MaSSeS_t: MA on the merged frequencies x SeS_t. Without `vectors` nothing merges: MA x S."""
    scores = []
    for said, people in zip(*strings(predictions, answers), strict=True):
        counts, group = _merged(_counted(people), vectors or {}, threshold)
        said = fold(said)
        scores.append(_majority(_GROUP if said in group else said, counts) * _reliability(counts))
    return np.array(scores)


_GROUP = "\0group"  # the merged answers' common name; no answer of a person is written so


def _checked(answers: Iterable[Iterable[str]]) -> list[list[str]]:
    """People's answers, checked, without predictions."""
    answers = list(answers)
    return strings([""] * len(answers), answers)[1]


def _counted(people: Iterable[str]) -> Counter[str]:
    return Counter(map(fold, people))


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
        answer: max(0.0, float(mean @ centroid / (np.linalg.norm(mean) * length))) if length else 0.0
        for answer, mean in means.items()
    }
    group = frozenset(answer for answer, value in cosine.items() if value >= threshold - 1e-9)
    merged = Counter({answer: count for answer, count in counts.items() if answer not in group})
    if group:
        merged[_GROUP] = sum(counts[answer] for answer in group)
    return merged, group


def masses_group(answered: Answered, options: Options) -> dict[str, Any]:
    if not answered.items[0].people:
        return {"absent": "needs several people's answers to each question (VQA's annotations)"}
    said, people, vectors = answered.said, [item.right for item in answered.items], options.extras.vectors
    scores: dict[str, Any] = {
        "ma": mean_defined(majority(said, people)),
        "s": mean_defined(subjectivity(people)),
        "ma_x_s": mean_defined(masses(said, people)),
    }
    if vectors is None:
        return scores | {"ses": {"absent": "needs word vectors (--vectors)"}}
    for t in THRESHOLDS:
        scores[f"ses_{t}"] = mean_defined(semantic_subjectivity(people, vectors, threshold=t))
        scores[f"masses_{t}"] = mean_defined(masses(said, people, vectors, threshold=t))
    return scores
