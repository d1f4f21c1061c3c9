"""Word vectors for MaSSeS: a text file of word2vec or GloVe, or a spaCy model's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from .validation import Refused


def read_vectors(path: Path | str, words: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Vectors by word, of `words` only if given (lower-cased in the file as it stands). Each line is a word and its
    numbers, separated by spaces; word2vec's first line (how many, how long) is skipped.

    Raises:
        Refused: no such file, a line with another number of numbers than the first, or no vectors at all.
    """
    vectors: dict[str, np.ndarray] = {}
    length = None
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, _, rest = line.rstrip().partition(" ")
                if number == 1 and len(rest.split()) == 1 and word.isdigit():
                    continue
                if not rest:
                    continue
                if length is None:
                    length = len(rest.split())
                if words is not None and word not in words:
                    continue
                try:
                    vector = np.array(rest.split()[-length:], dtype=np.float32)
                except ValueError:
                    raise Refused(f"{path}, line {number}: not a word and {length} numbers") from None
                if len(vector) != length:
                    raise Refused(
                        f"{path}, line {number}: {len(vector)} numbers, the first line has {length}"
                    )
                vectors[word] = vector
    except FileNotFoundError:
        raise Refused(f"{path}: no such file; wanted word vectors as text (word2vec or GloVe)") from None
    if length is None:
        raise Refused(f"{path}: holds no vectors; wanted a word and its numbers on each line")
    return vectors


def spacy_vectors(model: str) -> Mapping[str, np.ndarray]:
    """The static vectors of an installed spaCy model (the small models have none).

    Raises:
        Refused: spaCy or the model is not installed, or it has no vectors.
    """
    try:
        import spacy
    except ImportError:
        raise Refused(
            "vectors of a spaCy model need spacy, which is not installed: pip install spacy"
        ) from None
    try:
        vocabulary = spacy.load(
            model, exclude=["tagger", "parser", "ner", "lemmatizer", "attribute_ruler"]
        ).vocab
    except OSError:
        raise Refused(f"{model}: no such spaCy model is installed") from None
    if not vocabulary.vectors_length or not len(vocabulary.vectors):
        raise Refused(f"{model}: this spaCy model has no word vectors; take a medium or large one")
    return _Vocabulary(vocabulary)


class _Vocabulary(Mapping[str, np.ndarray]):
    """A spaCy vocabulary as word -> vector."""

    def __init__(self, vocabulary) -> None:
        self._vocabulary = vocabulary

    def __getitem__(self, word: str) -> np.ndarray:
        if not self._vocabulary.has_vector(word):
            raise KeyError(word)
        return self._vocabulary.get_vector(word)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self._vocabulary.has_vector(word)

    def __iter__(self):
        return (lexeme.text for lexeme in self._vocabulary if lexeme.has_vector)

    def __len__(self) -> int:
        return len(self._vocabulary.vectors)
