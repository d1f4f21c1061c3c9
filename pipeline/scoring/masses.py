"""MaSSeS: majority, subjectivity and semantic similarity of human answers (Jolly et al., 2018).

The argument `answers` is, for each of n questions, the list of human answers. Answers are compared without
surrounding spaces and without letter case. All scores are [n], in [0, 1].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from ..core.errors import UserError, format_count
from .input_validation import TextLists, Texts, check_strings, parse_number
from .joined_predictions import JoinedPredictions, Scores, ScoringOptions
from .normalize import fold_case
from .threshold_sweep import nan_mean

SIMILARITY_THRESHOLDS = (0.7, 0.9)
# Text that replaces all merged answers. No human answer contains its first character.
_MERGED_ANSWER = "\0group"


def majority(predictions: Texts, answers: TextLists) -> np.ndarray:
    """Return MA (eq. 1): the frequency of the predicted answer divided by the frequency of the most frequent
    answer.

    >>> majority(["cubed"], [["diced"] * 4 + ["cubed"] * 2 + ["squares"] * 2 + ["with knife", "in pieces"]]).tolist()
    [0.5]
    """
    return _factors(predictions, answers)[0]


def subjectivity(answers: TextLists) -> np.ndarray:
    """Return S (eq. 2): the agreement of the human answers, 1 if all agree, 0 if all differ, NaN with one
    answer.

    Despite the paper's name for S, a value of 1 means that the question is not subjective. S is the normalized Wasserstein distance between two vectors: the frequencies of the answers, padded with
    zeros, and a constant vector of the highest frequency. It equals (highest frequency - 1) / (number of
    answers - 1).

    >>> subjectivity([["yes"] * 6 + ["no"] * 4, ["yes"]]).round(4).tolist()
    [0.5556, nan]
    """
    return _factors(None, answers)[1]


def semantic_subjectivity(
    answers: TextLists, vectors: Mapping[str, np.ndarray], *, threshold: float = 0.9
) -> np.ndarray:
    """Return SeS: S after merging answers of similar meaning.

    The vector of an answer is the mean of the vectors of its words. The centroid is the mean of the vectors
    of the *different* answers. All answers whose cosine similarity with the centroid is at least `threshold`
    are merged into one (negative similarities count as 0). An answer without any known word is never merged.

    Args:
        answers: Human answers to each question.
        vectors: Word -> vector; see `load_word_vectors`.
        threshold: Minimum cosine similarity with the centroid, in [0, 1], for merging.

    >>> vectors = {"red": np.array([1.0, 0.0]), "crimson": np.array([0.9, 0.1])}
    >>> semantic_subjectivity([["red", "crimson", "blue"]], vectors).tolist()  # two of three merge: (2 - 1) / (3 - 1)
    [0.5]
    """
    return _factors(None, answers, vectors, threshold)[1]


def masses(
    predictions: Texts,
    answers: TextLists,
    vectors: Mapping[str, np.ndarray] | None = None,
    *,
    threshold: float = 0.9,
) -> np.ndarray:
    """Return MaSSeS: MA times SeS, both on the frequencies after merging.

    Without `vectors`, nothing is merged (MA times S).

    >>> masses(["red"], [["red", "red", "blue"]]).tolist()  # 2/2 x (2 - 1) / (3 - 1)
    [0.5]
    """
    return np.multiply(*_factors(predictions, answers, vectors, threshold))


def _factors(
    predictions: Texts | None,
    answers: TextLists,
    vectors: Mapping[str, np.ndarray] | None = None,
    threshold: float = 0.9,
) -> tuple[np.ndarray, np.ndarray]:
    """Return MA and S of each question, on merged frequencies if `vectors` are given; [n] each."""
    answers = list(answers)
    predictions = [""] * len(answers) if predictions is None else predictions
    ma, s = [], []
    for said, people in zip(*check_strings(predictions, answers), strict=True):
        texts = [fold_case(text) for text in people]
        merged = dict.fromkeys(_similar_answers(texts, vectors or {}, threshold), _MERGED_ANSWER)
        counts = Counter(merged.get(text, text) for text in texts)
        highest, said = max(counts.values()), fold_case(said)
        ma.append(counts[merged.get(said, said)] / highest)
        s.append((highest - 1) / (len(texts) - 1) if len(texts) > 1 else np.nan)
    return np.array(ma), np.array(s)


def _similar_answers(texts: Texts, vectors: Mapping[str, np.ndarray], threshold: float) -> list[str]:
    """Return the answers that are merged, because their meaning is similar."""
    means = {}
    for answer in dict.fromkeys(texts):
        words = [vectors[word] for word in answer.split() if word in vectors]
        if words and np.any(np.mean(words, axis=0)):
            means[answer] = np.mean(words, axis=0)
    if not means:
        return []
    rows = np.array(list(means.values()))
    centroid = rows.mean(axis=0)
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(centroid)
    cosines = np.maximum(rows @ centroid, 0) / np.where(lengths > 0, lengths, 1)
    return [answer for answer, cosine in zip(means, cosines, strict=True) if cosine >= threshold - 1e-9]


def score_masses(answered: JoinedPredictions, options: ScoringOptions) -> Scores:
    """Return the means of MA, S and MA x S.

    With word vectors, also return SeS and MaSSeS for `SIMILARITY_THRESHOLDS`.
    """
    if not answered.has_human_answers:
        return {"unavailable": "needs several human answers to each question (VQA's annotations)"}
    said, people, vectors = answered.answer, answered.reference_answers, options.word_vectors
    ma, s = _factors(said, people)
    scores: Scores = {"ma": nan_mean(ma), "s": nan_mean(s), "ma_x_s": nan_mean(ma * s)}
    if vectors is None:
        return scores | {"ses": {"unavailable": "needs word vectors (--resource word-vectors=FILE)"}}
    for t in SIMILARITY_THRESHOLDS:
        ma, ses = _factors(said, people, vectors, t)
        scores |= {f"ses_{t}": nan_mean(ses), f"masses_{t}": nan_mean(ma * ses)}
    return scores


def load_word_vectors(name: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """Load the vectors of some words from a text file or an installed spaCy model.

    Raises:
        UserError: There is no such file or model, or it has no vectors.
    """
    return read_vector_file(name, words) if Path(name).is_file() else load_spacy_vectors(name, words)


def read_vector_file(path: Path | str, words: Collection[str]) -> dict[str, np.ndarray]:
    """Read the vectors of some words from a text file.

    Each line is a word and the numbers of its vector, separated by spaces. If the first line has only two
    numbers, as in files of word2vec, the line is skipped.

    Raises:
        UserError: A line has a different number of values than the first line or a value that is not finite,
            or the file has no vectors.
    """
    vectors: dict[str, np.ndarray] = {}
    length = 0
    with Path(path).open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            word, _, rest = line.rstrip().partition(" ")
            if not rest or (number == 1 and word.isdigit() and len(rest.split()) == 1):
                continue
            length = length or len(rest.split())
            if word in words:
                try:
                    vectors[word] = np.array([*map(parse_number, rest.split()[-length:])], np.float32)
                except ValueError:
                    raise UserError(
                        f"{path}, line {number}: not a word and {format_count(length, 'number')}"
                    ) from None
                if (count := len(vectors[word])) != length:
                    raise UserError(
                        f"{path}, line {number}: {format_count(count, 'number')}, the first line has {length}"
                    )
                if not np.isfinite(vectors[word]).all():
                    raise UserError(f"{path}, line {number}: a number is NaN or infinite")
    if not length:
        raise UserError(f"{path}: has no vectors; expected a word and its numbers on each line")
    return vectors


def load_spacy_vectors(model: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """Load the static vectors of some words from an installed spaCy model. The small models have no vectors.

    Raises:
        UserError: spaCy or the model is not installed, or the model has no vectors.
    """
    try:
        import spacy

        # Only the vocabulary is needed, none of the model's components.
        parts = ["tagger", "parser", "ner", "lemmatizer", "attribute_ruler"]
        vocabulary = spacy.load(model, exclude=parts).vocab
    except ImportError:
        raise UserError(
            "vectors of a spaCy model need spacy, which is not installed: pip install spacy"
        ) from None
    except OSError:
        raise UserError(f"{model}: no such spaCy model is installed") from None
    if not vocabulary.vectors_length or not len(vocabulary.vectors):
        raise UserError(f"{model}: this spaCy model has no word vectors. Use a medium or large one")
    return {word: np.asarray(vocabulary.get_vector(word)) for word in words if vocabulary.has_vector(word)}
