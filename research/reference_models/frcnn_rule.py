"""The rule FRCNN: a question is answerable if an object detector found all objects that the question names
(RGQA, section 5.1).

The rule gives only confidences. Its answers are those of the vanilla net.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from pipeline.language.nouns import lemmatize
from pipeline.language.tagger import TaggedToken
from pipeline.language.word_lists import FRAME_WORDS

# The Penn Treebank tags of the words that spaCy tags as NOUN.
_NOUN_TAGS = ("NN", "NNS")


def extract_nouns(
    text: str, tokens: Sequence[TaggedToken], detector_names: Collection[str]
) -> frozenset[str]:
    """Return the nouns of a question in the singular, without "side", "color" and other `FRAME_WORDS`.

    In contrast, the published code (RGQA, `gqa_fasterrcnn`) compares single words, so that a question with
    "traffic light" is never accepted. Its list of excluded words has only lower-case words.

    Args:
        text: The question.
        tokens: The tokens of the question, from `Tagger.tag`.
        detector_names: The object names of the detector, in the singular. Several words that form such a name
            count as one noun (the longest possible name).
    """
    words = [text[start:end].lower() for start, end, _ in tokens]
    longest = max((len(name.split()) for name in detector_names), default=1)
    nouns: set[str] = set()
    first = 0
    while first < len(words):
        ends = range(min(first + longest, len(words)), first + 1, -1)
        phrases = ((last, lemmatize(" ".join(words[first:last]))) for last in ends)
        last, phrase = next(
            ((last, phrase) for last, phrase in phrases if phrase in detector_names), (first + 1, "")
        )
        word = lemmatize(words[first])
        if phrase or (tokens[first][2] in _NOUN_TAGS and not {word, words[first]} & FRAME_WORDS):
            nouns.add(phrase or word)
        first = last
    return frozenset(nouns)


def frcnn_rule(nouns: Sequence[Collection[str]], detected: Sequence[Collection[str]]) -> np.ndarray:
    """Return 1 for each question if all nouns of the question were detected in its image, else 0; floats [n].

    A question without nouns is accepted.

    Args:
        nouns: Nouns of each question, in the singular (`extract_nouns`).
        detected: For each question, names of the objects that were detected in its image. A class with
            several names, such as "tv,television" in Visual Genome's lists, counts under each name. The
            published code keeps only the first name.

    >>> frcnn_rule([{"cup"}, {"cup", "traffic light"}], [{"cup", "dog"}, {"cups", "traffic lights"}]).tolist()
    [1.0, 1.0]
    >>> frcnn_rule([{"cup", "cat"}, {"television"}], [{"cup", "dog"}, {"tv,television"}]).tolist()
    [0.0, 1.0]
    """
    found = [{lemmatize(name) for names in classes for name in names.split(",")} for classes in detected]
    return np.array([float(set(named) <= names) for named, names in zip(nouns, found, strict=True)])
