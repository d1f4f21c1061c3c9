"""MaSSeS: majority, subjectivity and semantic similarity of people's answers (Jolly et al., 2018).

`answers` are, for each of n questions, the answers of people, one by one. Answers are compared after trimming spaces,
letter case aside. All values are in [0, 1], [n].
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
_MERGED_ANSWER = "\0group"  # the common name of answers that merge; no answer of a person is written so


def majority(predictions: Texts, answers: TextLists) -> np.ndarray:
    """MA (eq. 1): how often people gave the predicted answer, over how often they gave the commonest.

    >>> majority(["cubed"], [["diced"] * 4 + ["cubed"] * 2 + ["squares"] * 2 + ["with knife", "in pieces"]]).tolist()
    [0.5]
    """
    return _factors(predictions, answers)[0]


def subjectivity(answers: TextLists) -> np.ndarray:
    """S (eq. 2): the Wasserstein distance of the answers' frequencies, padded with zeros to as many as there are
    people, to as many times the highest frequency; normalised, this is (highest - 1) / (people - 1). 1 where all
    agree, 0 where nobody does; NaN with one person.

    >>> subjectivity([["yes"] * 6 + ["no"] * 4, ["yes"]]).round(4).tolist()
    [0.5556, nan]
    """
    return _factors(None, answers)[1]


def semantic_subjectivity(
    answers: TextLists, vectors: Mapping[str, np.ndarray], *, threshold: float = 0.9
) -> np.ndarray:
    """SeS: S once answers of like meaning are counted as one. An answer's vector is the mean of its words' vectors;
    the centroid is the mean over *different* answers; those whose cosine with it is at least `threshold` merge
    (negative cosines count as 0). An answer of which no word has a vector never merges.

    Args:
        vectors: word -> vector; see `vectors_of`.
    """
    return _factors(None, answers, vectors, threshold)[1]


def masses(
    predictions: Texts,
    answers: TextLists,
    vectors: Mapping[str, np.ndarray] | None = None,
    *,
    threshold: float = 0.9,
) -> np.ndarray:
    """MaSSeS_t: MA on the merged frequencies x SeS_t. Without `vectors` nothing merges: MA x S."""
    return np.multiply(*_factors(predictions, answers, vectors, threshold))


def _factors(
    predictions: Texts | None,
    answers: TextLists,
    vectors: Mapping[str, np.ndarray] | None = None,
    threshold: float = 0.9,
) -> tuple[np.ndarray, np.ndarray]:
    """MA and S of each question, on merged frequencies if there are `vectors`; [n] each."""
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
    """The answers of like meaning."""
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
    """The means of MA, S and MA x S; with word vectors also of SeS and MaSSeS at each of `THRESHOLDS`."""
    if not answered.has_human_answers:
        return {"unavailable": "needs several people's answers to each question (VQA's annotations)"}
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
    """The vectors of these words, from a text file or from an installed spaCy model.

    Raises:
        UserError: there is neither, or it has no vectors.
    """
    return read_vector_file(name, words) if Path(name).is_file() else load_spacy_vectors(name, words)


def read_vector_file(path: Path | str, words: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors of these words. Each line is a word and its numbers, separated by spaces; word2vec's first line (how
    many, how long) is skipped.

    Raises:
        UserError: a line with another number of numbers than the first, or with one that is not finite, or no vectors at all.
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
                    raise UserError(f"{path}, line {number}: a number that is none (NaN) or infinite")
    if not length:
        raise UserError(f"{path}: holds no vectors; wanted a word and its numbers on each line")
    return vectors


def load_spacy_vectors(model: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """The static vectors that an installed spaCy model has of these words (the small models have none).

    Raises:
        UserError: spaCy or the model is not installed, or it has no vectors.
    """
    try:
        import spacy

        # Words alone are looked up: no part of the model is needed.
        parts = ["tagger", "parser", "ner", "lemmatizer", "attribute_ruler"]
        vocabulary = spacy.load(model, exclude=parts).vocab
    except ImportError:
        raise UserError(
            "vectors of a spaCy model need spacy, which is not installed: pip install spacy"
        ) from None
    except OSError:
        raise UserError(f"{model}: no such spaCy model is installed") from None
    if not vocabulary.vectors_length or not len(vocabulary.vectors):
        raise UserError(f"{model}: this spaCy model has no word vectors; take a medium or large one")
    return {word: np.asarray(vocabulary.get_vector(word)) for word in words if vocabulary.has_vector(word)}
