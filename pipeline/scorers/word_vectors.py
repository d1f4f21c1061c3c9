"""Word vectors for MaSSeS: a text file of word2vec or GloVe, or a spaCy model's."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from .validation import InputError


def vectors_of(name: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """The vectors of these words, from a text file or from an installed spaCy model.

    Raises:
        InputError: there is neither, or it has no vectors.
    """
    return read_vectors(name, words) if Path(name).is_file() else spacy_vectors(name, words)


def read_vectors(path: Path | str, words: Collection[str] | None = None) -> dict[str, np.ndarray]:
    """Vectors by word, of `words` only if given (lower-cased in the file as it stands). Each line is a word and its
    numbers, separated by spaces; word2vec's first line (how many, how long) is skipped.

    Raises:
        InputError: no such file, a line with another number of numbers than the first, or no vectors at all.
    """
    vectors: dict[str, np.ndarray] = {}
    length = 0
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, _, rest = line.rstrip().partition(" ")
                if not rest or (number == 1 and word.isdigit() and len(rest.split()) == 1):
                    continue
                length = length or len(rest.split())
                if words is not None and word not in words:
                    continue
                try:
                    vectors[word] = np.array(rest.split()[-length:], dtype=np.float32)
                except ValueError:
                    raise InputError(f"{path}, line {number}: not a word and {length} numbers") from None
                if (count := len(vectors[word])) != length:
                    raise InputError(f"{path}, line {number}: {count} numbers, the first line has {length}")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; wanted word vectors as text (word2vec or GloVe)") from None
    if not length:
        raise InputError(f"{path}: holds no vectors; wanted a word and its numbers on each line")
    return vectors


def spacy_vectors(model: str, words: Collection[str]) -> dict[str, np.ndarray]:
    """The static vectors that an installed spaCy model has of these words (the small models have none).

    Raises:
        InputError: spaCy or the model is not installed, or it has no vectors.
    """
    try:
        import spacy

        # Words alone are looked up: no part of the model is needed.
        vocabulary = spacy.load(
            model, exclude=["tagger", "parser", "ner", "lemmatizer", "attribute_ruler"]
        ).vocab
    except ImportError:
        raise InputError(
            "vectors of a spaCy model need spacy, which is not installed: pip install spacy"
        ) from None
    except OSError:
        raise InputError(f"{model}: no such spaCy model is installed") from None
    if not vocabulary.vectors_length or not len(vocabulary.vectors):
        raise InputError(f"{model}: this spaCy model has no word vectors; take a medium or large one")
    return {word: np.asarray(vocabulary.get_vector(word)) for word in words if vocabulary.has_vector(word)}
